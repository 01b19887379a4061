"""What window assigners do: say to which windows an element belongs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from penstock.common.serializer import TypeSerializer
from penstock.common.watermark import MIN_WATERMARK
from penstock.core.functions.runtime_context import RuntimeContext
from penstock.core.windowing.triggers.base import Trigger
from penstock.core.windowing.windows import Window
from penstock.errors import MissingTimestampError, WindowConfigError, show_value

T = TypeVar("T")
W = TypeVar("W", bound=Window)
MERGED = TypeVar("MERGED", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Say to which windows an element belongs. Settings only: it keeps nothing."""

    class WindowAssignerContext(ABC):
        """What an assigner can ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time in epoch milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the context of the operator, with the state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows that an element belongs to."""

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger for windows that are given no other."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return the serializer of its windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether windows follow event time, so that elements can be late for them."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows merge, as sessions do."""

    class MergeCallback(ABC, Generic[MERGED]):
        """Learn which windows merge."""

        @abstractmethod
        def merge(self, to_be_merged: Collection[MERGED], merge_result: MERGED) -> None:
            """Take note that windows become one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Find out which windows merge, and call the callback once for each result."""


def require_timestamp(assigner: object, element: Any, timestamp: int | None) -> int:
    """Return the timestamp of an element that must have one.

    :raises MissingTimestampError: if it has none.
    """
    if timestamp is None or timestamp <= MIN_WATERMARK:
        raise MissingTimestampError(
            "record has no event timestamp",
            where=repr(assigner),
            got=show_value(element),
            todo="call assign_timestamps_and_watermarks(...) on the stream before .window(...)",
        )
    return timestamp


def require(condition: bool, rule: str, assigner: object) -> None:
    """Complain about settings that cannot work.

    :raises WindowConfigError: unless the condition holds.
    """
    if not condition:
        raise WindowConfigError(rule, where=type(assigner).__name__, got=repr(assigner))
