"""The half of the Kafka source that reads: a consumer that a worker keeps from batch to batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.kafka.client import Trouble, library, make, refused
from penstock.connectors.kafka.schemas import KafkaRecordDeserializationSchema
from penstock.core.io import ReaderContext, SourceBatch, SourceReader, SplitRange
from penstock.errors import SourceError, show_value

_CHUNK = 8192
_WAIT_SECONDS = 0.5
#: How long a range may give nothing, though the brokers had named its end.
_PATIENCE_SECONDS = 120.0


@dataclass
class _Progress:
    """How far one range of this batch has been fetched."""

    at: int
    end: int
    messages: list[Any] = field(default_factory=list)

    def take(self) -> list[Any]:
        messages, self.messages = self.messages, []
        return messages


class KafkaReader(SourceReader):
    """Read ranges of offsets.

    A range ends when its last record has come, one behind it, or word that there is none: offsets
    may be missing where transactions end or a topic is compacted.
    """

    def __init__(
        self,
        context: ReaderContext,
        settings: dict[str, Any],
        schema: KafkaRecordDeserializationSchema,
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._trouble = Trouble()
        self._consumer: Any = None
        self._progress: dict[tuple[str, int], _Progress] = {}

    def open(self) -> None:
        self._schema.open()
        self._consumer = make("Consumer", self._settings, self._trouble)

    def prepare(self, ranges: list[SplitRange]) -> None:
        places = {}
        for part in ranges:
            topic, _, number = part.split.rpartition("-")
            places[topic, int(number)] = _Progress(part.start, part.end)
        self._progress = places
        partition = library().TopicPartition
        self._consumer.assign([partition(*place, each.at) for place, each in places.items()])

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        topic, _, number = split_range.split.rpartition("-")
        progress = self._progress[topic, int(number)]
        heard = time.monotonic()
        while True:
            if progress.messages:
                heard = time.monotonic()
                yield self._records(progress.take())
            if progress.at >= progress.end:
                break
            self._fetch()
            if time.monotonic() - heard > _PATIENCE_SECONDS and not progress.messages:
                raise self._silent(split_range)
        if all(each.at >= each.end for each in self._progress.values()):
            # Nothing is fetched between batches: another worker may read what comes next.
            self._consumer.unassign()

    def _records(self, messages: list[Any]) -> SourceBatch:
        try:
            return self._schema.batch(messages)
        except Exception:
            # One of them cannot be read: which one shows when they are read one by one.
            for message in messages:
                try:
                    self._schema.batch([message])
                except Exception as error:
                    raise _unreadable(message, error) from error
            raise

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _fetch(self) -> None:
        try:
            # Wait for one only: `consume` would wait until there are as many as it was asked for.
            first = self._consumer.poll(_WAIT_SECONDS)
            messages = [] if first is None else [first, *self._consumer.consume(_CHUNK, 0)]
        except library().KafkaException as error:
            raise self._failed(error.args[0]) from None
        if not messages:
            if self._trouble.denied is not None:
                raise refused(SourceError, self._servers, self._trouble.denied)
            return
        last = messages[-1]
        [progress, *others] = self._progress.values()
        if (
            not others
            and first.offset() >= progress.at
            and last.offset() < progress.end
            and not any(message.error() is not None for message in messages)
        ):
            # The usual case: all of them are of this range.
            progress.messages += messages
            progress.at = last.offset() + 1
            return
        for message in messages:
            self._take(message)

    def _take(self, message: Any) -> None:
        error = message.error()
        if error is not None and error.code() != library().KafkaError._PARTITION_EOF:
            raise self._failed(error)
        progress = self._progress.get((message.topic(), message.partition()))
        if progress is None:
            return
        offset = message.offset()
        if error is not None:  # there is nothing in front of this offset any more
            progress.at = max(progress.at, offset)
        elif offset >= progress.end:
            progress.at = progress.end
        elif offset >= progress.at:
            # Less than that comes where the client was sent back to the topic's beginning, as by a
            # broker that has just been started and does not know yet how far it had come.
            progress.messages.append(message)
            progress.at = offset + 1

    @property
    def _servers(self) -> str:
        return str(self._settings.get("bootstrap.servers"))

    def _failed(self, error: Any) -> SourceError:
        kinds = library().KafkaError
        if error.code() in (kinds._AUTO_OFFSET_RESET, kinds.OFFSET_OUT_OF_RANGE):
            return SourceError(
                "records that the job has not read yet are gone from the topic",
                got=f"{error.name()}: {error.str()}",
                todo="keep records for longer (retention.ms), or set auto.offset.reset to "
                "earliest to go on with the first ones that are left",
            )
        return SourceError(
            f"Kafka at {self._servers} cannot be read", got=f"{error.name()}: {error.str()}"
        )

    def _silent(self, split_range: SplitRange) -> SourceError:
        last = self._trouble.last
        return SourceError(
            f"Kafka at {self._servers} does not send the records of {split_range.split}",
            got=f"offsets {split_range.start} to {split_range.end}, nothing for "
            f"{_PATIENCE_SECONDS:g} s" + (f" ({last})" if last else ""),
            todo="check that the brokers are running",
        )


def _unreadable(message: Any, error: Exception) -> SourceError:
    place = f"topic {message.topic()!r}, partition {message.partition()}, offset {message.offset()}"
    return SourceError(
        "a message cannot be turned into a record",
        got=f"{place}: {show_value(message.value(), 200)}; {type(error).__name__}: {error}",
        todo="use a schema that fits the topic, or one that returns None for what it cannot read",
    )
