"""Where reading begins and ends, and of which keys. Names and signatures are PyFlink's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StartCursor:
    """Where a new job begins to read. Made by the static methods.

    >>> StartCursor.earliest()
    StartCursor(kind='earliest', at=None, message_id=None, inclusive=True)
    """

    kind: str
    at: int | None = None
    message_id: bytes | None = None
    inclusive: bool = True

    @staticmethod
    def default_start_cursor() -> StartCursor:
        """Begin with the first message that there is."""
        return StartCursor.earliest()

    @staticmethod
    def earliest() -> StartCursor:
        """Begin with the first message that there is."""
        return StartCursor("earliest")

    @staticmethod
    def latest() -> StartCursor:
        """Begin with the first message that comes from now on."""
        return StartCursor("latest")

    @staticmethod
    def from_message_id(message_id: bytes, inclusive: bool = True) -> StartCursor:
        """Begin at a message, by its serialized id; behind it if not `inclusive`."""
        return StartCursor("message", message_id=message_id, inclusive=inclusive)

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        """Begin with the first message that was published then or later, in epoch milliseconds."""
        return StartCursor("publish time", at=timestamp)


@dataclass(frozen=True)
class StopCursor:
    """Where reading ends. Made by the static methods.

    A cursor of times ends a partition with the first message that has such a time.
    """

    kind: str
    at: int | None = None
    message_id: bytes | None = None
    #: The message that the cursor names is read as well.
    inclusive: bool = False

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        """Never end."""
        return StopCursor.never()

    @staticmethod
    def never() -> StopCursor:
        """Never end."""
        return StopCursor("never")

    @staticmethod
    def latest() -> StopCursor:
        """End behind the message that is the last one when the job begins."""
        return StopCursor("latest")

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        """End in front of the first message with this event time or a later one."""
        return StopCursor("event time", at=timestamp)

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        """End in front of the first message with a later event time."""
        return StopCursor("event time", at=timestamp, inclusive=True)

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        """End in front of the first message that was published then or later."""
        return StopCursor("publish time", at=timestamp)

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        """End in front of the first message that was published later."""
        return StopCursor("publish time", at=timestamp, inclusive=True)

    @staticmethod
    def at_message_id(message_id: bytes) -> StopCursor:
        """End in front of a message, by its serialized id."""
        return StopCursor("message", message_id=message_id)

    @staticmethod
    def after_message_id(message_id: bytes) -> StopCursor:
        """End behind a message, by its serialized id."""
        return StopCursor("message", message_id=message_id, inclusive=True)

    @property
    def asks_messages(self) -> bool:
        """Tell whether only a message itself says whether it is behind the end."""
        return self.at is not None

    def is_behind(self, message: Any) -> bool:
        """Tell whether a message is behind the end, by its times."""
        of_event = self.kind == "event time"
        time = message.event_timestamp() if of_event else message.publish_timestamp()
        assert self.at is not None
        return bool(time > self.at if self.inclusive else time >= self.at)


@dataclass(frozen=True)
class RangeGenerator:
    """Of which keys messages are read. Made by the static methods."""

    #: None: all of them.
    keys: frozenset[str] | None = None
    ordering_keys: frozenset[str] = frozenset()
    without_key: bool = True

    @staticmethod
    def full() -> RangeGenerator:
        """Read all messages."""
        return RangeGenerator()

    @staticmethod
    def fixed_key(
        support_null_key: bool = False,
        keys: str | Sequence[str] | None = None,
        key_bytes: bytes | None = None,
        ordering_key_bytes: bytes | None = None,
    ) -> RangeGenerator:
        """Read the messages of some keys, and only those: Flink reads some others besides.

        :param support_null_key: read messages without a key as well.
        """
        named = [keys] if isinstance(keys, str) else list(keys or ())
        if key_bytes is not None:
            named.append(_text(key_bytes))
        ordering = () if ordering_key_bytes is None else (_text(ordering_key_bytes),)
        return RangeGenerator(frozenset(named), frozenset(ordering), support_null_key)

    def includes(self, message: Any) -> bool:
        """Tell whether a message is read."""
        if self.keys is None:
            return True
        if message.ordering_key():
            return message.ordering_key() in self.ordering_keys
        if message.partition_key():
            return message.partition_key() in self.keys
        return self.without_key


@dataclass(frozen=True)
class PulsarRange:
    """What a Pulsar source reads, and from where to where."""

    topics: tuple[str, ...]
    pattern: str | None
    subscription: str
    starting: StartCursor
    stopping: StopCursor
    #: Seconds between two looks for new partitions; None: no looks.
    discovery: float | None


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")
