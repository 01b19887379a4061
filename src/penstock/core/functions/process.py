"""Process functions of one stream: records, time, and on keyed streams timers and state.

The methods return or yield any number of results. A result that is a pair `(OutputTag, value)`
goes to that side output, every other one to the main output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.functions.context import ElementContext, KeyedElementContext, TimerContext

IN = TypeVar("IN")
KEY = TypeVar("KEY")


class ProcessFunction(Function, Generic[IN]):
    """Process the records of a stream one by one, with access to their time.

    >>> class OnlyLong(ProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         if len(value) > 3:
    ...             yield value
    """

    class Context(ElementContext):
        """What is known while a record is processed."""

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Iterable[Any] | None:
        """Process one record."""


class KeyedProcessFunction(Function, Generic[KEY, IN]):
    """Process the records of a keyed stream one by one, with state and timers for their key.

    >>> class Silence(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)
    ...     def on_timer(self, timestamp, ctx):
    ...         yield ctx.get_current_key(), timestamp
    """

    class Context(KeyedElementContext):
        """What is known while a record is processed."""

    class OnTimerContext(TimerContext):
        """What is known while a timer fires."""

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> Iterable[Any] | None:
        """Process one record."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        """React to a timer of the current key that has fired."""
        return None
