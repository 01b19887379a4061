"""Which window operator does what a spec asks for: the quickest that can.

Each has a layout of its own. State that was written in one is kept in it, or in the layout of the
operator for all windows, which all others can be converted to: see `windowing.layouts`.
"""

from __future__ import annotations

from typing import Any

from penstock.core.functions import Function, ProcessWindowFunction
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
from penstock.graph.specs import Aggregated, CoGroupSpec, Folded, WindowSpec
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_aligned import AlignedWindowOperator, TumblingCombineOperator
from penstock.runtime.operators.window_session import SessionWindowOperator
from penstock.runtime.operators.window_sliced import SlicedWindowOperator
from penstock.runtime.scope import Scope
from penstock.runtime.state.layout import Layout
from penstock.runtime.windowing.layouts import ALIGNED, PANES, SESSIONS, SLICES

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
_SLIDING = (SlidingEventTimeWindows, SlidingProcessingTimeWindows)


def make_window_operator(
    plan: PlanOperator, context: OperatorRuntimeContext, scope: Scope
) -> Operator:
    """Return the operator for a `WindowSpec`."""
    spec = plan.spec
    assert isinstance(spec, WindowSpec)
    return window_operator_class(spec, plan.layout)(plan, context, scope)


def window_operator_class(spec: WindowSpec, layout: str | None = None) -> type[Operator]:
    """Return the class of the operator for a spec.

    :param layout: tag of the layout that state is there in already.
    """
    if layout is not None and Layout.parse(layout).kind == PANES:
        return WindowOperator
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


def window_layout(spec: WindowSpec) -> Layout:
    """Return the layout that suits a spec best."""
    assigner: Any = spec.assigner
    settings = {
        "contents": _contents(spec),
        "time": "event" if assigner.is_event_time() else "processing",
    }
    kind = _KINDS[window_operator_class(spec)]
    if kind in (ALIGNED, SLICES):
        slide = getattr(assigner, "slide", assigner.size)
        settings |= {
            "size": str(assigner.size),
            "slide": str(slide),
            "offset": str(assigner.offset),
        }
    return Layout(kind, settings)


def _contents(spec: WindowSpec) -> str:
    if isinstance(spec, CoGroupSpec):
        return "two-sides" if spec.evictor is None else "timed-two-sides"
    if spec.evictor is not None:
        return "timed-elements"
    return "elements" if spec.combine is None else "accumulator"


_KINDS: dict[type[Operator], str] = {
    WindowOperator: PANES,
    AlignedWindowOperator: ALIGNED,
    TumblingCombineOperator: ALIGNED,
    SlicedWindowOperator: SLICES,
    SessionWindowOperator: SESSIONS,
}


def _can_be_sliced(spec: WindowSpec) -> bool:
    assigner: Any = spec.assigner
    if assigner.size < SLICED_FROM * assigner.slide or isinstance(spec.combine, Folded):
        return False
    if isinstance(spec.combine, Aggregated) and not spec.combine.function.mergeable:
        return False
    return not _forgets(spec.function)


def _is_rich(function: Any) -> bool:
    """Tell whether a function may use the state of the current key."""
    return isinstance(function, Function) and type(function).open is not Function.open


def _forgets(function: Any) -> bool:
    """Tell whether a window function wants to be told about each window that goes."""
    own = getattr(type(function), "clear", None)
    return own is not None and own not in (ProcessWindowFunction.clear, AllFunction.clear)
