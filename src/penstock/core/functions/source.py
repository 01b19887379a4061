"""Sources written as functions: a loop that hands over records until it is cancelled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from penstock.common.watermark import Watermark
from penstock.core.functions.base import Function

OUT = TypeVar("OUT")
T = TypeVar("T")


class SourceFunction(Function, Generic[OUT]):
    """Produce records in a loop of one's own. Runs in one subtask.

    >>> class Numbers(SourceFunction):
    ...     def __init__(self, end):
    ...         self.end = end
    ...         self.running = True
    ...     def run(self, ctx):
    ...         for number in range(self.end):
    ...             if not self.running:
    ...                 return
    ...             ctx.collect(number)
    ...     def cancel(self):
    ...         self.running = False
    """

    class SourceContext(ABC, Generic[T]):
        """Take what the source produces."""

        @abstractmethod
        def collect(self, element: T) -> None:
            """Send a record without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: T, timestamp: int) -> None:
            """Send a record with a timestamp in epoch milliseconds."""

        @abstractmethod
        def emit_watermark(self, mark: Watermark) -> None:
            """Send a watermark: no record with an older timestamp will follow."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Declare the source idle until its next record; it then holds nobody back."""

        @abstractmethod
        def get_checkpoint_lock(self) -> AbstractContextManager[object]:
            """Return the lock under which records and attributes change together.

            Hold it (`with ctx.get_checkpoint_lock():`) around sending a record and noting that it
            was sent, and no checkpoint can come between the two.
            """

        @abstractmethod
        def close(self) -> None:
            """End the output."""

    @abstractmethod
    def run(self, ctx: SourceContext[OUT]) -> None:
        """Produce records until there are no more or `cancel` has been called."""

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon. Called from another thread."""


class ParallelSourceFunction(SourceFunction[OUT]):
    """A source that may run in several subtasks; each runs its own loop."""


RichSourceFunction = SourceFunction
RichParallelSourceFunction = ParallelSourceFunction
