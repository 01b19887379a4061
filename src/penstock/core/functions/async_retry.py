"""How asynchronous calls are tried again: in which cases, how often, after how long."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.errors import ConfigurationError, show_value

OUT = TypeVar("OUT")

ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[Exception], bool]


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Say which results and which exceptions are worth another try."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Return the test of a result, or None if every result is good."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return the test of an exception, or None if every exception is final."""


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Two functions as a predicate."""

    def __init__(
        self,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Say how often, after how long and in which cases a call is tried again."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another try may follow the `current_attempts` that were made."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait before the next try, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which results and exceptions are worth another try."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never try again."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy[Any]:
        """Try again up to `max_attempts` times with the same pause before each try."""
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy[Any]:
        """Try again up to `max_attempts` times with a pause that grows by `multiplier`."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """Never try again."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Try again with the same pause before each try.

    >>> strategy = FixedDelayRetryStrategy(3, 100, None, lambda error: isinstance(error, OSError))
    >>> strategy.can_retry(3), strategy.can_retry(4)
    (True, False)

    :param max_attempts: how often to try again.
    :param result_predicate: tells whether a result is worth another try; None: none is.
    :param exception_predicate: tells whether an exception is; None: none is.
    """

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        check_positive(
            type(self).__name__, max_attempts=max_attempts, backoff_time_millis=backoff_time_millis
        )
        self._max_attempts = max_attempts
        self._backoff = backoff_time_millis
        self._predicate: RetryPredicate[OUT] = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(FixedDelayRetryStrategy[OUT]):
    """Try again with a pause that grows.

    >>> strategy = ExponentialBackoffDelayRetryStrategy(5, 100, 1000, 2.0)
    >>> [strategy.get_backoff_time_millis(attempt) for attempt in range(1, 6)]
    [100, 200, 400, 800, 1000]
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        check_positive(
            type(self).__name__, initial_delay=initial_delay, max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )  # fmt: skip
        super().__init__(max_attempts, initial_delay, result_predicate, exception_predicate)
        self._max_delay = max_retry_delay
        self._multiplier = multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        # Worked out from the attempt, not kept in a field: one strategy serves many records.
        steps = max(current_attempts - 1, 0)
        return int(min(self._backoff * self._multiplier**steps, self._max_delay))


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Tell whether there is no result."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Tell whether there is an exception, of whatever class."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException]
) -> bool:
    """Tell whether an exception is of a class; `functools.partial` makes a predicate of it."""
    return isinstance(error, expected_error_type)


def check_positive(where: str, **settings: float) -> None:
    """Check that numbers are above zero.

    :raises ConfigurationError: if one is not.
    """
    for name, value in settings.items():
        if value <= 0:
            raise ConfigurationError(
                f"{name} must be above zero", where=where, got=show_value(value)
            )
