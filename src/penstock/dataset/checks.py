"""Checks of what the user passes, made on the user's own line."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigurationError, TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site


def check_function(call: str, function: Any, kind: type) -> None:
    """Check that a function is of class `kind` or can be called.

    :raises TypeMismatchError: if it is neither.
    """
    if isinstance(function, type) and issubclass(function, kind):
        problem = f"{call} needs an object of {function.__name__}, not the class"
        todo = f"create it: {function.__name__}()"
    elif isinstance(function, kind) or callable(function):
        return
    else:
        problem = f"{call} needs a {kind.__name__} or a callable function"
        todo = f"pass a lambda, a function or an object of a subclass of {kind.__name__}"
    raise TypeMismatchError(
        problem, where=str(capture_call_site()), got=show_value(function), todo=todo
    )


def check_count(call: str, count: Any, least: int = 1) -> None:
    """Check a number of records or steps.

    :raises ConfigurationError: if it is no whole number, or too small.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise ConfigurationError(
            f"{call} needs a whole number of at least {least}",
            where=str(capture_call_site()),
            got=show_value(count),
        )
