"""Values as bytes, and values that cannot change.

Every process of a job has the classes of the user's script in `__main__`, so pickling is by
reference to the class, at C speed. A class that is defined inside a function has no name that
pickle could find it by: the job gives it one, which is the same in every run of the program.
"""

from __future__ import annotations

import copy
import copyreg
import datetime as dt
import io
import pickle
import sys
import uuid
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import cloudpickle

from penstock.errors import SerializationError, show_value

PROTOCOL = 5

#: Exact types whose instances never change. Enum classes join as they are met.
ATOMIC: set[type] = {
    int, float, bool, str, bytes, complex, type(None), Decimal, Fraction, uuid.UUID,
    dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone, type(Ellipsis), range,
}  # fmt: skip

_ITEMS, _FIELDS, _MUTABLE = 1, 2, 3
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class made by a class statement
#: How to tell whether an instance of a non-atomic class can change; filled on first sight.
_KINDS: dict[type, tuple[int, tuple[str, ...]]] = {tuple: (_ITEMS, ()), frozenset: (_ITEMS, ())}


def _cached_property(func: Any, name: str | None) -> cached_property[Any]:
    made = cached_property(func)
    made.attrname = name
    return made


# A cached property of a function's class makes its state when it is first asked for. Before
# Python 3.12 it has a lock, which cannot travel; it is made anew where it arrives.
copyreg.pickle(
    cached_property,
    lambda held: (_cached_property, (held.func, held.attrname)),
)


#: Classes that are defined inside functions, by the name that the job has given them.
_named: dict[str, type] = {}
_names: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def name_class(name: str, kind: type) -> None:
    """Let instances of a class be pickled by this name, and found again by it."""
    _named[name] = kind
    _names[kind] = name


def named_class(name: str) -> type:
    """Return the class of that name.

    :raises SerializationError: if the program has no such class (any more).
    """
    try:
        return _named[name]
    except KeyError:
        raise SerializationError(
            f"the program has no class {name!r}",
            got="a record or a state value that an earlier version of the program wrote",
            todo="define the class where it was, or start anew with another job name",
        ) from None


def named_classes() -> dict[str, type]:
    """Return the classes that jobs of this process have given names."""
    return dict(_named)


class _ReferringPickler(cloudpickle.Pickler):  # type: ignore[misc, unused-ignore]
    """Pickle classes by reference where they can be found, and all else as cloudpickle does."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type):
            name = _names.get(obj)
            if name is not None:
                return named_class, (name,)
            if getattr(sys.modules["__main__"], obj.__qualname__, None) is obj:
                return NotImplemented
        return super().reducer_override(obj)


def _dumps_by_value(value: Any) -> bytes:
    with io.BytesIO() as file:
        _ReferringPickler(file, PROTOCOL).dump(value)
        return file.getvalue()


def dumps(value: Any) -> bytes:
    """Pickle a value; one of a class that has no importable name is pickled with its class.

    :raises SerializationError: if the value cannot be pickled at all.
    """
    try:
        return pickle.dumps(value, PROTOCOL)
    except Exception:
        try:
            return _dumps_by_value(value)
        except Exception as error:
            raise SerializationError(
                f"a {type(value).__name__} cannot be pickled, so it cannot travel between workers "
                "or be kept in state",
                got=f"{show_value(value, 200)} ({type(error).__name__}: {error})",
                todo="send plain data (numbers, strings, tuples, dataclasses) and open files, "
                "locks and connections in open()",
            ) from None


def dumps_for_workers(value: Any) -> bytes:
    """Pickle a value of the user's own process: functions of the script go along as they are.

    Workers have the classes of the script, but not its functions.
    """
    data = dumps(value)
    if b"__main__" in data:
        main = sys.modules["__main__"]
        names = [name for name, held in vars(main).items() if type(held) is FunctionType]
        if any(name.encode() in data for name in names):
            return _dumps_by_value(value)
    return data


def loads(data: bytes) -> Any:
    """Undo `dumps`."""
    return pickle.loads(data)


def is_picklable(value: Any) -> bool:
    """Tell whether a value can be pickled by reference to its class."""
    try:
        pickle.dumps(value, PROTOCOL)
    except Exception:
        return False
    return True


def detached(value: Any) -> Any:
    """Return a value that stays as it is now, whatever the user's code does to `value` later.

    :raises SerializationError: if the value would have to be copied and cannot be pickled.
    """
    if is_immutable(value):
        return value
    try:
        return pickle.loads(pickle.dumps(value, PROTOCOL))
    except Exception:
        # Its class has no importable name. That it can travel must be found out here, but reading
        # it back might make a second class of that name.
        dumps(value)
        return copy.deepcopy(value)


def is_immutable(value: Any) -> bool:
    """Tell whether a value can never change, nor anything inside it."""
    kind = type(value)
    if kind in ATOMIC:
        return True
    how, names = _KINDS.get(kind) or _classify(kind)
    if how == _ITEMS:
        return all(map(is_immutable, value))
    if how == _FIELDS:
        # All that the instance holds: a cached property keeps its result beside the fields.
        held = getattr(value, "__dict__", None)
        return (held is None or all(map(is_immutable, held.values()))) and all(
            is_immutable(getattr(value, name, None)) for name in names
        )
    return kind in ATOMIC


def _classify(kind: type) -> tuple[int, tuple[str, ...]]:
    names: tuple[str, ...] = ()
    how = _MUTABLE
    if issubclass(kind, Enum):
        ATOMIC.add(kind)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields") and not _has_dict(kind):
        how = _ITEMS
    elif _is_frozen_dataclass(kind):
        how, names = _FIELDS, _slots(kind)
    return _KINDS.setdefault(kind, (how, names))


def _is_frozen_dataclass(kind: type) -> bool:
    """Tell whether the class is a frozen dataclass in itself, and all it is made of is Python's.

    A plain subclass of a frozen dataclass is not frozen, nor is what a built-in base (a list, an
    exception) holds.
    """
    parameters = vars(kind).get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        return False
    return all(base is object or base.__flags__ & _HEAP_TYPE for base in kind.__mro__)


def _slots(kind: type) -> tuple[str, ...]:
    """Return the names of what instances hold outside of their dictionary."""
    names: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            names.append(f"_{base.__name__.lstrip('_')}{name}" if private else name)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _has_dict(kind: type) -> bool:
    return any("__dict__" in vars(base) for base in kind.__mro__)
