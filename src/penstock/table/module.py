"""Modules of functions: PyFlink's `pyflink.table.module`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import ValidationError
from penstock.table.names import hint

__all__ = ["Module", "ModuleEntry"]

#: The module of the built-in functions.
CORE = "core"


class Module:
    """Functions that are found by name as built-in ones are, while the module is in use.

    :param functions: functions declared with `udf(...)`, `udtf(...)` or `udaf(...)`, by name.

    >>> from penstock.table.udf import udf
    >>> plus = Module({"plus_one": udf(lambda i: i + 1, result_type="INT")})
    >>> plus.list_functions()
    ['plus_one']
    """

    def __init__(self, functions: Mapping[str, Any] | None = None) -> None:
        self._functions = {name.lower(): function for name, function in (functions or {}).items()}

    def list_functions(self) -> list[str]:
        """Return the names of the functions, sorted."""
        return sorted(self._functions)

    def get_function(self, name: str) -> Any:
        """Return a function by name, None if there is none."""
        found = self._functions.get(name.lower())
        named = getattr(found, "named", None)
        return named(name.lower()) if callable(named) else found


@dataclass(frozen=True)
class ModuleEntry:
    """A module's name, and whether it is in use."""

    _name: str
    _used: bool

    def name(self) -> str:
        """Return the module's name."""
        return self._name

    def used(self) -> bool:
        """Tell whether it is in use."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"


class Modules:
    """The modules of an environment: all that are loaded, and the order of those in use."""

    def __init__(self) -> None:
        self._loaded: dict[str, Module] = {CORE: Module()}
        self._used = [CORE]

    def load(self, name: str, module: Module | None) -> None:
        """Add a module and use it behind the others.

        :raises ValidationError: if the name is taken or there is no such module.
        """
        if name in self._loaded:
            raise ValidationError(
                f"the module {name!r} is loaded already",
                todo=f"unload it first: UNLOAD MODULE {name}",
            )
        if module is None and name != CORE:
            raise ValidationError(
                f"there is no module {name!r} to load",
                todo="load one of your own: t_env.load_module(name, Module({...}))",
            )
        self._loaded[name] = module or Module()
        self._used.append(name)

    def unload(self, name: str) -> None:
        """Forget a module.

        :raises ValidationError: if it is not loaded.
        """
        self._check(name)
        del self._loaded[name]
        self._used = [each for each in self._used if each != name]

    def use(self, names: tuple[str, ...]) -> None:
        """Set the modules in use, in order; others stay loaded.

        :raises ValidationError: if one is not loaded, or stands twice.
        """
        for name in names:
            self._check(name)
            if names.count(name) > 1:
                raise ValidationError(f"the module {name!r} stands twice", got=", ".join(names))
        self._used = list(names)

    def _check(self, name: str) -> None:
        if name not in self._loaded:
            raise ValidationError(
                f"there is no module {name!r}", todo=hint(name, list(self._loaded))
            )

    def used(self) -> list[str]:
        """Return the modules in use, in order."""
        return list(self._used)

    def entries(self) -> list[ModuleEntry]:
        """Return all modules: those in use first."""
        rest = [name for name in self._loaded if name not in self._used]
        used = [ModuleEntry(name, True) for name in self._used]
        return used + [ModuleEntry(name, False) for name in rest]

    def functions(self) -> list[str]:
        """Return the names of the functions of modules in use, but for the built-in ones."""
        return [name for used in self._used for name in self._loaded[used].list_functions()]

    def find_function(self, name: str) -> Any:
        """Return a function of a module in use, None if there is none or it is built in.

        :raises ValidationError: if the built-in functions are not in use.
        """
        for used in self._used:
            found = self._loaded[used].get_function(name)
            if found is not None:
                return found
        if CORE not in self._used:
            raise ValidationError(
                f"there is no function {name!r}",
                got=f"modules in use: {', '.join(self._used) or 'none'}",
                todo="the built-in functions are in the module 'core': USE MODULES core",
            )
        return None
