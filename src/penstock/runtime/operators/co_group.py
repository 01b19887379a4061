"""Window joins and co-groups: windows over the elements of two inputs.

The elements of both inputs stand in the same panes, each with the side that it came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.core.windowing import TaggedUnion
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import CoGroupSpec
from penstock.runtime.calls import method_of
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_aligned import AlignedWindowOperator
from penstock.runtime.operators.window_base import WindowCall, WindowOperatorBase
from penstock.runtime.operators.window_choice import window_operator_class
from penstock.runtime.operators.window_session import SessionWindowOperator
from penstock.runtime.operators.window_sliced import SlicedWindowOperator
from penstock.runtime.scope import Scope

_Sides = tuple[list[Any], list[Any]]


class _TwoSides(WindowOperatorBase):
    """What a co-group adds to a window operator; stands in front of it among its bases."""

    #: Whether elements are shown to an assigner, trigger or evictor.
    shown = False
    process_keyed = Operator.process_keyed  # one by one: each gets the side that it came from

    def process(self, value: Any) -> None:
        """Take one record of the first input."""
        super().process(TaggedUnion(0, value) if self.shown else (0, value))

    def process2(self, value: Any) -> None:
        """Take one record of the second input."""
        super().process(TaggedUnion(1, value) if self.shown else (1, value))

    def drop(self, value: Any) -> None:
        """Send a late record to its side output, or count it."""
        super().drop(value[1])

    def _window_call(self) -> WindowCall:
        pairs = self.spec.pairs
        if pairs == "co_group":
            co_group = method_of(self._function, "co_group")
            return lambda key, window, elements: co_group(*_sides(elements))
        join = method_of(self._function, "join")
        if pairs == "join":
            return lambda key, window, elements: _join(join, *_sides(elements))
        return lambda key, window, elements: _flat_join(join, *_sides(elements))


def _sides(elements: list[Any]) -> _Sides:
    sides: _Sides = ([], [])
    for side, value in elements:
        sides[side].append(value)
    return sides


def _join(join: Any, first: list[Any], second: list[Any]) -> Iterator[Any]:
    for left in first:
        for right in second:
            yield join(left, right)


def _flat_join(join: Any, first: list[Any], second: list[Any]) -> Iterator[Any]:
    for left in first:
        for right in second:
            yield from join(left, right) or ()


class CoGroupOperator(_TwoSides, WindowOperator):
    """Windows of any kind over two inputs."""

    shown = True


class AlignedCoGroupOperator(_TwoSides, AlignedWindowOperator):
    """Tumbling and sliding windows over two inputs."""


class SlicedCoGroupOperator(_TwoSides, SlicedWindowOperator):
    """Long sliding windows over two inputs."""


class SessionCoGroupOperator(_TwoSides, SessionWindowOperator):
    """Sessions over two inputs."""

    shown = True


_WITH_TWO_SIDES: dict[type[Operator], type[Operator]] = {
    WindowOperator: CoGroupOperator,
    AlignedWindowOperator: AlignedCoGroupOperator,
    SlicedWindowOperator: SlicedCoGroupOperator,
    SessionWindowOperator: SessionCoGroupOperator,
}


def make_co_group_operator(
    plan: PlanOperator, context: OperatorRuntimeContext, scope: Scope
) -> Operator:
    """Return the operator for a `CoGroupSpec`."""
    spec = plan.spec
    assert isinstance(spec, CoGroupSpec)
    return _WITH_TWO_SIDES[window_operator_class(spec, plan.layout)](plan, context, scope)
