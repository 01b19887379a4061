"""The half of the Pulsar source that reads: readers of topics that a worker keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.connectors.pulsar.client import (
    Place,
    PulsarAccess,
    describe,
    entry_id,
    is_denial,
    library,
    place_of,
)
from penstock.connectors.pulsar.cursors import RangeGenerator
from penstock.core.io import ReaderContext, SourceBatch, SourceReader, SplitRange
from penstock.errors import SourceError, show_value

_CHUNK = 4096
_WAIT_MILLIS = 500
#: From then on somebody is asked whether there is anything left.
_QUIET_SECONDS = 1.0
#: How long a range may give nothing, though the brokers had named its end.
_PATIENCE_SECONDS = 120.0
_QUEUE = 10_000


class TopicReader:
    """Read a topic without a partition, message by message, from a place on."""

    def __init__(self, client: Any, topic: str, at: Place) -> None:
        self.topic = topic
        #: Everything up to here has been taken.
        self.at = at
        self._held: Any = None
        # By whole entries, and from the one that the place is in.
        self._reader = client.create_reader(
            topic, entry_id(at), receiver_queue_size=_QUEUE, start_message_id_inclusive=True
        )

    def next(self, end: Place | None = None, wait_millis: int = _WAIT_MILLIS) -> Any:
        """Return the next message up to a place, None if there is none now.

        A message that lies behind the end is kept for the next call.
        """
        while True:
            message, self._held = self._held, None
            if message is None:
                try:
                    message = self._reader.read_next(timeout_millis=wait_millis)
                except library().Timeout:
                    return None
            place = place_of(message.message_id())
            if place <= self.at:
                continue
            if end is not None and place > end:
                self._held = message
                self.at = end
                return None
            self.at = place
            return message

    def seek(self, publish_time: int) -> None:
        """Go on with messages that were published about then or later."""
        self._reader.seek(publish_time)
        self._held = None

    def is_at_end(self) -> bool:
        """Tell whether the broker has nothing that has not been taken."""
        try:
            return self._held is None and not self._reader.has_message_available()
        except library().PulsarException:
            return False

    def close(self) -> None:
        """Disconnect."""
        self._reader.close()


class PulsarReader(SourceReader):
    """Read ranges of places.

    A range ends with a message at its end or behind it, or with the broker's word that there is
    nothing left: what transactions leave in a topic has a place, but is nobody's to read.
    """

    def __init__(
        self,
        context: ReaderContext,
        access: PulsarAccess,
        schema: DeserializationSchema[Any],
        keys: RangeGenerator,
    ) -> None:
        self._access = access
        self._schema = schema
        self._keys = keys
        self._client: Any = None
        self._readers: dict[str, TopicReader] = {}

    def open(self) -> None:
        self._schema.open()
        self._client = self._access.connect()

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        end: Place = tuple(split_range.end)
        try:
            reader = self._reader_at(split_range.split, tuple(split_range.start))
            messages: list[Any] = []
            while reader.at < end:
                message = self._wait_for(reader, split_range, end, patient=not messages)
                if message is not None:
                    messages.append(message)
                if messages and (message is None or len(messages) >= _CHUNK):
                    yield self._records(messages)
                    messages = []
            if messages:
                yield self._records(messages)
        except library().PulsarException as error:
            raise self._failed(split_range, describe(error), denied=is_denial(error)) from None

    def _wait_for(
        self, reader: TopicReader, split_range: SplitRange, end: Place, *, patient: bool
    ) -> Any:
        """Return the next message; None if a chunk should be handed on, or the range has ended."""
        if not patient:
            return reader.next(end, 1)
        quiet = time.monotonic()
        while reader.at < end:
            message = reader.next(end)
            if message is not None:
                return message
            passed = time.monotonic() - quiet
            if passed > _QUIET_SECONDS and reader.at < end and reader.is_at_end():
                reader.at = end
            if passed > _PATIENCE_SECONDS:
                raise self._failed(split_range, f"nothing for {_PATIENCE_SECONDS:g} s")
        return None

    def _reader_at(self, topic: str, start: Place) -> TopicReader:
        """Return a reader that stands at a place: the one from the last batch, or a new one."""
        reader = self._readers.pop(topic, None)
        if reader is not None and reader.at != start:
            reader.close()
            reader = None
        if reader is None:
            reader = TopicReader(self._client, topic, start)
        self._readers[topic] = reader
        return reader

    def _records(self, messages: list[Any]) -> SourceBatch:
        values, times = [], []
        deserialize, wanted = self._schema.deserialize, self._keys.includes
        for message in messages:
            if not wanted(message):
                continue
            try:
                value = deserialize(message.data())
            except Exception as error:
                raise _unreadable(message, error) from error
            if value is not None:
                values.append(value)
                times.append(message.event_timestamp() or None)
        return SourceBatch(values, times)

    def close(self) -> None:
        if self._client is not None:
            self._client.shutdown()

    def _failed(self, part: SplitRange, why: str, *, denied: bool = False) -> SourceError:
        return SourceError(
            f"Pulsar at {self._access.service_url} does not give messages of {part.split}",
            got=f"{why}; places {part.start} to {part.end}",
            todo="check the account" if denied else "check that the brokers are running",
        )


def _unreadable(message: Any, error: Exception) -> SourceError:
    place = f"topic {message.topic_name()!r}, message {message.message_id()}"
    return SourceError(
        "a message cannot be turned into a record",
        got=f"{place}: {show_value(message.data(), 200)}; {type(error).__name__}: {error}",
        todo="use a schema that fits the topic, or one that returns None for what it cannot read",
    )
