"""The base of all user functions: a life that begins with open() and ends with close()."""

from __future__ import annotations

from abc import ABC
from typing import Any

from penstock.core.functions.runtime_context import RuntimeContext
from penstock.errors import ProgramError


class Function(ABC):
    """Base of all functions that are written as classes.

    An instance is made in the user's program, sent to the workers, opened there and then called
    for records. What it keeps in attributes outlives a batch and a restart.
    """

    # A slot keeps the context out of `vars(function)`, which the runtime saves with the state.
    __slots__ = ("_runtime_context",)
    _runtime_context: RuntimeContext | None

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027
        """Prepare for work: ask for state, open connections. Called once before any record.

        :param runtime_context: gives access to state, metrics and the place of this subtask.
        """

    def close(self) -> None:  # noqa: B027
        """Let go of resources. Called after the last record; not after a crash."""

    def get_runtime_context(self) -> RuntimeContext:
        """Return the context that `open` was called with.

        :raises ProgramError: before `open`, as in a constructor.
        """
        context: RuntimeContext | None = getattr(self, "_runtime_context", None)
        if context is None:
            raise ProgramError(
                "the runtime context is not there yet",
                where=f"{type(self).__name__}.get_runtime_context()",
                todo="call it in open() or later, not in the constructor",
            )
        return context


def bind_runtime_context(function: Any, runtime_context: RuntimeContext | None) -> None:
    """Give a function its context, so that it has one even if its `open` never calls super.

    The runtime calls this in front of `open`; None takes the context away again. A plain callable
    is left as it is.
    """
    if isinstance(function, Function):
        function._runtime_context = runtime_context
