"""How elements of a window become one value as they come: reduce, aggregate, fold.

The value is an accumulator and is all that the state holds of the elements. None cannot be held
as state, so it is held as `NONE`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import ProgramError
from penstock.graph.specs import Aggregated, Folded, Reduced
from penstock.runtime.calls import method_of
from penstock.runtime.codec import copied, freeze, thaw

#: Stands for None, which is a legal accumulator but cannot be held as state.
NONE = ...


class Combiner:
    """Base: elements into an accumulator, accumulators into one, an accumulator into a result."""

    def first(self, value: Any) -> Any:
        """Return the accumulator of one element."""
        raise TypeError("abstract")

    def add(self, accumulator: Any, value: Any) -> Any:
        """Return the accumulator with one more element in it."""
        raise TypeError("abstract")

    def merge(self, accumulator: Any, other: Any) -> Any:
        """Return two accumulators as one; either may be changed by it."""
        raise TypeError("abstract")

    def result(self, accumulator: Any) -> Any:
        """Return what the accumulator says."""
        return accumulator

    def over(self, values: Iterable[Any]) -> list[Any]:
        """Return the result of elements that were all kept; none if there are none."""
        held: Any = None
        empty = True
        for value in values:
            held = self.first(value) if empty else self.add(held, value)
            empty = False
        return [] if empty else [self.result(held)]


class ReduceCombiner(Combiner):
    """The accumulator is an element itself."""

    def __init__(self, how: Reduced) -> None:
        self.add = self.merge = method_of(how.function, "reduce")  # type: ignore[method-assign]

    def first(self, value: Any) -> Any:
        # Of its own: an element may be the first of several windows, and a function may change it.
        return copied(value)


class AggregateCombiner(Combiner):
    """The accumulator is what an AggregateFunction makes."""

    def __init__(self, how: Aggregated) -> None:
        self.function = how.function
        self.merge = how.function.merge  # type: ignore[method-assign, assignment]
        self.result = how.function.get_result  # type: ignore[method-assign]

    def first(self, value: Any) -> Any:
        return self.function.add(value, self.function.create_accumulator())

    def add(self, accumulator: Any, value: Any) -> Any:
        return self.function.add(value, accumulator)

    def over(self, values: Iterable[Any]) -> list[Any]:
        # As in Flink: a window whose elements were all evicted gives the result of none.
        held = self.function.create_accumulator()
        for value in values:
            held = self.function.add(value, held)
        return [self.function.get_result(held)]


class FoldCombiner(Combiner):
    """The accumulator begins with a given value."""

    def __init__(self, how: Folded) -> None:
        self.add = method_of(how.function, "fold")  # type: ignore[method-assign]
        self._initial = freeze(how.initial)

    def first(self, value: Any) -> Any:
        return self.add(thaw(self._initial), value)

    def merge(self, accumulator: Any, other: Any) -> Any:
        raise ProgramError(
            "fold cannot merge windows",
            todo="use aggregate with a function that defines merge, or reduce",
        )


_COMBINERS: dict[type, type[Combiner]] = {
    Reduced: ReduceCombiner,
    Aggregated: AggregateCombiner,
    Folded: FoldCombiner,
}


def make_combiner(how: Any) -> Combiner | None:
    """Return the combiner that a spec asks for; None if all elements are to be kept."""
    return None if how is None else _COMBINERS[type(how)](how)  # type: ignore[call-arg]
