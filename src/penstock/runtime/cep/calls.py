"""How to call the user's functions with a match."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from penstock.runtime.calls import method_of


class Collector:
    """Takes results one by one, as functions written after Flink's Java expect it."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def collect(self, value: Any) -> None:
        """Take one result."""
        self.values.append(value)

    def close(self) -> None:
        """Nothing has to be closed."""


def results_of(function: Any, name: str, arguments: int) -> Callable[..., Iterable[Any] | None]:
    """Return how to get the results of a function that returns, yields or collects them.

    :param arguments: how many there are in front of a collector, which it may leave out.
    """
    call = method_of(function, name)
    if not _takes(call, arguments + 1):
        return call

    def collecting(*args: Any) -> list[Any]:
        collector = Collector()
        returned = call(*args, collector)
        return collector.values if returned is None else [*collector.values, *returned]

    return collecting


def _takes(call: Callable[..., Any], count: int) -> bool:
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        each
        for each in parameters
        if each.kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD
        and each.default is inspect.Parameter.empty
    ]
    return len(needed) == count
