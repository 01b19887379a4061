"""Functions of two connected streams without access to time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from penstock.core.functions.base import Function

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


RichCoMapFunction = CoMapFunction
RichCoFlatMapFunction = CoFlatMapFunction
