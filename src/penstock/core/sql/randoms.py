"""Random numbers. A generator with a seed belongs to one place in a query and goes on there."""

from __future__ import annotations

import random
import uuid as identifiers
from collections.abc import Callable

rand = random.random


def uuid() -> str:
    """Return a random identifier."""
    return str(identifiers.uuid4())


def rand_integer(bound: int) -> int:
    """Return a random whole number from 0 up to the bound."""
    return random.randrange(bound)


class JavaRandom:
    """The generator of `java.util.Random`, so that a seed gives Flink's numbers."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def _next(self, bits: int) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self._state >> (48 - bits)

    def next_double(self) -> float:
        """Return a number from 0 up to 1."""
        return ((self._next(26) << 27) + self._next(27)) / (1 << 53)

    def next_int(self, bound: int) -> int:
        """Return a whole number from 0 up to the bound."""
        if bound & (bound - 1) == 0:
            return (bound * self._next(31)) >> 31
        while True:
            bits = self._next(31)
            value = bits % bound
            if bits - value + (bound - 1) < 1 << 31:
                return value


def seeded(seed: int) -> Callable[[], float]:
    """Return a generator of numbers from 0 up to 1."""
    return JavaRandom(seed).next_double


def seeded_integer(seed: int) -> Callable[[int], int]:
    """Return a generator of whole numbers below a bound."""
    return JavaRandom(seed).next_int
