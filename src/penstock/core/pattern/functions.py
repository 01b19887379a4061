"""Functions that are called with the matches of a pattern.

A match is a dict from the name of a stage to the list of its events, in the order of the pattern. A
stage without an event in the match is not in it. Events must not be changed: other matches hold the
same objects.

Functions with any number of results return or yield them. One written after Flink's Java may take a
collector as its last argument instead and call `out.collect(result)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.output_tag import OutputTag

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class EventComparator(ABC, Generic[IN]):
    """Order events of the same time; a plain function of two events will do as well."""

    @abstractmethod
    def compare(self, first: IN, second: IN) -> int:
        """Return a negative number, zero or a positive one."""


class PatternSelectFunction(Function, Generic[IN, OUT]):
    """Turn a match into one result."""

    @abstractmethod
    def select(self, pattern: dict[str, list[IN]]) -> OUT:
        """Return the result."""


class RichPatternSelectFunction(PatternSelectFunction[IN, OUT]):
    """A `PatternSelectFunction` under Flink's name for one with `open` and `close`."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT]):
    """Turn a match into any number of results."""

    @abstractmethod
    def flat_select(self, pattern: dict[str, list[IN]]) -> Iterable[OUT] | None:
        """Return or yield the results."""


class RichPatternFlatSelectFunction(PatternFlatSelectFunction[IN, OUT]):
    """A `PatternFlatSelectFunction` under Flink's name for one with `open` and `close`."""


class PatternTimeoutFunction(Function, Generic[IN, OUT]):
    """Turn a partial match whose time is up into one result."""

    @abstractmethod
    def timeout(self, pattern: dict[str, list[IN]], timeout_timestamp: int) -> OUT:
        """Return the result.

        :param timeout_timestamp: when the time was up, epoch milliseconds.
        """


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT]):
    """Turn a partial match whose time is up into any number of results."""

    @abstractmethod
    def timeout(self, pattern: dict[str, list[IN]], timeout_timestamp: int) -> Iterable[OUT] | None:
        """Return or yield the results.

        :param timeout_timestamp: when the time was up, epoch milliseconds.
        """


class PatternProcessFunction(Function, Generic[IN, OUT]):
    """Process matches, with access to time and to side outputs.

    >>> class Warn(PatternProcessFunction):
    ...     def process_match(self, match, ctx):
    ...         yield match["fail"][0], ctx.timestamp()
    """

    class Context(ABC):
        """What is known while a match is processed."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the time of the match: that of its last event, or when its time was up."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time; it stands still inside a batch."""

        @abstractmethod
        def output(self, output_tag: OutputTag[Any], value: Any) -> None:
            """Send a record to a side output."""

    @abstractmethod
    def process_match(self, match: dict[str, list[IN]], ctx: Context) -> Iterable[OUT] | None:
        """Process one match: return or yield any number of results.

        A result that is a pair `(OutputTag, value)` goes to that side output.
        """


class TimedOutPartialMatchHandler(ABC, Generic[IN]):
    """Beside `PatternProcessFunction`: be told of partial matches whose time is up.

    >>> class Payment(PatternProcessFunction, TimedOutPartialMatchHandler):
    ...     unpaid = OutputTag("unpaid")
    ...     def process_match(self, match, ctx):
    ...         yield match["order"][0]
    ...     def process_timed_out_match(self, match, ctx):
    ...         ctx.output(self.unpaid, match["order"][0])
    """

    @abstractmethod
    def process_timed_out_match(
        self, match: dict[str, list[IN]], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Process one partial match; `ctx.timestamp()` is when its time was up.

        What is to leave goes to a side output: by `ctx.output`, or yielded as `(OutputTag, value)`.
        """
