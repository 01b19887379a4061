"""Publish staged messages: each once, by numbers that the brokers remember, or at least once."""

from __future__ import annotations

import logging
import pickle
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from penstock.connectors.journal import Journal, LastBatch, numbering_of
from penstock.connectors.pulsar.client import PulsarAccess, describe, is_denial, library, path_of
from penstock.connectors.retrying import Again, Retries
from penstock.core.io import Committable, Committer, CommitterContext
from penstock.errors import SinkError

_logger = logging.getLogger("penstock.pulsar")

#: A batch has fewer messages than this: a number is the batch's, and the message's place in it.
_BATCH_STEP = 1 << 32
#: How long nothing may be acknowledged.
_PATIENCE_SECONDS = 120.0
_TURN_SECONDS = 0.02
#: The cursor in which a broker keeps the numbers of a topic's producers.
_NUMBERS_CURSOR = "pulsar.dedup"
_SWITCH_SECONDS = 30.0


@dataclass(frozen=True)
class Route:
    """To which partition a message goes."""

    topics: tuple[str, ...]
    by_content: bool = False
    router: Callable[[bytes, Sequence[str]], str] | None = None

    def choose(self, content: bytes, number: int, partitions: list[str]) -> str:
        """Return the topic of a message: the same one whenever its batch is sent."""
        if self.router is not None:
            return self.router(content, partitions)
        choice = zlib.crc32(content) if self.by_content else number
        return partitions[choice % len(partitions)]


class _Sending:
    """One topic's producer, and what the broker says of its messages."""

    def __init__(self, client: Any, topic: str, name: str | None) -> None:
        self.topic = topic
        self._lock = threading.Lock()
        self._waiting = 0
        self._error: Any = None
        self.producer = client.create_producer(
            topic,
            producer_name=name,
            # What is not acknowledged stays until it is: whoever waits decides for how long.
            send_timeout_millis=0,
            # Of messages that it sends together the library numbers the first one only.
            batching_enabled=name is None,
            max_pending_messages=50_000,
            batching_max_publish_delay_ms=5,
        )
        #: The last number that the broker has.
        self.last = self.producer.last_sequence_id() if name is not None else -1

    def send(self, content: bytes, options: dict[str, Any]) -> None:
        """Hand a message to the library.

        :raises pulsar.ProducerQueueIsFull: if it has as many as it takes.
        """
        self.producer.send_async(content, self._note, **options)
        with self._lock:
            self._waiting += 1

    def _note(self, result: Any, message_id: Any) -> None:
        with self._lock:
            self._waiting -= 1
            if result != library().Result.Ok:
                self._error = result

    @property
    def waiting(self) -> int:
        """Return how many messages have not been acknowledged.

        :raises SinkError: if one has been refused.
        """
        with self._lock:
            if self._error is not None:
                raise SinkError(
                    f"Pulsar does not take a message for topic {self.topic!r}",
                    got=str(self._error),
                    todo="raise maxMessageSize at the brokers, or write smaller records"
                    if "TooBig" in str(self._error)
                    else None,
                )
            return self._waiting


class PulsarCommitter(Committer):
    """Send a batch's messages, and note the batch behind them.

    :param name: of the producers, for messages that are numbered; None: they are not.
    """

    def __init__(
        self,
        context: CommitterContext,
        access: PulsarAccess,
        route: Route,
        name: str | None,
        delay: int,
    ) -> None:
        fresh = not context.restored
        self._access = access
        self._route = route
        self._delay = delay
        self._stopping = context.stopping
        self._published = LastBatch(context.directory, fresh=fresh)
        # Another numbering of batches begins at zero again, and so do other producers.
        numbering = numbering_of(context.directory, fresh=fresh)
        self._name = None if name is None else f"{name}-{numbering}"
        self._partitions = Journal(context.directory, "partitions.json")
        self._retries = Retries(_logger, access.service_url, context.stopping)
        self._client: Any = None
        self._sendings: dict[str, _Sending] = {}

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        if committables:
            # In the same order whenever the batch is published: the numbers count on it.
            pieces = sorted(committables, key=lambda each: each.subtask)
            messages = [message for piece in pieces for message in pickle.loads(piece.payload)]
            self._retries.run(partial(self._attempt, batch_id, messages))
        self._published.advance(batch_id)

    def _attempt(self, batch_id: int, messages: list[tuple[bytes, int | None]]) -> None:
        try:
            if self._client is None:
                self._client = self._access.connect()
            self._send(batch_id, messages)
        except (library().PulsarException, OSError) as error:
            self.close()
            refusal = SinkError(
                f"Pulsar at {self._access.service_url} does not take messages",
                got=describe(error),
                todo="check the account, the topics, and that the brokers are running",
            )
            if is_denial(error) or isinstance(error, library().TopicNotFound):
                raise refusal from None
            raise Again(describe(error), refusal) from None
        except SinkError:
            self.close()
            raise

    def _send(self, batch_id: int, messages: list[tuple[bytes, int | None]]) -> None:
        partitions = self._partitions_for(batch_id)
        for number, (content, timestamp) in enumerate(messages):
            sending = self._sending(self._route.choose(content, number, partitions))
            options: dict[str, Any] = {}
            if self._name is not None:
                options["sequence_id"] = batch_id * _BATCH_STEP + number
                if options["sequence_id"] <= sending.last:
                    continue  # an attempt that was cut off had come further
            if timestamp is not None:
                options["event_timestamp"] = timestamp
            if self._delay:
                options["deliver_after"] = timedelta(milliseconds=self._delay)
            while True:
                try:
                    sending.send(content, options)
                    break
                except library().ProducerQueueIsFull:
                    self._wait_until(partial(_has_room, sending))
        self._wait_until(self._is_acknowledged)

    def _partitions_for(self, batch_id: int) -> list[str]:
        """Return the partitions among which the messages of a batch are dealt out.

        A batch that is sent again goes to the same ones, also if there are more by then.
        """
        known = self._partitions.read()
        if known is not None and known["batch"] == batch_id:
            return list(known["topics"])
        topics = [
            part
            for topic in self._route.topics
            for part in sorted(self._client.get_topic_partitions(topic))
        ]
        self._partitions.write({"batch": batch_id, "topics": topics})
        return topics

    def _sending(self, topic: str) -> _Sending:
        if topic not in self._sendings:
            sending = _Sending(self._client, topic, self._name)
            if self._name is not None and not self._remembers_numbers(topic):
                sending.producer.close()
                self._have_numbers_remembered(topic)
                sending = _Sending(self._client, topic, self._name)
            self._sendings[topic] = sending
        return self._sendings[topic]

    def _remembers_numbers(self, topic: str) -> bool:
        stats = self._access.ask(f"{path_of(topic)}/internalStats")
        return _NUMBERS_CURSOR in stats["cursors"]

    def _have_numbers_remembered(self, topic: str) -> None:
        namespace = path_of(topic).split("/", 1)[1].rpartition("/")[0]
        try:
            self._access.ask(f"namespaces/{namespace}/deduplication", "POST", True)
        except OSError as error:
            if not is_denial(error):
                raise
            raise SinkError(
                f"the brokers do not remember which messages of {topic!r} they have got",
                got=f"deduplication is off and may not be switched on: {describe(error)}",
                todo=f"switch deduplication on for the namespace {namespace!r}, or choose "
                "DeliveryGuarantee.AT_LEAST_ONCE",
            ) from None
        deadline = time.monotonic() + _SWITCH_SECONDS
        self._wait_until(
            lambda: self._remembers_numbers(topic) or time.monotonic() > deadline, pause=0.2
        )
        if not self._remembers_numbers(topic):
            raise library().Timeout(f"deduplication of {topic} does not begin")

    def _is_acknowledged(self) -> bool:
        return not any(sending.waiting for sending in self._sendings.values())

    def _wait_until(self, condition: Callable[[], bool], pause: float = _TURN_SECONDS) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            if self._stopping():
                raise SinkError("the job has ended while it was being published")
            if time.monotonic() > deadline:
                raise library().Timeout(f"nothing for {_PATIENCE_SECONDS:g} s")
            time.sleep(pause)

    def close(self) -> None:
        client, self._client, self._sendings = self._client, None, {}
        if client is not None:
            client.shutdown()


def _has_room(sending: _Sending) -> bool:
    return sending.waiting < 25_000
