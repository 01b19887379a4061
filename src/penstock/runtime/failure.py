"""Say which operator failed, on which record, when an exception comes out of a task.

Nothing is done per record for it: everything is read from the traceback of the exception.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from penstock.errors import PenstockError, StateError, UserFunctionError
from penstock.runtime.operators.base import Operator

_NONE = object()


def describe(error: Exception, operators: Iterable[Operator]) -> PenstockError:
    """Return the error that the user is told."""
    if isinstance(error, PenstockError):
        return error
    operators = list(operators)
    operator, record, method = _find(error, {c: o for o in operators for c in _codes(o)})
    if operator is None:
        return UserFunctionError.from_exception(error, operator="task")
    if isinstance(error, TypeError) and "_NoKey" in str(error):
        return StateError(
            "keyed state was used while no record was being processed",
            where=operator.plan.describe(),
            todo="use state in process_element() and on_timer(), not in open() or close()",
        )
    extra = {} if record is _NONE else {"record": record}
    return UserFunctionError.from_exception(
        error, operator=operator.plan.name, site=operator.plan.site, method=method, **extra
    )


def _find(
    error: Exception, by_code: dict[CodeType, Operator]
) -> tuple[Operator | None, Any, str | None]:
    """Return the innermost operator of the traceback, its record and the method called."""
    operator, record, method = None, _NONE, None
    trace = error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        holder = frame.f_locals.get("self")
        if frame.f_code in by_code:
            operator = by_code[frame.f_code]
            record = _first_argument(frame)
            method = frame.f_code.co_name
        elif isinstance(holder, Operator):
            operator, method = holder, None
            record = frame.f_locals.get("value", _NONE)
    if method is not None and not method.isidentifier() or method and method.startswith("call_"):
        method = None  # a lambda, or a C function in its wrapper
    return operator, record, method


def _first_argument(frame: FrameType) -> Any:
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    names = names[1:] if names[:1] == ("self",) else names
    return frame.f_locals.get(names[0], _NONE) if names else _NONE


def _codes(operator: Operator) -> set[CodeType]:
    """Return the code of the user's functions: those are what its frames are recognised by."""
    codes = set()
    for function in operator.user_functions():
        if inspect.isfunction(function) or inspect.ismethod(function):
            codes.add(function.__code__)
            continue
        for base in type(function).__mro__:
            if base.__module__.split(".")[0] != "penstock":
                codes |= {m.__code__ for m in vars(base).values() if inspect.isfunction(m)}
    return codes
