"""Functions of the user under the names that they are registered by."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from penstock.errors import ValidationError


def imported(path: str) -> Any:
    """Return a function by the name that Python imports it by.

    :raises ValidationError: if there is none.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationError(
            f"the function cannot be imported: {error}",
            got=path,
            todo="name it as module.function, in a module that the program can import",
        ) from None


def as_user_function(function: Any, name: str) -> Any:
    """Return a declared function under the name that it is registered by."""
    named = getattr(function, "named", None)
    if callable(named):
        return named(name.rpartition(".")[2])
    warnings.warn(f"{name}: not declared with udf()", stacklevel=3)
    return function


def no_java(name: str) -> ValidationError:
    """Return the error for a class of the JVM."""
    return ValidationError(
        "a function of Java cannot be called: there is no JVM",
        got=name,
        todo="write it in Python and register it with create_temporary_function(...)",
    )
