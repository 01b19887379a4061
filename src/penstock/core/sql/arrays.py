"""Arrays, maps and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import EvaluationError


def frozen(value: Any) -> Any:
    """Return a value that can be a member of a set: lists become tuples, dicts frozensets."""
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return frozenset((frozen(k), frozen(v)) for k, v in value.items())
    return value


def item(array: Sequence[Any], index: int) -> Any:
    """Return an element by its number, from 1; NULL behind the end."""
    if index < 1:
        raise EvaluationError(
            "the index of an ARRAY begins with 1", got=str(index), todo="count from 1"
        )
    return array[index - 1] if index <= len(array) else None


def map_item(entries: dict[Any, Any], key: Any) -> Any:
    """Return the value of a key."""
    return entries.get(key)


def element(array: Sequence[Any] | None) -> Any:
    """Return the only element; NULL of an empty array. NULLs are seen."""
    if array is None:
        return None
    if len(array) > 1:
        raise EvaluationError("ELEMENT takes an array of one element", got=f"{len(array)} elements")
    return array[0] if array else None


def contains(array: Sequence[Any] | None, needle: Any) -> bool | None:
    """Return whether an element is there. NULLs are seen."""
    return None if array is None else needle in array


def position(array: Sequence[Any], needle: Any) -> int:
    """Return where an element is, from 1; 0 if nowhere."""
    for number, value in enumerate(array, 1):
        if value == needle:
            return number
    return 0


def remove(array: Sequence[Any] | None, needle: Any) -> list[Any] | None:
    """Return the others. NULLs are seen."""
    return None if array is None else [value for value in array if value != needle]


def append(array: Sequence[Any] | None, value: Any) -> list[Any] | None:
    """Return the array with one more at the end. NULLs are seen."""
    return None if array is None else [*array, value]


def prepend(array: Sequence[Any] | None, value: Any) -> list[Any] | None:
    """Return the array with one more at the beginning. NULLs are seen."""
    return None if array is None else [value, *array]


def distinct(array: Sequence[Any]) -> list[Any]:
    """Return each element once, in the order of their first occurrence."""
    seen: set[Any] = set()
    kept = []
    for value in array:
        key = frozen(value)
        if key not in seen:
            seen.add(key)
            kept.append(value)
    return kept


def union(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return what is in either array, each once."""
    return distinct([*left, *right])


def intersect(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return what is in both arrays, each once."""
    others = {frozen(value) for value in right}
    return [value for value in distinct(left) if frozen(value) in others]


def except_(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return what is in the first array only, each once."""
    others = {frozen(value) for value in right}
    return [value for value in distinct(left) if frozen(value) not in others]


def concat(*arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays one after the other."""
    return [value for array in arrays for value in array]


def slice_(array: Sequence[Any], start: int, end: int | None = None) -> list[Any]:
    """Return the elements from one position to another; negative ones count from the end."""
    size = len(array)
    last = size if end is None else end
    first = start + size + 1 if start < 0 else max(start, 1)
    last = last + size + 1 if last < 0 else min(last, size) if last else 1
    if not size or first > last or first > size or last < 1:
        return []
    return list(array[max(first, 1) - 1 : last])


def sort(
    array: Sequence[Any], ascending: bool = True, nulls_first: bool | None = None
) -> list[Any]:
    """Return the elements in order; NULLs are first in an ascending order unless said."""
    first = ascending if nulls_first is None else nulls_first
    nulls = [None] * sum(1 for value in array if value is None)
    ordered = sorted((v for v in array if v is not None), reverse=not ascending)
    return nulls + ordered if first else ordered + nulls


def greatest(array: Sequence[Any]) -> Any:
    """Return the greatest element; NULL if there is none."""
    return max((v for v in array if v is not None), default=None)


def least(array: Sequence[Any]) -> Any:
    """Return the least element; NULL if there is none."""
    return min((v for v in array if v is not None), default=None)


def join(array: Sequence[str | None], delimiter: str, null: str | None = None) -> str:
    """Join texts; NULLs are left out, or replaced."""
    shown = array if null is None else [null if value is None else value for value in array]
    return delimiter.join([value for value in shown if value is not None])


def map_of(*pairs: Any) -> dict[Any, Any]:
    """Return a map of alternating keys and values. NULLs are seen."""
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def map_union(*maps: dict[Any, Any]) -> dict[Any, Any]:
    """Return all entries; later maps win."""
    result: dict[Any, Any] = {}
    for entries in maps:
        result.update(entries)
    return result


def map_from_arrays(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """Return a map of two arrays of the same length."""
    if len(keys) != len(values):
        raise EvaluationError(
            "MAP_FROM_ARRAYS takes two arrays of the same length",
            got=f"{len(keys)} keys and {len(values)} values",
        )
    return dict(zip(keys, values, strict=True))
