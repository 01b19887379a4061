"""Collections inside accumulators: values with counts, and lists that give back one of theirs."""

from __future__ import annotations

from typing import Any

from penstock.core.sql.arrays import frozen
from penstock.errors import EvaluationError


def add(bag: dict[Any, int], value: Any, count: int = 1) -> bool:
    """Add a value; return whether it is new."""
    key = frozen(value) if isinstance(value, list | dict) else value
    before = bag.get(key, 0)
    if before + count:
        bag[key] = before + count
    else:
        del bag[key]
    return before == 0


def remove(bag: dict[Any, int], value: Any) -> bool:
    """Take a value back; return whether none is left. A bag may owe what comes later."""
    key = frozen(value) if isinstance(value, list | dict) else value
    left = bag.get(key, 0) - 1
    if left:
        bag[key] = left
    else:
        del bag[key]
    return left == 0


def merge(bag: dict[Any, int], other: dict[Any, int]) -> None:
    """Add all values of another bag."""
    for value, count in other.items():
        add(bag, value, count)


def take_out(values: list[Any], value: Any) -> None:
    """Remove the first occurrence of a value, if there is one."""
    if value in values:
        values.remove(value)


def only(values: list[Any]) -> Any:
    """Return the only value; NULL if there is none."""
    if len(values) > 1:
        raise EvaluationError(
            "a scalar subquery gave more than one row", todo="aggregate it, or limit it to one row"
        )
    return values[0] if values else None
