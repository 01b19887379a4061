"""Functions that users write for tables: scalar, table and aggregate functions.

Generated code calls them directly, once for each row. An instance is opened in the worker before
its first call; what it keeps in attributes outlives a batch and a restart.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.core.functions.base import Function
from penstock.core.functions.runtime_context import RuntimeContext
from penstock.errors import ProgramError

#: What `open` is given: the subtask's place, job parameters and metrics.
FunctionContext = RuntimeContext


class UserDefinedFunction(Function):
    """Base of all functions for tables."""

    def open(self, function_context: FunctionContext) -> None:
        """Prepare for work; called once in the worker, before the first call.

        :param function_context: tells job parameters, metrics and the place of this subtask.
        """

    def is_deterministic(self) -> bool:
        """Return whether equal arguments always give the same result. Default: True."""
        return True


class ScalarFunction(UserDefinedFunction):
    """A function from values of a row to one value.

    >>> class Plus(ScalarFunction):
    ...     def eval(self, a, b):
    ...         return a + b
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the value for one row."""


class AsyncScalarFunction(UserDefinedFunction):
    """A scalar function whose `eval` is a coroutine: many rows wait at the same time."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Return the value for one row."""


class TableFunction(UserDefinedFunction):
    """A function from values of a row to any number of rows.

    >>> class Split(TableFunction):
    ...     def eval(self, text):
    ...         for word in text.split():
    ...             yield word, len(word)
    """

    @abstractmethod
    def eval(self, *args: Any) -> Iterable[Any] | None:
        """Return or yield the rows: tuples, `Row`s, or plain values for one column."""


class ImperativeAggregateFunction(UserDefinedFunction):
    """Base of aggregate functions: they keep what they have seen in an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return a new accumulator. It must be picklable."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Add the values of a row to the accumulator, in place."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Take the values of a row back; needed if the input updates."""
        raise ProgramError(
            f"{type(self).__name__} cannot take rows back, and its input updates",
            todo=f"write {type(self).__name__}.retract(accumulator, *args)",
        )

    def merge(self, accumulator: Any, accumulators: Iterable[Any]) -> None:
        """Add other accumulators to the first; needed in session windows."""
        raise ProgramError(
            f"{type(self).__name__} cannot merge accumulators, as session windows need it to",
            todo=f"write {type(self).__name__}.merge(accumulator, accumulators)",
        )

    def get_result_type(self) -> Any:
        """Return the type of the result, if it is not given to `udaf` or `udtaf`."""
        raise ProgramError(
            f"{type(self).__name__} does not say the type of its result",
            todo="write get_result_type(), or pass result_type to udaf or udtaf",
        )

    def get_accumulator_type(self) -> Any:
        """Return the type of the accumulator; only shown, as it may be any picklable object."""
        raise ProgramError(
            f"{type(self).__name__} does not say the type of its accumulator",
            todo="write get_accumulator_type(), or pass accumulator_type to udaf or udtaf",
        )


class AggregateFunction(ImperativeAggregateFunction):
    """A function from the rows of a group to one value.

    >>> class WeightedAverage(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return [0, 0]
    ...     def accumulate(self, accumulator, value, weight):
    ...         accumulator[0] += value * weight
    ...         accumulator[1] += weight
    ...     def get_value(self, accumulator):
    ...         return accumulator[0] / accumulator[1] if accumulator[1] else None
    """

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """Return the value of what has been accumulated."""


class TableAggregateFunction(ImperativeAggregateFunction):
    """A function from the rows of a group to any number of rows."""

    @abstractmethod
    def emit_value(self, accumulator: Any) -> Iterable[Any]:
        """Yield the rows of what has been accumulated."""
