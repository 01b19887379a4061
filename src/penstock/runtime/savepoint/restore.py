"""Give a new task its share of a savepoint, whatever the parallelism and the program were."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.core.key_groups import groups_of_slot
from penstock.core.time import MIN_WATERMARK
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.operators.base import Operator
from penstock.runtime.savepoint.evolution import evolve
from penstock.runtime.savepoint.format import Changes, PlainState, Savepoint
from penstock.runtime.savepoint.plain import (
    Deal,
    gate_snapshot,
    operator_snapshot,
    writer_snapshot,
)
from penstock.runtime.savepoint.program import layout_of
from penstock.runtime.state.keyed_backend import TIMER_KINDS
from penstock.runtime.state.layout import Layout
from penstock.runtime.state.operator_state import (
    WHOLE,
    OperatorBroadcastTable,
    OperatorListTable,
    redistribute,
)
from penstock.runtime.task import WRITERS, Task
from penstock.runtime.windowing.combine import make_combiner
from penstock.runtime.windowing.convert import WindowConversion

#: Setting of a job that goes on from a savepoint: its folder.
RESTORE_SETTING = "penstock.restore"

_opened: OrderedDict[str, Savepoint] = OrderedDict()
_KEPT = 4


def savepoint_of(plan: ExecutionPlan) -> Savepoint | None:
    """Return the savepoint that a job goes on from; None if it began empty."""
    path = plan.settings.get(RESTORE_SETTING)
    if not path:
        return None
    savepoint = _opened.get(path)
    if savepoint is None:
        savepoint = _opened[path] = Savepoint.open(path)
        while len(_opened) > _KEPT:
            _opened.popitem(last=False)
    return savepoint


def restore_task(task: Task, savepoint: Savepoint) -> None:
    """Bring a new task into the state that is its share of a savepoint."""
    known = {info.uid: info for info in savepoint.manifest.operators}
    writers: dict[str, Any] = {}
    for operator in task.operators:
        before = known.get(operator.plan.uid)
        if before is None:
            continue
        deal = Deal(operator.plan, task.subtask, before, savepoint.plain(before.uid))
        for changes in _entries(operator, deal, savepoint):
            task.apply({operator.plan.uid: changes})
        if not deal.left:
            continue
        gate = gate_snapshot(deal, task.channels_of(operator.plan))
        state = (operator_snapshot(deal), gate)
        task.apply({(operator.plan.uid,): pickle.dumps(state)})
        writers |= _writers(task, deal, savepoint)
    task.apply({(WRITERS,): pickle.dumps((writers, (None, {})))})
    task.resume()


def _writers(task: Task, deal: Deal, savepoint: Savepoint) -> dict[str, Any]:
    before = {info.uid: info for info in savepoint.manifest.operators}
    writers = {}
    for edge, target in task.edges_from(deal.operator):
        earlier = before.get(target.uid)
        same = earlier is not None and earlier.parallelism == target.parallelism
        writers[edge.name] = writer_snapshot(deal, edge.name, same)
    return {name: saved for name, saved in writers.items() if saved is not None}


def _entries(operator: Operator, deal: Deal, savepoint: Savepoint) -> Iterator[Changes]:
    """Return what is written entry by entry, as deltas."""
    plan = operator.plan
    if operator.backend is not None:
        conversion = _conversion(operator, deal, savepoint)
        groups = groups_of_slot(operator.subtask, plan.parallelism, plan.max_parallelism)
        timers: Changes = {}
        for changes in savepoint.keyed(plan.uid, groups):
            changes = evolve(changes, plan.describe())
            if conversion is not None:
                changes = conversion.convert(changes)
            _gather_timers(timers, changes)
            yield changes
        if timers:
            yield {place: (kind, _renumbered(parts)) for place, (kind, parts) in timers.items()}
    if own := _operator_state(deal, savepoint):
        yield evolve(own, plan.describe())


def _conversion(operator: Operator, deal: Deal, savepoint: Savepoint) -> WindowConversion | None:
    """Return how to turn the state into the operator's layout; None if it is in it."""
    tag = deal.before.layout
    if tag == layout_of(operator.plan):
        return None
    spec = operator.spec
    now = time_passed(tag, deal.left, savepoint)
    return WindowConversion(tag, make_combiner(spec.combine), spec.allowed_lateness, now)


def time_passed(tag: str, left: Mapping[int, PlainState], savepoint: Savepoint) -> int:
    """Return the time up to which windows had fired: a watermark, or a processing time.

    :param tag: of the layout of the windows.
    :param left: what the subtasks of their operator left.
    """
    if Layout.parse(tag).settings["time"] == "event":
        gates = [state.gate for state in left.values() if state.gate is not None]
        return min((gate[4] for gate in gates), default=MIN_WATERMARK)
    return int(savepoint.manifest.offset["time"]) - 1


def _gather_timers(timers: Changes, changes: Changes) -> None:
    """Take the timers out of a key group."""
    for place in [place for place, (kind, _) in changes.items() if kind in TIMER_KINDS]:
        kind, (_, owned, serials, _) = changes.pop(place)
        timers.setdefault(place, (kind, []))[1].extend(zip(serials, owned, strict=True))


def _renumbered(numbered: list[tuple[int, Any]]) -> Any:
    """Return timers of several queues as one delta: numbers of different queues may be equal."""
    numbered.sort(key=lambda each: each[0])
    return [], [timer for _, timer in numbered], list(range(len(numbered))), len(numbered)


def _operator_state(deal: Deal, savepoint: Savepoint) -> Changes:
    plan, left = deal.operator, savepoint.operator_state(deal.operator.uid)
    kinds = {place: kind for changes in left.values() for place, (kind, _) in changes.items()}
    own: Changes = {}
    for place, kind in kinds.items():
        states = [_content(left.get(i), place) for i in range(deal.before.parallelism)]
        if kind == OperatorListTable.kind and not deal.rescaled:
            share = states[deal.subtask] or []
        else:
            held = [state for state in states if state is not None]
            share = redistribute(kind, held, plan.parallelism)[deal.subtask]
        if share or kind == OperatorBroadcastTable.kind:
            own[place] = (kind, ([(WHOLE, share)], [], []))
    return own


def _content(changes: Changes | None, place: str) -> Any:
    """Return the list or map that a subtask left; None for nothing."""
    if changes is None or place not in changes:
        return None
    puts = changes[place][1][0]
    return puts[0][1] if puts else None
