"""Whether a program can go on from what an earlier one left: operator by operator, by uid."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace

from penstock.common.options import IGNORE_UNCLAIMED
from penstock.errors import StateError
from penstock.graph.chaining import partitioner_name
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import WindowSpec
from penstock.runtime.operators.window_choice import window_layout
from penstock.runtime.savepoint.format import OperatorInfo, info_of
from penstock.runtime.state.layout import Layout
from penstock.runtime.windowing.layouts import PANES, WINDOW_LAYOUTS


def describe_program(plan: ExecutionPlan) -> tuple[OperatorInfo, ...]:
    """Return what must be known of the operators of a plan to go on from their state."""
    return tuple(
        OperatorInfo(
            uid=op.uid,
            name=op.name,
            parallelism=op.parallelism,
            max_parallelism=op.max_parallelism,
            layout=layout_of(op),
            level=op.level,
            inputs=tuple(f"{edge.name} {partitioner_name(edge.partitioner)}" for edge in op.inputs),
        )
        for op in plan.operators
    )


def layout_of(op: PlanOperator) -> str:
    """Return the tag of the layout of an operator's state."""
    if op.layout is not None:
        return op.layout
    if isinstance(op.spec, WindowSpec):
        return str(window_layout(op.spec))
    return op.spec.state_layout


def dump_program(infos: Sequence[OperatorInfo]) -> bytes:
    """Return a program's description as JSON."""
    return json.dumps([asdict(info) for info in infos], indent=1).encode()


def load_program(data: bytes) -> tuple[OperatorInfo, ...]:
    """Undo `dump_program`."""
    return tuple(info_of(entry) for entry in json.loads(data))


def is_same(before: Sequence[OperatorInfo], now: Sequence[OperatorInfo]) -> bool:
    """Tell whether each task can go on from its own state as it is. Names do not matter."""
    return {_placed(info) for info in before} == {_placed(info) for info in now}


def require_same(before: Sequence[OperatorInfo], now: Sequence[OperatorInfo], where: str) -> None:
    """Refuse a program whose tasks cannot go on from their state as it is.

    :raises StateError: if one of them cannot.
    """
    if is_same(before, now):
        return
    after = {info.uid: info for info in now}
    known = {info.uid: info for info in before}
    changes = [
        *(f"{info.name!r} ({uid}) is gone" for uid, info in known.items() if uid not in after),
        *(f"{info.name!r} ({uid}) is new" for uid, info in after.items() if uid not in known),
        *(_change(known[uid], info) for uid, info in after.items() if uid in known),
    ]
    raise StateError(
        "the state that is there belongs to another program",
        where=where,
        got="; ".join(change for change in changes if change),
        todo="run the program that it had, or start anew with another job name or checkpoint "
        "directory",
    )


def _change(before: OperatorInfo, now: OperatorInfo) -> str:
    changed = [
        f"{name.replace('_', ' ')} {getattr(before, name)} is now {getattr(now, name)}"
        for name in ("parallelism", "max_parallelism", "layout", "level", "inputs")
        if getattr(before, name) != getattr(now, name)
    ]
    return f"{now.name!r} ({now.uid}): {', '.join(changed)}" if changed else ""


def _placed(info: OperatorInfo) -> OperatorInfo:
    return replace(info, name="")


def follow(plan: ExecutionPlan, before: Sequence[OperatorInfo]) -> ExecutionPlan:
    """Return the plan with what an earlier run of the program has settled, where that fits."""
    known = {info.uid: info for info in before}
    operators = []
    for op in plan.operators:
        info = known.get(op.uid)
        if info is not None:
            if not op.own_max_parallelism and op.parallelism <= info.max_parallelism:
                op = replace(op, max_parallelism=info.max_parallelism)
            layout = _fitting(Layout.parse(info.layout), Layout.parse(layout_of(op)))
            op = replace(op, layout=None if layout == layout_of(op) else layout)
        operators.append(op)
    return replace(plan, operators=tuple(operators))


def adapt(
    plan: ExecutionPlan,
    before: Sequence[OperatorInfo],
    *,
    where: str,
    keyed: Collection[str],
    stateful: Collection[str],
    ignore_unclaimed: bool = False,
) -> ExecutionPlan:
    """Return the plan as it can go on from the state that other operators left.

    An operator whose maximum parallelism the user has not set gets that of before; one whose
    layout has more than one form keeps the form that there is.

    :param where: what holds the state, for errors.
    :param keyed: uids of operators that left keyed state or timers.
    :param stateful: uids of operators that left anything.
    :param ignore_unclaimed: drop the state of operators that are not in the plan.
    :raises StateError: if something does not fit.
    """
    known = {op.uid for op in plan.operators}
    unclaimed = [info for info in before if info.uid not in known and info.uid in stateful]
    if unclaimed and not ignore_unclaimed:
        raise _unclaimed(unclaimed, where, plan, before)
    by_uid = {info.uid: info for info in before if info.uid in stateful}
    operators = tuple(
        _adapted(op, by_uid[op.uid], op.uid in keyed, where) if op.uid in by_uid else op
        for op in plan.operators
    )
    return replace(plan, operators=operators)


def _adapted(op: PlanOperator, before: OperatorInfo, has_keys: bool, where: str) -> PlanOperator:
    if has_keys:
        op = _with_max_parallelism(op, before, where)
    layout = _fitting(Layout.parse(before.layout), Layout.parse(layout_of(op)))
    if layout is None:
        raise StateError(
            "the state of an operator is laid out in another way than the operator needs",
            where=f"{op.describe()}, uid {op.uid!r}",
            got=f"{before.layout} in {where}; the operator needs {layout_of(op)}",
            todo="go on with an operator of the kind that wrote the state, or give this one "
            f"another uid and set {IGNORE_UNCLAIMED.key} to drop the state",
        )
    return replace(op, layout=None if layout == layout_of(op) else layout)


def _with_max_parallelism(op: PlanOperator, before: OperatorInfo, where: str) -> PlanOperator:
    if op.max_parallelism == before.max_parallelism:
        return op
    if op.own_max_parallelism or op.parallelism > before.max_parallelism:
        raise StateError(
            "the key groups of an operator cannot be changed while it has state",
            where=f"{op.describe()}, uid {op.uid!r}",
            got=f"parallelism {op.parallelism}, maximum parallelism {op.max_parallelism}; "
            f"maximum parallelism {before.max_parallelism} in {where}",
            todo=f"set its maximum parallelism to {before.max_parallelism}, and its parallelism "
            "to no more than that",
        )
    return replace(op, max_parallelism=before.max_parallelism)


def _fitting(before: Layout, now: Layout) -> str | None:
    """Return the layout to go on with; None if there is none."""
    if before == now:
        return str(now)
    if before.kind in WINDOW_LAYOUTS and now.kind in WINDOW_LAYOUTS:
        shared = {name: now.settings[name] for name in ("contents", "time")}
        if all(before.settings[name] == value for name, value in shared.items()):
            return str(Layout(PANES, shared))
    return None


def _unclaimed(
    unclaimed: list[OperatorInfo], where: str, plan: ExecutionPlan, before: Sequence[OperatorInfo]
) -> StateError:
    known = {info.uid for info in before}
    new = [f"{op.name!r} ({op.uid})" for op in plan.operators if op.uid not in known]
    listed = ", ".join(f"{info.name!r} ({info.uid})" for info in unclaimed)
    added = f"; new in the program: {', '.join(new)}" if new else ""
    return StateError(
        "the program has no operator for state that is there",
        where=where,
        got=f"state of {listed}{added}",
        todo="give the operator that the state belongs to that uid, with .uid('...'), or set "
        f"{IGNORE_UNCLAIMED.key}: true to drop the state",
    )
