"""How to call what the user passed, such that a failure can be traced to its operator."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any


def method_of(function: Any, name: str) -> Callable[..., Any]:
    """Return how to call what the user passed: a function object's method, or the callable."""
    method = getattr(function, name, None)
    return method if callable(method) else function


def python_call(function: Any, name: str) -> Callable[[Any], Any]:
    """Return a call that leaves a Python frame behind when it fails.

    A failure is traced to its operator by the frames of its traceback. A function written in
    Python has one; a C function (`int`, `str.upper`) is given one.
    """
    call = method_of(function, name)
    if isinstance(call, (types.FunctionType, types.MethodType)):
        return call

    def call_user_function(value: Any) -> Any:
        return call(value)

    # A code object of its own: that is what the failing operator is recognised by.
    code = call_user_function.__code__.replace(co_name=f"call_{id(call)}")
    return types.FunctionType(code, {}, "call_user_function", None, call_user_function.__closure__)


def code_of(call: Any) -> types.CodeType | None:
    """Return the code object of a call, None for what is not written in Python."""
    return getattr(getattr(call, "__func__", call), "__code__", None)
