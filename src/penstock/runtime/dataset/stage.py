"""A stage: what is done to the records of one partition, in one pass.

Stages of one pass are chained as generators. Every loop that calls a user's function is a method of
a stage and names its record `value`: `failure.py` reads both from the traceback, so that nothing is
done per record for messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import cloudpickle

from penstock.core.functions import Function, bind_runtime_context
from penstock.errors import SerializationError
from penstock.runtime.dataset.context import BatchRuntimeContext, Place


class Shipped:
    """A user's object on its way to a subtask, which gets a copy of its own."""

    def __init__(self, thing: Any, where: str) -> None:
        try:
            self._blob = cloudpickle.dumps(thing)
        except Exception as error:
            raise SerializationError(
                f"the function cannot be sent to the workers: {type(error).__name__}: {error}",
                where=where,
                todo="create what does not pickle in open(), or pass plain data to the function",
            ) from None

    def unpack(self) -> Any:
        """Return a new copy."""
        return cloudpickle.loads(self._blob)


class Stage(ABC):
    """One step of a pass. `place` says which operator it belongs to."""

    place: Place
    #: What was exchanged stays where it was sent: keys are as they were.
    stays = False

    @abstractmethod
    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        """Turn the records of one partition into others."""


class PlainStage(Stage):
    """A stage without a user's function."""

    def __init__(self, place: Place) -> None:
        self.place = place


class FunctionStage(Stage):
    """A stage that calls a user's function, which is opened before and closed after it.

    :param function: a `Function` object or a callable.
    :param method: name of the method that a `Function` object is called by.
    """

    def __init__(self, place: Place, function: Any, method: str) -> None:
        self.place = place
        self._function = Shipped(function, place.describe())
        self._method = method

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        function = self._function.unpack()
        if not isinstance(function, Function):
            return self.work(function, values)  # it cannot count anything, nor be closed
        return self._run_object(function, subtask, values)

    def _run_object(self, function: Any, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        context = BatchRuntimeContext(self.place, subtask)
        bind_runtime_context(function, context)
        function.open(context)
        try:
            yield from self.work(getattr(function, self._method), values)
            context.report()
        except GeneratorExit:
            context.report()  # a later stage has enough: what was counted up to here counts
            raise
        finally:
            function.close()

    @abstractmethod
    def work(self, call: Callable[..., Any], values: Iterator[Any]) -> Iterator[Any]:
        """Yield what becomes of the records."""


def run_stages(stages: Iterable[Stage], subtask: int, values: Iterator[Any]) -> Iterator[Any]:
    """Chain stages over the records of one partition."""
    for stage in stages:
        values = stage.run(subtask, values)
    return values
