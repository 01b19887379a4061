"""Say which operator failed, on which record, when an exception comes out of a task.

Nothing is done per record for it: everything is read from the traceback of the exception. Every
operator that a record passes through has a frame there, whose `self` it is.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

from penstock.errors import FieldError, PenstockError, UserFunctionError
from penstock.graph.plan import PlanOperator
from penstock.runtime.exchange import ExchangeWriter
from penstock.runtime.operators.base import Operator
from penstock.runtime.outputs import Conversion
from penstock.runtime.watermarks import WatermarkSource

_NONE = object()


class _Finding(NamedTuple):
    """Where something was raised."""

    owner: Any = None  # what stands for an operator, the innermost one
    record: Any = _NONE
    method: str | None = None  # the user's method that was called, if it has a name


def describe(error: Exception) -> PenstockError:
    """Return the error that the user is told."""
    if isinstance(error, PenstockError) and error.where is not None:
        return error
    cause = error.__cause__
    if isinstance(cause, StopIteration) and _find(cause.__traceback__).owner is not None:
        error = cause  # Python makes a RuntimeError of it, raised by whoever asked for a record
    owner, record, method = _find(error.__traceback__)
    if isinstance(error, PenstockError):
        if isinstance(error, FieldError) and isinstance(owner, ExchangeWriter):
            error.where = f"key_by in front of {owner.plan.describe()}"
        elif owner is not None:
            # What an exchange refuses is what the operator in front of it has emitted.
            emitter = owner.sender if isinstance(owner, ExchangeWriter) else owner.plan
            error.where = (f"{method}() of " if method else "") + emitter.describe()
        return error
    if owner is None:
        return UserFunctionError.from_exception(error, operator="task")
    plan: PlanOperator = owner.plan
    extra = {} if record is _NONE else {"record": record}
    told = UserFunctionError.from_exception(
        error, operator=plan.name, site=plan.site, method=method, **extra
    )
    if isinstance(owner, ExchangeWriter):
        told.what = f"{owner.asks} in front of operator {plan.name!r} raised {told.cause}"
    return told


def _find(trace: TracebackType | None) -> _Finding:
    """Return the innermost operator of the traceback, its record and the method called."""
    found = _Finding()
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        owner = frame.f_locals.get("self")
        if isinstance(owner, (Operator, ExchangeWriter, WatermarkSource, Conversion)):
            before = found.record if owner is found.owner else _NONE
            found = _Finding(owner, frame.f_locals.get("value", before))
        elif found.owner is not None and found.method is None and _is_users(frame.f_globals):
            name = frame.f_code.co_name
            # A lambda has no name; it is not looked for further in, either.
            found = found._replace(method=name if name.isidentifier() else "")
    return found._replace(method=found.method or None)


def _is_users(scope: dict[str, Any]) -> bool:
    # A with statement of Penstock's own passes through contextlib.
    return str(scope.get("__name__", "")).partition(".")[0] not in ("penstock", "contextlib")
