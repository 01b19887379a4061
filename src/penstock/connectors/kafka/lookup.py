"""Ask the brokers: which partitions there are, where they begin and end, what a group has read."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from penstock.connectors.kafka.client import Trouble, describe, library, make, refused
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.errors import SourceError

#: A topic's name and the number of a partition.
Partition = tuple[str, int]

#: Timestamps with which the protocol asks for an end of a partition.
_LATEST, _EARLIEST = -1, -2
_SECONDS = 30.0
#: A question waits in turns, so that a refusal is noticed meanwhile.
_TURN_SECONDS = 2.0
_PAUSE_SECONDS = 0.1
#: How many records tell how large the records of a topic are.
_SAMPLE = 200
_SAMPLE_SECONDS = 2.0


class Lookup:
    """A connection that only asks. Safe to use from several threads.

    :param settings: the client library's settings.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.trouble = Trouble()
        self._servers = str(settings.get("bootstrap.servers"))
        self._consumer = make("Consumer", settings, self.trouble)

    def partitions(self, topics: Iterable[str]) -> list[Partition]:
        """Return all partitions of some topics.

        :raises SourceError: if there is no such topic.
        """
        found: list[Partition] = []
        for topic in topics:
            metadata = self._ask(partial(self._consumer.list_topics, topic))
            entry = metadata.topics[topic]
            if entry.error is not None or not entry.partitions:
                raise SourceError(
                    f"there is no topic {topic!r}",
                    got=entry.error.str() if entry.error is not None else "no partitions",
                    todo="create the topic, or correct its name",
                )
            found += [(topic, number) for number in sorted(entry.partitions)]
        return found

    def matching(self, pattern: str) -> list[Partition]:
        """Return all partitions of the topics whose whole name matches a pattern."""
        metadata = self._ask(self._consumer.list_topics)
        names = sorted(name for name in metadata.topics if re.fullmatch(pattern, name))
        return [(t, number) for t in names for number in sorted(metadata.topics[t].partitions)]

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offset behind the last record that may be read, by partition."""
        return self._offsets(partitions, _LATEST)

    def begins(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offset of the first record that there is, by partition."""
        return self._offsets(partitions, _EARLIEST)

    def chosen(
        self, initializer: KafkaOffsetsInitializer, partitions: list[Partition]
    ) -> dict[Partition, int]:
        """Return the offsets that an initializer chooses."""
        if initializer.kind == "earliest":
            return self.begins(partitions)
        if initializer.kind == "latest":
            return self.ends(partitions)
        if initializer.kind == "timestamp":
            found = self._offsets(partitions, initializer.at)
            missing = [each for each in partitions if found[each] < 0]
            return {**found, **(self.ends(missing) if missing else {})}
        if initializer.kind == "committed":
            known = self._committed(partitions)
        else:
            known = {(tp.topic, tp.partition): offset for tp, offset in initializer.specific}
        missing = [each for each in partitions if each not in known]
        known = {each: known[each] for each in partitions if each in known}
        return {**known, **self._reset(missing, initializer)} if missing else known

    def commit(self, offsets: dict[Partition, int]) -> None:
        """Commit offsets for the consumer group."""
        partition = library().TopicPartition
        wanted = [partition(*place, offset) for place, offset in offsets.items()]
        for each in self._consumer.commit(offsets=wanted, asynchronous=False):
            if each.error is not None:
                raise library().KafkaException(each.error)

    def average_size(self, place: Partition, offset: int) -> float | None:
        """Return how many bytes a record has, from some records at an offset; None: none came."""
        self._consumer.assign([library().TopicPartition(*place, offset)])
        try:
            messages = self._consumer.consume(_SAMPLE, _SAMPLE_SECONDS)
        finally:
            self._consumer.unassign()
        sizes = [len(m) + len(m.key() or b"") for m in messages if m.error() is None]
        return sum(sizes) / len(sizes) if sizes else None

    def serve(self) -> None:
        """Let the library's threads report what they have to say.

        :raises SourceError: if the servers refuse this client.
        """
        self._consumer.poll(0)
        if self.trouble.denied is not None:
            raise refused(SourceError, self._servers, self.trouble.denied)

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()

    def _committed(self, partitions: list[Partition]) -> dict[Partition, int]:
        partition = library().TopicPartition
        asked = [partition(*place) for place in partitions]
        answer = self._ask(partial(self._consumer.committed, asked))
        return {(a.topic, a.partition): a.offset for a in answer if a.offset >= 0}

    def _reset(
        self, partitions: list[Partition], initializer: KafkaOffsetsInitializer
    ) -> dict[Partition, int]:
        if initializer.reset is KafkaOffsetResetStrategy.EARLIEST:
            return self.begins(partitions)
        if initializer.reset is KafkaOffsetResetStrategy.LATEST:
            return self.ends(partitions)
        raise SourceError(
            "there is no offset to begin at",
            got=f"partitions {', '.join(f'{t}-{p}' for t, p in partitions)}",
            todo="commit offsets for the group first, or pass a KafkaOffsetResetStrategy",
        )

    def _offsets(self, partitions: Iterable[Partition], timestamp: int) -> dict[Partition, int]:
        partition = library().TopicPartition
        asked = [partition(*place, timestamp) for place in partitions]
        if not asked:
            return {}

        def question(timeout: float) -> list[Any]:
            answer: list[Any] = self._consumer.offsets_for_times(asked, timeout)
            for each in answer:
                if each.error is not None and _is_passing(each.error):
                    raise library().KafkaException(each.error)
            return answer

        found = self._ask(question)
        for each in found:
            if each.error is not None:
                raise library().KafkaException(each.error)
        return {(each.topic, each.partition): each.offset for each in found}

    def _ask(self, question: Callable[..., Any]) -> Any:
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                return question(timeout=_TURN_SECONDS)
            except library().KafkaException as error:
                self.serve()
                time.sleep(_PAUSE_SECONDS)
                if time.monotonic() > deadline or not _is_passing(error.args[0]):
                    raise SourceError(
                        f"Kafka at {self._servers} does not answer",
                        got=describe(error, self.trouble),
                        todo="check bootstrap.servers, and that a broker is running there",
                    ) from None


def _is_passing(error: Any) -> bool:
    """Tell whether a question may be answered in a moment: brokers that start have no leaders."""
    kinds = library().KafkaError
    return error.code() in (
        kinds._TIMED_OUT,
        kinds._TRANSPORT,
        kinds._ALL_BROKERS_DOWN,
        kinds.LEADER_NOT_AVAILABLE,
        kinds.NOT_LEADER_FOR_PARTITION,
        kinds.REPLICA_NOT_AVAILABLE,
        kinds.OFFSET_NOT_AVAILABLE,
        kinds.FENCED_LEADER_EPOCH,
        kinds.UNKNOWN_LEADER_EPOCH,
        kinds.COORDINATOR_LOAD_IN_PROGRESS,
        kinds.COORDINATOR_NOT_AVAILABLE,
        kinds.NOT_COORDINATOR,
    )
