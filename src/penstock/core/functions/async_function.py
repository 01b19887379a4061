"""Functions that wait for something outside, many records at a time, and how they try again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration, Time
from penstock.core.functions.base import Function
from penstock.errors import ConfigurationError, show_value

IN = TypeVar("IN")
OUT = TypeVar("OUT")

ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[BaseException], bool]


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


class AsyncRetryPredicate(ABC):
    """Say which results and which exceptions are worth another try."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Return the test of a result, or None if every result is good."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return the test of an exception, or None if every exception is final."""


class _Predicates(AsyncRetryPredicate):
    def __init__(
        self, result: ResultPredicate | None = None, exception: ExceptionPredicate | None = None
    ) -> None:
        self._result = result
        self._exception = exception

    def result_predicate(self) -> ResultPredicate | None:
        return self._result

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception


class AsyncRetryStrategy(ABC):
    """Say how often, after how long and in which cases a call is tried again."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another try may follow the `current_attempts` that were made."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait before the next try, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Return which results and exceptions are worth another try."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """Never try again."""
        return _FixedDelay(0, 0, _Predicates())

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        """Try up to `max_attempts` times with the same pause before each try."""
        _check_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        predicates = _Predicates(result_predicate, exception_predicate)
        return _FixedDelay(max_attempts, backoff_time_millis, predicates)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy:
        """Try up to `max_attempts` times with a pause that grows by `multiplier`."""
        _check_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        predicates = _Predicates(result_predicate, exception_predicate)
        return _ExponentialBackoff(
            max_attempts, initial_delay, max_retry_delay, multiplier, predicates
        )


class _FixedDelay(AsyncRetryStrategy):
    def __init__(self, max_attempts: int, backoff: int, predicate: AsyncRetryPredicate) -> None:
        self._max_attempts = max_attempts
        self._backoff = backoff
        self._predicate = predicate

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class _ExponentialBackoff(_FixedDelay):
    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        predicate: AsyncRetryPredicate,
    ) -> None:
        super().__init__(max_attempts, initial_delay, predicate)
        self._max_delay = max_retry_delay
        self._multiplier = multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        # Worked out from the attempt, not kept in a field: one strategy serves many records.
        steps = max(current_attempts - 1, 0)
        return int(min(self._backoff * self._multiplier**steps, self._max_delay))


def _check_positive(**settings: float) -> None:
    for name, value in settings.items():
        if value <= 0:
            raise ConfigurationError(
                f"{name} must be above zero", where="AsyncRetryStrategy", got=show_value(value)
            )


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
        async_retry_strategy: AsyncRetryStrategy | None = None,
        output_mode: OutputMode = OutputMode.ORDERED,
    ) -> None:
        _check_positive(capacity=capacity)
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy or AsyncRetryStrategy.no_restart()
        self.output_mode = output_mode


RichAsyncFunction = AsyncFunction
