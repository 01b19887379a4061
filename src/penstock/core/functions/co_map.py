"""Functions of two connected streams without access to time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.functions.runtime_context import RuntimeContext

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every record of either stream into one other."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT | None:
        """Return what a record of the first stream becomes; None means nothing."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT | None:
        """Return what a record of the second stream becomes; None means nothing."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Turn every record of either stream into any number of others."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Return (or yield) what a record of the first stream becomes."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Return (or yield) what a record of the second stream becomes."""


class _TwoFunctions(Function):
    """Base: one function for each stream, plain callables or function objects."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second

    def open(self, runtime_context: RuntimeContext) -> None:
        for function in (self.first, self.second):
            if isinstance(function, Function):
                function.open(runtime_context)

    def close(self) -> None:
        for function in (self.first, self.second):
            if isinstance(function, Function):
                function.close()


class TwoMaps(_TwoFunctions, CoMapFunction[Any, Any, Any]):
    """A map function for each stream."""

    def map1(self, value: Any) -> Any:
        return getattr(self.first, "map", self.first)(value)

    def map2(self, value: Any) -> Any:
        return getattr(self.second, "map", self.second)(value)


class TwoFlatMaps(_TwoFunctions, CoFlatMapFunction[Any, Any, Any]):
    """A flat-map function for each stream."""

    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        results: Iterable[Any] | None = getattr(self.first, "flat_map", self.first)(value)
        return results

    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        results: Iterable[Any] | None = getattr(self.second, "flat_map", self.second)(value)
        return results


RichCoMapFunction = CoMapFunction
RichCoFlatMapFunction = CoFlatMapFunction
