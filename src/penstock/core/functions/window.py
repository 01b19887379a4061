"""Functions that are called with the content of a window when it fires."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.functions.context import SideOutputContext
from penstock.core.state.stores import KeyedStateStore

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turn the content of a keyed window into any number of records."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Return (or yield) what the window becomes."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turn the content of a window over the whole stream into any number of records."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Return (or yield) what the window becomes."""


class _WindowContext(SideOutputContext, Generic[W2]):
    """What is known while a window is processed."""

    @abstractmethod
    def window(self) -> W2:
        """Return the window."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the processing time in epoch milliseconds."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the operator's watermark."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """Return the state of this key and window; clear it in `clear`."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """Return the state of this key that all its windows share."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turn the content of a keyed window into records, with access to time and state.

    >>> class Count(ProcessWindowFunction):
    ...     def process(self, key, context, elements):
    ...         yield key, context.window().end, len(list(elements))
    """

    class Context(_WindowContext[W2]):
        """What is known while the window is processed."""

    @abstractmethod
    def process(self, key: KEY, context: Context[W], elements: Iterable[IN]) -> Iterable[Any]:
        """Return (or yield) what the window becomes; `(OutputTag, value)` to a side output."""

    def clear(self, context: Context[W]) -> None:
        """Remove what was kept in `context.window_state()`. Called when the window is purged."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turn the content of a window over the whole stream into records."""

    class Context(_WindowContext[W2]):
        """What is known while the window is processed."""

    @abstractmethod
    def process(self, context: Context[W], elements: Iterable[IN]) -> Iterable[Any]:
        """Return (or yield) what the window becomes; `(OutputTag, value)` to a side output."""

    def clear(self, context: Context[W]) -> None:
        """Remove what was kept in `context.window_state()`. Called when the window is purged."""


RichWindowFunction = WindowFunction
RichAllWindowFunction = AllWindowFunction
