"""Say which operator of a DataSet program failed, on which record."""

from __future__ import annotations

from types import FrameType
from typing import Any

from penstock.errors import PenstockError, TypeMismatchError, UserFunctionError, show_value
from penstock.runtime.dataset.stage import Stage

_NONE = object()
_OURS = ("penstock", "pyspark", "contextlib", "heapq")


def describe(error: Exception) -> PenstockError:
    """Return the error that the user is told."""
    if isinstance(error, PenstockError) and error.where is not None:
        return error
    stage, record, method = _find(error)
    if isinstance(error, PenstockError):
        if stage is not None:
            error.where = stage.place.describe()
        return error
    if stage is None:
        return UserFunctionError.from_exception(error, operator="task")
    if method is None and isinstance(error, TypeError) and "not iterable" in str(error):
        return TypeMismatchError(
            "the function returned a single value where an iterable is due",
            where=stage.place.describe(),
            got=f"{error}" + ("" if record is _NONE else f", for record {show_value(record)}"),
            todo="yield the value, or return a list of values",
        )
    if method is None and isinstance(error, TypeError) and "unhashable type" in str(error):
        return TypeMismatchError(
            "a key must be a value that never changes",
            where=stage.place.describe(),
            got=str(error),
            todo="make the key a number, a string or a tuple of such",
        )
    extra = {} if record is _NONE else {"record": record}
    return UserFunctionError.from_exception(
        error,
        operator=stage.place.name,
        site=stage.place.site,
        method=method if method and method.isidentifier() else None,
        **extra,
    )


def _find(error: Exception) -> tuple[Stage | None, Any, str | None]:
    """Return the innermost stage of the traceback, its record, and the user's method."""
    stage: Stage | None = None
    record: Any = _NONE
    method: str | None = None
    trace = error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        owner = frame.f_locals.get("self")
        if isinstance(owner, Stage):
            stage, method = owner, None
            record = frame.f_locals.get("value", _NONE)
        elif stage is not None and method is None and _is_users(frame):
            method = frame.f_code.co_name
            if record is _NONE:
                record = _arguments(frame)
    return stage, record, method


def _is_users(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _OURS


def _arguments(frame: FrameType) -> Any:
    code = frame.f_code
    names = [name for name in code.co_varnames[: code.co_argcount] if name != "self"]
    values = [frame.f_locals[name] for name in names if name in frame.f_locals]
    if not values:
        return _NONE
    return values[0] if len(values) == 1 else tuple(values)
