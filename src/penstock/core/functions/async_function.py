"""Functions that wait for something outside, many records at a time."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration, Time
from penstock.core.functions.async_retry import (
    NO_RETRY_STRATEGY,
    AsyncRetryStrategy,
    check_positive,
)
from penstock.core.functions.base import Function
from penstock.errors import show_value

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Ask an outside system about every record without standing still while it answers.

    >>> class LookUp(AsyncFunction):
    ...     async def async_invoke(self, value):
    ...         return [value]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return what the record becomes. May raise: the retry strategy decides what then."""

    def timeout(self, value: IN) -> list[OUT]:
        """Return what the record becomes when the time is over. By default the job fails.

        :raises TimeoutError: unless overridden.
        """
        raise TimeoutError(f"async function call has timed out for input: {show_value(value)}")


class AsyncFunctionDescriptor:
    """Everything that describes an asynchronous operator.

    :param timeout: how long a record may take, all its tries together.
    :param capacity: how many records may be under way at once.
    """

    class OutputMode(Enum):
        """Whether results keep the order of their records."""

        ORDERED = 0
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        capacity: int = 100,
        async_retry_strategy: AsyncRetryStrategy[Any] | None = None,
        output_mode: OutputMode = OutputMode.ORDERED,
    ) -> None:
        check_positive("AsyncDataStream", capacity=capacity)
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy or NO_RETRY_STRATEGY
        self.output_mode = output_mode


RichAsyncFunction = AsyncFunction
