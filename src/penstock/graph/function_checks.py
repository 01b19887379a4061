"""Checks of what the user passes to a transformation, made on the user's own line."""

from __future__ import annotations

import inspect
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.errors import TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.fields import Field


def require_function(call: str, function: Any, kind: type) -> None:
    """Check that `function` is of class `kind` or can be called.

    :raises TypeMismatchError: if it is neither.
    """
    if isinstance(function, type) and issubclass(function, kind):
        _refuse(
            f"{call} needs {_with_article(kind.__name__)} object, not the class",
            function,
            f"create it: {call.rstrip('()')}({function.__name__}())",
        )
    if not isinstance(function, kind) and not callable(function):
        _refuse(
            f"{call} needs {_with_article(kind.__name__)} or a callable function",
            function,
            f"pass a lambda, a function or an object of a subclass of {kind.__name__}",
        )


def require_object(call: str, value: Any, *kinds: type) -> None:
    """Check that `value` is an object of one of the classes `kinds`.

    :raises TypeMismatchError: if it is not.
    """
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(value, type) and issubclass(value, kinds):
        _refuse(
            f"{call} needs {_with_article(names)} object, not the class",
            value,
            f"create it: {call.rstrip('()')}({value.__name__}())",
        )
    if not isinstance(value, kinds):
        _refuse(
            f"{call} needs {_with_article(names)}",
            value,
            f"pass an object of a subclass of {names}",
        )


def require_arguments(call: str, function: Any, **methods: int) -> None:
    """Check that the user's functions take the arguments that they will be given.

    :param methods: how many arguments each method is called with; the first one is that of a
        plain callable.
    :raises TypeMismatchError: if one takes fewer or more.
    """
    if not any(hasattr(function, method) for method in methods):
        _require_arguments(call, function, next(iter(methods.values())))
        return
    for method, count in methods.items():
        if (found := getattr(function, method, None)) is not None:
            _require_arguments(f"{method}() of {type(function).__name__}", found, count)


def _require_arguments(call: str, function: Any, count: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some callables written in C tell nothing
    try:
        signature.bind(*[None] * count)
    except TypeError:
        needed = list(signature.parameters)
        todo = f"take {_arguments(count)}"
        if len(needed) == count + 1:
            todo += f"; if {needed[-1]!r} is Java's collector: leave it away, and yield the results"
        given = f"({', '.join(needed)})"
        _refuse(f"{call} is called with {_arguments(count)}", function, todo, given)


def require_no_generator(call: str, function: Any, method: str) -> None:
    """Check that a function which must return its one result does not yield.

    :raises TypeMismatchError: if it does.
    """
    if inspect.isgeneratorfunction(getattr(function, method, function)):
        _refuse(
            f"{call} needs a function that returns its result, and this one yields",
            function,
            "return the result, or use flat_map() for any number of results",
        )


def require_type(name: str, kind: Any) -> None:
    """Check that what is declared as a type is one.

    :param name: of the parameter.
    :raises TypeMismatchError: if it is not, `Types.INT` without parentheses for instance.
    """
    if kind is not None and not isinstance(kind, TypeInformation):
        _refuse(
            f"{name} must be a type of Types",
            kind,
            "call it: Types.INT(), Types.ROW([...]); a type of tables (DataTypes) is none",
        )


def require_field(call: str, field: Any) -> Field:
    """Check that `field` is a position or a name, and return it.

    :raises TypeMismatchError: if it is not.
    """
    if isinstance(field, bool) or not isinstance(field, (int, str)):
        _refuse(
            f"{call} needs the position or the name of a field",
            field,
            "pass a number for tuples, lists and Row, a name for Row, dicts and objects",
        )
    return field


def _refuse(what: str, value: Any, todo: str, got: str | None = None) -> None:
    raise TypeMismatchError(
        what,
        where=str(capture_call_site()),
        got=f"{type(value).__name__} {show_value(value)}" if got is None else got,
        todo=todo,
    )


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"
