"""PyFlink's public names, which of them Penstock has, and which it is allowed not to have.

`pyflink-names.json` holds PyFlink's modules, their classes and functions, the members of each
class and the parameters of each member; `pyflink-imports.json` what can be imported from where.
`gaps.toml` is the ledger of what Penstock lacks. `python -m tests.parity.ledger` prints what is
missing and not in it, ready to be pasted.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
_MISSING = object()


def pyflink_names() -> dict[str, list[str]]:
    """Return by module and by class or function all its names: itself, members, parameters.

    A member is written as `module.Class.member`, a parameter as `module.Class.member(parameter)`.
    """
    modules = json.loads((HERE / "pyflink-names.json").read_text(encoding="utf-8"))
    names = {module: [module] for module in modules}
    for module, content in modules.items():
        for owner, members in content.items():
            names[f"{module}.{owner}"] = list(_names(f"{module}.{owner}", members))
    imports = json.loads((HERE / "pyflink-imports.json").read_text(encoding="utf-8"))
    for module, exported in imports.items():
        for path in (module, *(f"{module}.{name}" for name in exported)):
            names.setdefault(path, [path])
    return names


def gaps() -> dict[str, str]:
    """Return the reason of each gap. A gap covers everything below the name it stands for."""
    tables = tomllib.loads((HERE / "gaps.toml").read_text(encoding="utf-8"))
    return {name: reason for table in tables.values() for name, reason in table.items()}


def covered(name: str, ledger: dict[str, str]) -> bool:
    """Return whether a name, or one above it, stands in the ledger."""
    return any(above in ledger for above in _and_above(name))


def exists(name: str) -> bool:
    """Return whether Penstock has a name of PyFlink's, under its own module path."""
    path, _, parameter = name.rstrip(")").partition("(")
    found = _resolve(path)
    if found is _MISSING or not parameter:
        return found is not _MISSING
    return parameter in _parameters(found)


def missing() -> list[str]:
    """Return the uppermost names that are neither there nor in the ledger."""
    ledger = gaps()
    names = (name for group in pyflink_names().values() for name in group)
    absent = {name for name in names if not covered(name, ledger) and not exists(name)}
    return [name for name in sorted(absent) if len(absent & set(_and_above(name))) == 1]


def _names(prefix: str, content: dict[str, Any] | list[str] | None) -> Iterator[str]:
    yield prefix
    if isinstance(content, dict):
        for name, inner in content.items():
            if name:
                yield from _names(f"{prefix}.{name}", inner)
            else:
                # A function has no members; its parameters stand under no name.
                yield from (f"{prefix}({parameter})" for parameter in inner)
    elif content:
        yield from (f"{prefix}({parameter})" for parameter in content)


def _and_above(name: str) -> list[str]:
    path, bracket, _ = name.partition("(")
    parts = path.split(".")
    above = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
    return [*above, name] if bracket else above


@cache
def _resolve(path: str) -> Any:
    parts = path.replace("pyflink", "penstock", 1).split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute, _MISSING)
        return found
    return _MISSING


@cache
def _parameters(found: Any) -> frozenset[str] | _Everything:
    if inspect.isclass(found) and issubclass(found, Enum):
        # What an enum class can be called with differs between versions of Python.
        return _Everything()
    return frozenset(inspect.signature(found).parameters)


class _Everything(frozenset[str]):
    def __contains__(self, item: object) -> bool:
        return True


if __name__ == "__main__":
    for each in missing():
        print(f'"{each}" = ""')
