"""Conditions of a pattern's stages.

A user writes a callable of the event, or of the event and a context, or a subclass of one of the
classes here. Inside a pattern all of them are `Condition` objects: plain data that the runtime
compiles.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.errors import MalformedPatternError, show_value

T = TypeVar("T")


class IterativeCondition(Function, Generic[T]):
    """Accept an event by looking at the events that the match has so far.

    >>> class Rising(IterativeCondition):
    ...     def filter(self, value, ctx):
    ...         return all(value > before for before in ctx.get_events_for_pattern("up"))
    """

    class Context:
        """What is known while an event is looked at."""

        def get_events_for_pattern(self, name: str) -> list[Any]:
            """Return the events that the match has taken for a stage so far, in their order.

            The event that is being looked at is not among them. An unknown name has none.
            """
            raise TypeError("abstract")

        def timestamp(self) -> int:
            """Return the time of the event: epoch milliseconds."""
            raise TypeError("abstract")

        def current_processing_time(self) -> int:
            """Return the processing time; it stands still inside a batch."""
            raise TypeError("abstract")

    @abstractmethod
    def filter(self, value: T, ctx: Context) -> bool:
        """Tell whether the event is accepted."""


class RichIterativeCondition(IterativeCondition[T]):
    """An `IterativeCondition` under Flink's name for one with `open` and `close`."""


class SimpleCondition(Function, Generic[T]):
    """Accept an event for what it is.

    >>> class Failed(SimpleCondition):
    ...     def filter(self, value):
    ...         return value == "fail"
    """

    @abstractmethod
    def filter(self, value: T) -> bool:
        """Tell whether the event is accepted."""

    @staticmethod
    def of(function: Callable[[Any], Any]) -> SimpleCondition[Any]:
        """Return a plain function as a condition object.

        >>> SimpleCondition.of(str.isupper).filter("A")
        True
        """
        return _FunctionCondition(function)


class _FunctionCondition(SimpleCondition[Any]):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def filter(self, value: Any) -> bool:
        return bool(self._function(value))


class Condition:
    """Base of what a pattern holds."""


@dataclass(frozen=True)
class TrueCondition(Condition):
    """Accept every event."""


@dataclass(frozen=True, eq=False)
class UserCondition(Condition):
    """Call the user's function."""

    function: Any
    #: Whether it is called with the context too.
    iterative: bool

    @property
    def call(self) -> Callable[..., Any]:
        """Return what to call."""
        return getattr(self.function, "filter", self.function)


@dataclass(frozen=True)
class SubtypeCondition(Condition):
    """Accept the objects of a class."""

    subtype: type


@dataclass(frozen=True, eq=False)
class AndCondition(Condition):
    """Accept what both accept; the right one is asked only if the left one accepts."""

    left: Condition
    right: Condition


@dataclass(frozen=True, eq=False)
class OrCondition(Condition):
    """Accept what either accepts; the right one is asked only if the left one does not."""

    left: Condition
    right: Condition


@dataclass(frozen=True, eq=False)
class NotCondition(Condition):
    """Accept what another does not."""

    condition: Condition


TRUE = TrueCondition()


def make_condition(call: str, function: Any, where: str) -> Condition:
    """Return the condition that a user's function is.

    :raises MalformedPatternError: if it takes neither one nor two arguments.
    """
    if isinstance(function, Condition):
        return function
    if isinstance(function, IterativeCondition):
        return UserCondition(function, iterative=True)
    if isinstance(function, SimpleCondition):
        return UserCondition(function, iterative=False)
    call_of = getattr(function, "filter", function)
    if not callable(call_of) or isinstance(function, type):
        raise MalformedPatternError(
            f"{call} needs a function of an event, or of an event and a context",
            where=where,
            got=f"{type(function).__name__} {show_value(function)}",
            todo="pass a function, or an object of a subclass of SimpleCondition or "
            "IterativeCondition",
        )
    return UserCondition(function, _takes_context(call, call_of, where))


def _takes_context(call: str, function: Any, where: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # a function of C that does not tell: of the event, as most are
    kinds = inspect.Parameter
    positional = [p for p in parameters if p.kind <= kinds.POSITIONAL_OR_KEYWORD]
    # A default value is the usual way to bind a variable: it is no place for the context.
    needed = [p for p in positional if p.default is kinds.empty]
    if len(needed) in (1, 2):
        return len(needed) == 2
    if not needed and (positional or any(p.kind is kinds.VAR_POSITIONAL for p in parameters)):
        return False
    raise MalformedPatternError(
        f"{call} needs a function of an event, or of an event and a context",
        where=where,
        got=f"{show_value(function)} with {len(needed)} arguments",
        todo="write lambda event: ... or lambda event, ctx: ...",
    )
