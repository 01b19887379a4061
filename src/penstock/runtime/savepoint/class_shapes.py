"""Which fields the program's dataclasses have, kept with a job: so that a restart sees a change.

A job that is started again goes on from its log as it is. If a dataclass has other fields by then,
what the log holds of it must be brought into line first, once: as from a savepoint, see
`savepoint.evolution`. Known are the dataclasses of all modules that the program has imported when
it is submitted, and those inside functions that its operators refer to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass

from penstock.core.pickling import named_classes
from penstock.errors import StateError
from penstock.runtime.coordinator.storage import JobDirectory

#: File with the fields of each dataclass, in order.
CLASSES_FILE = "classes.json"
#: Packages without classes of users' records.
_FOREIGN = frozenset(sys.stdlib_module_names) | {"penstock", "pyspark", "pyarrow", "pandas"}

Shapes = dict[str, list[str]]


def shapes_of_program() -> Shapes:
    """Return the fields of the dataclasses that this process knows, by their full names."""
    found: Shapes = {}
    for name, module in list(sys.modules.items()):
        if name == "__main__" or name.partition(".")[0] not in _FOREIGN:
            _gather(found, name, getattr(module, "__dict__", {}).values())
    for name, kind in named_classes().items():
        if is_dataclass(kind):
            found[name] = _fields(kind)
    return found


def _gather(found: Shapes, module: str, values: Iterable[object]) -> None:
    for value in list(values):
        if not isinstance(value, type) or value.__module__ != module:
            continue
        if "__dataclass_fields__" in value.__dict__:
            found[f"{module}.{value.__qualname__}"] = _fields(value)


def _fields(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def recorded_shapes(directory: JobDirectory) -> Shapes:
    """Return what the job's last run knew."""
    data = directory.read(CLASSES_FILE)
    return {} if data is None else dict(json.loads(data))


def record_shapes(directory: JobDirectory, now: Shapes) -> None:
    """Keep what this run knows, with what earlier ones knew of classes that it has not imported."""
    before = recorded_shapes(directory)
    if before != (after := {**before, **now}):
        directory.write(CLASSES_FILE, json.dumps(after).encode())


def changed(before: Shapes, now: Shapes) -> list[str]:
    """Return the classes that have other fields than before, or the same in another order."""
    return sorted(name for name, names in now.items() if before.get(name, names) != names)


def check_slots(before: Shapes, now: Shapes, classes: Mapping[str, type], where: str) -> None:
    """Refuse a change that nobody could tell from the state itself.

    Instances with `__slots__` are written as their values in order, without names.

    :param classes: those that have changed, by name.
    :raises StateError: if one with slots has lost fields, or has new ones before the others.
    """
    for name, kind in classes.items():
        old, new = before[name], now[name]
        if "__slots__" in kind.__dict__ and new[: len(old)] != old:
            raise StateError(
                f"{kind.__name__} has slots, and other fields than its state was written with",
                where=where,
                got=f"fields {', '.join(new)}; {', '.join(old)} before",
                todo="add fields with defaults behind the others only, or leave out slots=True",
            )


def class_of(name: str) -> type | None:
    """Return a class by its full name, None if this process does not know it."""
    if name in (named := named_classes()):
        return named[name]
    module, _, rest = name.rpartition(".")
    held: object = None
    while module and held is None:
        held = sys.modules.get(module)
        if held is None:
            module, _, part = module.rpartition(".")
            rest = f"{part}.{rest}"
    for part in rest.split("."):
        held = getattr(held, part, None)
    return held if isinstance(held, type) else None
