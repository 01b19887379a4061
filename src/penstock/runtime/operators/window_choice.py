"""Which window operator does what a spec asks for: the quickest that can."""

from __future__ import annotations

import dis
from typing import Any

from penstock.core.functions import AggregateFunction, Function, ProcessWindowFunction
from penstock.core.functions import ProcessAllWindowFunction as AllFunction
from penstock.core.windowing import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import Aggregated, Folded, WindowSpec
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_aligned import AlignedWindowOperator, TumblingCombineOperator
from penstock.runtime.operators.window_session import SessionWindowOperator
from penstock.runtime.operators.window_sliced import SlicedWindowOperator
from penstock.runtime.scope import Scope

#: Windows share slices from this many windows an element on. Below it an accumulator a window is
#: less work, and follows the order of arrival to the letter.
SLICED_FROM = 8

#: The trigger that fires at a window's end, by assigner.
_DEFAULT_TRIGGERS: dict[type, type] = {
    TumblingEventTimeWindows: EventTimeTrigger,
    SlidingEventTimeWindows: EventTimeTrigger,
    TumblingProcessingTimeWindows: ProcessingTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
    EventTimeSessionWindows: EventTimeTrigger,
    DynamicEventTimeSessionWindows: EventTimeTrigger,
    ProcessingTimeSessionWindows: ProcessingTimeTrigger,
    DynamicProcessingTimeSessionWindows: ProcessingTimeTrigger,
}
#: Instructions that read a variable.
_LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")
_SLIDING = (SlidingEventTimeWindows, SlidingProcessingTimeWindows)


def make_window_operator(
    plan: PlanOperator, context: OperatorRuntimeContext, scope: Scope
) -> Operator:
    """Return the operator for a `WindowSpec`."""
    spec = plan.spec
    assert isinstance(spec, WindowSpec)
    return window_operator_class(spec)(plan, context, scope)


def window_operator_class(spec: WindowSpec) -> type[Operator]:
    """Return the class of the operator for a spec."""
    trigger = _DEFAULT_TRIGGERS.get(type(spec.assigner))
    if trigger is None or type(spec.trigger) is not trigger or spec.evictor is not None:
        return WindowOperator
    if isinstance(spec.assigner, MergingWindowAssigner):
        return SessionWindowOperator
    if isinstance(spec.assigner, _SLIDING):
        return SlicedWindowOperator if _can_be_sliced(spec) else AlignedWindowOperator
    if spec.combine is None or _is_rich(spec.combine.function):
        return AlignedWindowOperator
    return TumblingCombineOperator


def _can_be_sliced(spec: WindowSpec) -> bool:
    if spec.assigner.size < SLICED_FROM * spec.assigner.slide or isinstance(spec.combine, Folded):
        return False
    if isinstance(spec.combine, Aggregated) and not _merges(spec.combine.function):
        return False
    return not _forgets(spec.function)


def _is_rich(function: Any) -> bool:
    """Tell whether a function may use the state of the current key."""
    return isinstance(function, Function) and type(function).open is not Function.open


def _forgets(function: Any) -> bool:
    """Tell whether a window function wants to be told about each window that goes."""
    own = getattr(type(function), "clear", None)
    return own is not None and own not in (ProcessWindowFunction.clear, AllFunction.clear)


def _merges(function: Any) -> bool:
    """Tell whether an AggregateFunction really merges.

    Flink never merges the accumulators of sliding windows, so programs exist whose `merge` is only
    there to satisfy the interface: it returns nothing, or raises.
    """
    merge = type(function).merge
    if merge is AggregateFunction.merge:
        return False
    code = getattr(merge, "__code__", None)
    if code is None:
        return True
    loads = [each.argval for each in dis.get_instructions(code) if each.opname.startswith(_LOADS)]
    names = {name for load in loads for name in (load if isinstance(load, tuple) else (load,))}
    # One that merges looks at both accumulators.
    return set(code.co_varnames[1 : code.co_argcount]) <= names
