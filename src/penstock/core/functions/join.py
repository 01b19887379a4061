"""Functions of joins: window joins, co-group and interval joins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.functions.context import SideOutputContext

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of a window join into one record."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return what the pair becomes."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of a window join into any number of records."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Return (or yield) what the pair becomes."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn the records of both streams that share key and window into any number of others."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Return (or yield) what they become. One of the two sides may be empty."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every pair of an interval join into any number of records."""

    class Context(SideOutputContext):
        """What is known of a pair."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the timestamp of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Return the timestamp of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the timestamp of the pair: the later one of the two."""

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: Context) -> Iterable[Any] | None:
        """Return (or yield) what the pair becomes; `(OutputTag, value)` goes to a side output."""


RichJoinFunction = JoinFunction
RichFlatJoinFunction = FlatJoinFunction
RichCoGroupFunction = CoGroupFunction
