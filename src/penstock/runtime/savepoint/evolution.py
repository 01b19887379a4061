"""Dataclasses in state whose fields have changed since: what is new has its default.

When a job goes on from a savepoint, or from its own checkpoint after a dataclass has changed (see
`class_shapes`), each instance of a dataclass that it finds in a value is brought into line with the
class as it is now. A field that was added gets its default; one that was
removed is dropped; an added field without a default is an error. Of other classes nothing is known:
they are what their pickles make them.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from penstock.core.pickling import ATOMIC, dumps
from penstock.errors import StateError, show_value
from penstock.runtime.codec import Frozen
from penstock.runtime.savepoint.format import Changes, unpickled
from penstock.runtime.state.keyed_backend import TIMER_KINDS


def evolve(changes: Changes, where: str) -> Changes:
    """Return what a savepoint holds with its dataclasses as they are now.

    :param where: what the state belongs to, for errors.
    """
    return {
        place: (kind, delta if kind in TIMER_KINDS else _walk(delta, where))
        for place, (kind, delta) in changes.items()
    }


def _walk(held: Any, where: str) -> Any:
    """Look into what tables hold: lists, tuples and maps of frozen and plain values."""
    kind = type(held)
    if kind in ATOMIC:
        return held
    if kind is Frozen:
        value = unpickled(held.data, where)
        return Frozen(dumps(value)) if _align(value, where) else held
    if kind is list:
        return [_walk(item, where) for item in held]
    if kind is tuple:
        return tuple(_walk(item, where) for item in held)
    if kind is dict:
        return {name: _walk(item, where) for name, item in held.items()}
    _align(held, where)
    return held


def _align(value: Any, where: str) -> bool:
    """Bring a value into line; tell whether anything had to be done."""
    kind = type(value)
    if kind in ATOMIC:
        return False
    if kind in (list, tuple, set, frozenset):
        return sum(_align(item, where) for item in value) > 0
    if kind is dict:
        return sum(_align(item, where) for item in value.values()) > 0
    if not is_dataclass(value):
        return False
    known = {field.name: field for field in fields(value)}
    if not hasattr(value, "__dict__"):
        return _align_slots(value, known, where)
    held = vars(value)
    added = [field for name, field in known.items() if name not in held]
    # What the class itself has, a cached property say, is not a field of before.
    removed = [name for name in held if name not in known and not hasattr(kind, name)]
    for name in removed:
        del held[name]
    for field in added:
        held[field.name] = _default(field, value, where)
    inside = [_align(held[name], where) for name in known]
    return bool(added or removed or any(inside))


def _align_slots(value: Any, known: dict[str, Field[Any]], where: str) -> bool:
    added = [field for name, field in known.items() if not hasattr(value, name)]
    for field in added:
        object.__setattr__(value, field.name, _default(field, value, where))
    inside = [_align(getattr(value, name), where) for name in known]
    return bool(added or any(inside))


def _default(field: Field[Any], value: Any, where: str) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    name = type(value).__name__
    raise StateError(
        f"{name} has a field that its state was written without",
        where=where,
        got=f"no {field.name!r} in {show_value(_present(value))}",
        todo=f"give the field {field.name!r} a default, which state from before then gets",
    )


def _present(value: Any) -> dict[str, Any]:
    names = (field.name for field in fields(value))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}
