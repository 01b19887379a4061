"""Say which operator failed, on which record, when an exception comes out of a task.

Nothing is done per record for it: everything is read from the traceback of the exception. Every
operator that a record passes through has a frame there, whose `self` it is.
"""

from __future__ import annotations

from types import FrameType, TracebackType
from typing import Any, NamedTuple

from penstock.errors import (
    EvaluationError,
    FieldError,
    PenstockError,
    UserFunctionError,
    show_value,
)
from penstock.graph.plan import PlanOperator
from penstock.graph.relational.codegen.program import GENERATED, failing_row
from penstock.runtime.exchange import ExchangeWriter
from penstock.runtime.operators.base import Operator
from penstock.runtime.outputs import Conversion
from penstock.runtime.this_process import worker_name
from penstock.runtime.watermarks import WatermarkSource

_NONE = object()
#: Parts of the library of SQL values that call functions of the user.
CALLERS_OF_USERS = ("penstock.core.sql.vectors", "penstock.core.sql.coroutines")


class _Finding(NamedTuple):
    """Where something was raised."""

    owner: Any = None  # what stands for an operator, the innermost one
    record: Any = _NONE
    method: str | None = None  # the user's method that was called, if it has a name
    generated: bool = False  # in code of a query
    users: bool = False  # in code of the user's


def describe(error: BaseException) -> PenstockError:
    """Return the error that the user is told."""
    told = _told(error)
    if not told.worker:
        told.worker = worker_name()
        owner = _find(error.__traceback__).owner
        if owner is not None:
            told.uid = (owner.sender if isinstance(owner, ExchangeWriter) else owner.plan).uid
            told.subtask = getattr(owner, "subtask", -1)
    return told


def _told(error: BaseException) -> PenstockError:
    if isinstance(error, PenstockError) and error.where is not None:
        return error
    cause = error.__cause__
    if isinstance(cause, StopIteration) and _find(cause.__traceback__).owner is not None:
        error = cause  # Python makes a RuntimeError of it, raised by whoever asked for a record
    found = _find(error.__traceback__)
    owner, record, method = found.owner, found.record, found.method
    if found.generated and not found.users and not isinstance(error, PenstockError):
        error = EvaluationError(
            f"an expression of the query failed: {type(error).__name__}: {error}",
            todo="leave out or correct such rows before",
        )
    if isinstance(error, EvaluationError) and error.got is None and record is not _NONE:
        error.got = f"row {show_value(record)}"
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


def describe_exit(error: BaseException) -> PenstockError:
    """Return the error for what would end the process: a SystemExit, a KeyboardInterrupt."""
    told = describe(error)
    told.todo = "raise an exception in its place: the process is not the function's to end"
    return told


def operator_at(frame: FrameType | None) -> str | None:
    """Return the operator that is running at a frame, None if none is."""
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, (Operator, ExchangeWriter, WatermarkSource, Conversion)):
            return owner.plan.describe()
        frame = frame.f_back
    return None


def running_at(frame: FrameType | None) -> tuple[str, str] | None:
    """Return whose code runs at a frame: the job's id and the subtask, `Map (1/2)`.

    None if it is no operator's.
    """
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Operator):
            plan, job = owner.plan, owner.context.get_job_id()
            return job, f"{plan.name} ({owner.subtask + 1}/{plan.parallelism})"
        frame = frame.f_back
    return None


def _find(trace: TracebackType | None) -> _Finding:
    """Return the innermost operator of the traceback, its record and the method called."""
    found = _Finding()
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        owner = frame.f_locals.get("self")
        if isinstance(owner, (Operator, ExchangeWriter, WatermarkSource, Conversion)):
            before = found.record if owner is found.owner else _NONE
            found = _Finding(owner, frame.f_locals.get("value", before))
        elif frame.f_code.co_filename.startswith(GENERATED):
            if frame.f_locals.keys() & {"row", "rows"}:
                found = found._replace(record=failing_row(frame.f_locals), generated=True)
        elif found.generated and _is_library(frame.f_globals):
            break  # whatever it calls, Python's own modules too, is not the user's
        elif found.owner is not None and found.method is None and _is_users(frame.f_globals):
            name = frame.f_code.co_name
            # A lambda has no name; it is not looked for further in, either.
            found = found._replace(method=name if name.isidentifier() else "", users=True)
    return found._replace(method=found.method or None)


def _is_users(scope: dict[str, Any]) -> bool:
    # A with statement of Penstock's own passes through contextlib.
    return str(scope.get("__name__", "")).partition(".")[0] not in ("penstock", "contextlib")


def _is_library(scope: dict[str, Any]) -> bool:
    """Return whether this is a built-in function of SQL that calls none of the user's."""
    name = str(scope.get("__name__", ""))
    return name.startswith("penstock.core.sql.") and name not in CALLERS_OF_USERS
