"""Generated code that travels: Python source and the objects that it names.

A `Program` is made where the query is planned, is pickled with the operator's description and
loaded once in each worker. Loading again gives other functions, with generators of their own.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol

from penstock.graph.relational.user_functions import UserFunction

#: File names of generated code begin so.
GENERATED = "<generated "
_COLUMN = re.compile(r"c(\d+)")


class EvaluationContext(Protocol):
    """What code may ask of the operator it runs in, once for each chunk."""

    def now(self) -> int:
        """Return the processing time in milliseconds since 1970."""

    def watermark(self) -> int | None:
        """Return the current watermark in milliseconds, or None before the first."""


class FixedContext:
    """A context of fixed times, for constants and tests."""

    def __init__(self, now: int = 0, watermark: int | None = None) -> None:
        self._now, self._watermark = now, watermark

    def now(self) -> int:
        """Return the processing time."""
        return self._now

    def watermark(self) -> int | None:
        """Return the watermark."""
        return self._watermark


@dataclass(frozen=True)
class Program:
    r"""Source of one or more functions, and objects that it names `_o0`, `_o1` ...

    >>> Program("def double(x):\n    return 2 * x").load()["double"](21)
    42
    """

    source: str
    objects: tuple[Any, ...] = ()

    def load(self, context: EvaluationContext | None = None) -> dict[str, Callable[..., Any]]:
        """Return the functions by name.

        A user's function among the objects must have been opened before it is called.
        """
        names: dict[str, Any] = {f"_o{i}": _callable(o) for i, o in enumerate(self.objects)}
        # Tracebacks tell by it that this is no code of the user's.
        names["__name__"] = "penstock.generated"
        names["_context"] = FixedContext() if context is None else context
        exec(_compiled(self.source), names)
        return names

    def user_functions(self) -> list[UserFunction]:
        """Return the users' functions that are to be opened and closed around the work."""
        found = {id(o): o for o in self.objects if isinstance(o, UserFunction)}
        return list(found.values())


def _callable(value: Any) -> Any:
    if isinstance(value, UserFunction):
        return value.function.eval if value.kind in ("scalar", "table") else value.function
    return value


@lru_cache(maxsize=256)
def _compiled(source: str) -> CodeType:
    name = f"{GENERATED}{abs(hash(source)):x}>"
    # Tracebacks show the line of generated code.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return compile(source, name, "exec")


def failing_row(names: dict[str, Any]) -> Any:
    """Return the row that a frame of generated code was working on, by its local names.

    A loop that unpacks its rows has their columns only; the row is the one that they are of.
    """
    if "row" in names:
        return names["row"]
    columns = {int(m[1]): names[m[0]] for name in names if (m := _COLUMN.fullmatch(name))}
    for row in names.get("rows") or ():
        if all(row[index] is value for index, value in columns.items()):
            return row
    return tuple(columns[index] for index in sorted(columns))
