"""Publish staged messages: with a marker in one transaction, or at least once."""

from __future__ import annotations

import json
import logging
import pickle
import time
from collections.abc import Mapping
from typing import Any

from penstock.connectors.journal import LastBatch, numbering_of
from penstock.connectors.kafka.client import Trouble, describe, library, make, refused, translated
from penstock.connectors.kafka.markers import Markers
from penstock.core.io import Committable, Committer, CommitterContext
from penstock.errors import SinkError

_logger = logging.getLogger("penstock.kafka")

#: Messages as writers stage them: topic, value, key, partition, timestamp, headers.
StagedMessages = list[
    tuple[str, bytes | None, bytes | None, int | None, int | None, list[Any] | None]
]

_TURN_SECONDS = 1.0
#: How long the brokers may be away while something is published.
_PATIENCE_SECONDS = 120.0
#: So often the client library is let have a word while messages are handed to it.
_SERVE_EVERY = 10_000
_DEFAULTS = {
    # As Java's client does: other producers of the topic choose the same partition for a key.
    "partitioner": "murmur2_random",
    "queue.buffering.max.messages": "1000000",
    "queue.buffering.max.kbytes": "524288",
    "enable.idempotence": "true",
}


class _Connection:
    """A producer, with what its threads report."""

    def __init__(self, settings: Mapping[str, Any], stopping: Any) -> None:
        self._settings = dict(settings)
        self.servers = str(settings.get("bootstrap.servers"))
        self._stopping = stopping
        self.trouble = Trouble()
        self.undelivered: Any = None
        self.producer = make(
            "Producer",
            {
                **self._settings,
                # Success shows by the transaction or the flush; only failures are called back.
                "delivery.report.only.error": True,
                "on_delivery": self._note_delivery,
            },
            self.trouble,
        )

    def _note_delivery(self, error: Any, message: Any) -> None:
        if error is not None and self.undelivered is None:
            self.undelivered = (error, message.topic())

    def send(self, committables: list[Committable]) -> None:
        """Hand all messages to the client library, which sends them."""
        produce, poll = self.producer.produce, self.producer.poll
        count = 0
        for committable in committables:
            for topic, value, key, partition, timestamp, headers in pickle.loads(
                committable.payload
            ):
                options: dict[str, Any] = {}
                if partition is not None:
                    options["partition"] = partition
                if timestamp is not None:
                    options["timestamp"] = timestamp
                if headers is not None:
                    options["headers"] = headers
                while True:
                    try:
                        produce(topic, value, key, **options)
                        break
                    except BufferError:
                        self.check()
                        poll(0.1)
                    except library().KafkaException as error:
                        raise self.cannot_write(error.args[0], topic) from None
                count += 1
                if count % _SERVE_EVERY == 0:
                    poll(0)

    def check(self) -> None:
        """Look whether there is a reason to give up.

        :raises SinkError: if there is.
        """
        if self.trouble.denied is not None:
            raise refused(SinkError, self.servers, self.trouble.denied)
        if self._stopping():
            raise SinkError("the job has ended while it was being published")

    def cannot_write(self, error: Any, topic: str) -> SinkError:
        kinds = library().KafkaError
        advice = {
            kinds.MSG_SIZE_TOO_LARGE: "raise message.max.bytes here and at the topic, or write "
            "smaller records",
            kinds.UNKNOWN_TOPIC_OR_PART: "create the topic, or correct its name",
            kinds._UNKNOWN_TOPIC: "create the topic, or correct its name",
            kinds._UNKNOWN_PARTITION: "have the partitioner return a partition that there is",
        }
        return SinkError(
            f"Kafka at {self.servers} does not take a message for topic {topic!r}",
            got=f"{error.name()}: {error.str()}",
            todo=advice.get(error.code()),
        )

    def silent(self, error: BaseException | None = None) -> SinkError:
        text = self.trouble.last if error is None else describe(error, self.trouble)
        return SinkError(
            f"Kafka at {self.servers} does not answer",
            got=text,
            todo="check that the brokers are running; what is recorded is published later",
        )

    def close(self) -> None:
        """Forget what has not been sent."""
        self.producer.purge()
        self.producer.flush(1)


class KafkaCommitter(Committer):
    """Publish at least once: a batch that was interrupted is sent again as a whole."""

    def __init__(self, context: CommitterContext, properties: Mapping[str, str]) -> None:
        self._settings = {**_DEFAULTS, **translated(properties)}
        self._stopping = context.stopping
        self._published = LastBatch(context.directory, fresh=not context.restored)
        self._connection: _Connection | None = None

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        if self._connection is None:
            self._connection = _Connection(self._settings, self._stopping)
        try:
            self._send(self._connection, committables)
        except SinkError:
            # Nobody knows what this producer has sent: the next one sends all of it again.
            self._connection.close()
            self._connection = None
            raise
        self._published.advance(batch_id)

    def _send(self, connection: _Connection, committables: list[Committable]) -> None:
        connection.send(committables)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while connection.producer.flush(_TURN_SECONDS):
            connection.check()
            if time.monotonic() > deadline:
                raise connection.silent()
        if connection.undelivered is not None:
            raise connection.cannot_write(*connection.undelivered)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class TransactionalCommitter(Committer):
    """Publish exactly once: messages and the batch's marker in one transaction.

    The transactional id is the same in every run of the job. So the first thing that a new run
    does, `init_transactions`, aborts what an earlier one left open and fences it, should it still
    be alive. After that the markers tell what has been published.
    """

    def __init__(
        self, context: CommitterContext, properties: Mapping[str, str], transactional_id: str
    ) -> None:
        settings = {**_DEFAULTS, **translated(properties), "transactional.id": transactional_id}
        self._connection = _Connection(settings, context.stopping)
        self._id = transactional_id
        self._numbering = numbering_of(context.directory, fresh=not context.restored)
        self._until_answered(self._connection.producer.init_transactions)
        self._markers = Markers(context.directory, properties, transactional_id, self._numbering)
        self._published = self._markers.last_batch()

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if batch_id <= self._published:
            return
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._transact(batch_id, committables):
            # The transaction is known to be aborted, so that it may be tried again.
            if time.monotonic() > deadline:
                raise self._connection.silent()
        self._published = batch_id

    def _transact(self, batch_id: int, committables: list[Committable]) -> bool:
        """Write a batch; tell whether it is committed. If not it is aborted."""
        connection = self._connection
        producer = connection.producer
        try:
            producer.begin_transaction()
            connection.send(committables)
            marker = json.dumps({"of": self._numbering, "batch": batch_id}).encode()
            producer.produce(self._markers.topic, marker, self._id.encode(), partition=0)
            self._until_answered(producer.commit_transaction)
        except SinkError:
            self._abort()
            raise
        except library().KafkaException as error:
            return self._after(error)
        return True

    def _after(self, error: Any) -> bool:
        kind = error.args[0]
        if not kind.fatal() and kind.txn_requires_abort():
            self._connection.producer.poll(0)  # lets failed deliveries be reported
            self._abort()
            if self._connection.undelivered is not None:
                undelivered, topic = self._connection.undelivered
                self._connection.undelivered = None
                if not _is_passing(undelivered):
                    raise self._connection.cannot_write(undelivered, topic) from None
            _logger.warning("a transaction of %s is tried again: %s", self._id, describe(error))
            time.sleep(0.2)
            return False
        if kind.code() in (
            library().KafkaError._FENCED,
            library().KafkaError.PRODUCER_FENCED,
            library().KafkaError.INVALID_PRODUCER_EPOCH,
        ):
            raise SinkError(
                "another producer has taken over the sink's transactions",
                got=f"transactional id {self._id!r}, {describe(error)}",
                todo="do not run the same job twice at a time; give each job a prefix of its own "
                "with set_transactional_id_prefix()",
            ) from None
        raise SinkError(
            f"a transaction of Kafka at {self._connection.servers} cannot be completed",
            got=describe(error, self._connection.trouble),
        ) from None

    def _abort(self) -> None:
        """End the transaction, if it can be reached; else the next run of the job does it."""
        try:
            self._connection.producer.purge()
            self._connection.producer.abort_transaction(_TURN_SECONDS * 10)
        except Exception as error:
            _logger.info("a transaction of %s is left open: %s", self._id, error)

    def _until_answered(self, call: Any) -> None:
        """Make a call that may take several turns."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                call(_TURN_SECONDS)
                return
            except library().KafkaException as error:
                self._connection.producer.poll(0)
                kind = error.args[0]
                if not kind.retriable() and kind.code() != library().KafkaError._TIMED_OUT:
                    raise
                self._connection.check()
                if time.monotonic() > deadline:
                    raise self._connection.silent(error) from None

    def close(self) -> None:
        self._connection.close()
        self._markers.close()


def _is_passing(error: Any) -> bool:
    """Tell whether an undelivered message may be delivered by another attempt."""
    kinds = library().KafkaError
    lasting = (
        kinds.MSG_SIZE_TOO_LARGE,
        kinds.UNKNOWN_TOPIC_OR_PART,
        kinds._UNKNOWN_TOPIC,
        kinds._UNKNOWN_PARTITION,
        kinds.TOPIC_AUTHORIZATION_FAILED,
        kinds.INVALID_RECORD,
    )
    return error.code() not in lasting
