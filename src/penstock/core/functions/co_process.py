"""Process functions of two connected streams; see `process` for what their methods return."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.functions.context import ElementContext, KeyedElementContext, TimerContext

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
KEY = TypeVar("KEY")


class CoProcessFunction(Function, Generic[IN1, IN2]):
    """Process the records of two connected streams in one place."""

    class Context(ElementContext):
        """What is known while a record is processed."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Iterable[Any] | None:
        """Process a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Iterable[Any] | None:
        """Process a record of the second stream."""


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2]):
    """Process two connected keyed streams: records of one key share its state and timers."""

    class Context(KeyedElementContext):
        """What is known while a record is processed."""

    class OnTimerContext(TimerContext):
        """What is known while a timer fires."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Context) -> Iterable[Any] | None:
        """Process a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Context) -> Iterable[Any] | None:
        """Process a record of the second stream."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """React to a timer of the current key that has fired."""
        return None
