"""How to call what the user passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def method_of(function: Any, name: str) -> Callable[..., Any]:
    """Return how to call what the user passed: a function object's method, or the callable."""
    method = getattr(function, name, None)
    return method if callable(method) else function
