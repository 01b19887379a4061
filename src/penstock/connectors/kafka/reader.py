"""The half of the Kafka source that reads: a consumer that a worker keeps from batch to batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from penstock.connectors.kafka.client import Trouble, library, make, refused
from penstock.connectors.kafka.schemas import KafkaRecordDeserializationSchema
from penstock.core.io import ReaderContext, SourceBatch, SourceReader, SplitRange
from penstock.errors import SourceError, show_value

_logger = logging.getLogger("penstock.kafka")

_RESET = "auto.offset.reset"
_CHUNK = 8192
_WAIT_SECONDS = 0.5
#: How long a range may give nothing, though the brokers had named its end.
_PATIENCE_SECONDS = 120.0
_ANSWER_SECONDS = 10.0


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
    may be missing where transactions end or a topic is compacted. The client never moves by itself
    to the beginning or the end of a partition: a broker that has just been started may not know yet
    how far it had come, and then says that an offset does not exist.
    """

    def __init__(
        self,
        context: ReaderContext,
        settings: dict[str, Any],
        schema: KafkaRecordDeserializationSchema,
    ) -> None:
        self._reset = settings[_RESET]
        self._settings = {**settings, _RESET: "error"}
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
        self._assign()

    def _assign(self) -> None:
        partition = library().TopicPartition
        places = [(place, each.at) for place, each in self._progress.items() if each.at < each.end]
        self._consumer.assign([partition(*place, at) for place, at in places])

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
            batch = self._schema.batch(messages)
        except Exception:
            # One of them cannot be read: which one shows when they are read one by one.
            for message in messages:
                try:
                    self._schema.batch([message])
                except Exception as error:
                    raise _unreadable(message, error) from error
            raise
        batch.size = sum(map(len, messages))  # the length of a message is that of its value
        return batch

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
        [progress, *others] = self._progress.values()
        if not others and _all_within(progress, messages):
            # The usual case: all of them are of this range.
            progress.messages += messages
            progress.at = messages[-1].offset() + 1
            return
        astray = [message for message in messages if not self._take(message)]
        if astray:
            self._find_back(astray)

    def _take(self, message: Any) -> bool:
        """Take a message; tell whether its partition can be read on."""
        error = message.error()
        if error is not None and error.code() != library().KafkaError._PARTITION_EOF:
            if error.code() != library().KafkaError._AUTO_OFFSET_RESET:
                raise self._failed(error)
            return False
        progress = self._progress.get((message.topic(), message.partition()))
        if progress is None:
            return True
        offset = message.offset()
        if error is not None:  # there is nothing in front of this offset any more
            progress.at = max(progress.at, offset)
        elif offset >= progress.end:
            progress.at = progress.end
        elif offset >= progress.at:
            progress.messages.append(message)
            progress.at = offset + 1
        return True

    def _find_back(self, astray: list[Any]) -> None:
        """Go on where an offset was said not to exist: if its record is gone, as the user chose."""
        for message in astray:
            place = (message.topic(), message.partition())
            progress = self._progress.get(place)
            if progress is None or progress.at >= progress.end:
                continue
            first = self._first_offset(place)
            if first is None or progress.at >= first:
                time.sleep(_WAIT_SECONDS)  # the broker will know it in a moment
                continue
            if self._reset == "error":
                raise self._failed(message.error())
            begin = min(first, progress.end) if self._reset == "earliest" else progress.end
            _logger.warning(
                "records %d to %d of %s-%d are gone: they were not read",
                progress.at,
                begin - 1,
                *place,
            )
            progress.at = begin
        self._assign()

    def _first_offset(self, place: tuple[str, int]) -> int | None:
        """Return the offset of the first record that there is; None: nobody says."""
        partition = library().TopicPartition(*place)
        try:
            ends = self._consumer.get_watermark_offsets(partition, timeout=_ANSWER_SECONDS)
        except library().KafkaException:
            return None
        return None if ends is None else int(ends[0])

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


def _all_within(progress: _Progress, messages: list[Any]) -> bool:
    """Tell whether messages are the next ones of a range, and only they."""
    first, last = messages[0].offset(), messages[-1].offset()
    if first < progress.at or last >= progress.end:
        return False
    if any(message.error() is not None for message in messages):
        return False
    offsets = [message.offset() for message in messages]
    return last - first == len(messages) - 1 or all(a < b for a, b in pairwise(offsets))


def _unreadable(message: Any, error: Exception) -> SourceError:
    place = f"topic {message.topic()!r}, partition {message.partition()}, offset {message.offset()}"
    return SourceError(
        "a message cannot be turned into a record",
        got=f"{place}: {show_value(message.value(), 200)}; {type(error).__name__}: {error}",
        todo="use a schema that fits the topic, or one that returns None for what it cannot read",
    )
