"""The runtime context of functions that read and write savepoints."""

from __future__ import annotations

from penstock.graph.plan import PlanOperator
from penstock.graph.specs import OperatorSpec
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.scope import Scope
from penstock.runtime.state.keyed_backend import KEY_TIMERS, KeyedBackend


def make_context(
    uid: str, max_parallelism: int, *, keyed: bool
) -> tuple[OperatorRuntimeContext, KeyedBackend]:
    """Return a context of one subtask, and the backend that its keyed state comes from."""
    plan = PlanOperator(
        id=0,
        uid=uid,
        name=uid,
        spec=OperatorSpec(),
        parallelism=1,
        max_parallelism=max_parallelism,
        level=1,
        site=None,
        inputs=(),
        outputs=(),
    )
    backend = KeyedBackend(plan.describe())
    backend.timer_kind = KEY_TIMERS
    context = OperatorRuntimeContext(
        plan, 0, backend if keyed else None, Scope(), {}, batch_mode=False
    )
    return context, backend
