"""What happens after a job has failed: give up, or try again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TypeVar

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.errors import ConfigurationError, show_value

Span = Duration | Time | timedelta | int
N = TypeVar("N", int, float)


class RestartStrategyConfiguration(ABC):
    """Settings of a restart strategy."""

    @abstractmethod
    def get_description(self) -> str:
        """Return the settings as a sentence."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).values())))

    def __repr__(self) -> str:
        return self.get_description()


class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Never restart."""

    def get_description(self) -> str:
        return "Restart deactivated."


class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Do what the configuration file says."""

    def get_description(self) -> str:
        return "Cluster level default restart strategy"


class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart a number of times, each time after the same pause."""

    def __init__(self, restart_attempts: int, delay_between_attempts_interval: Span) -> None:
        self.restart_attempts = _not_negative("restart_attempts", restart_attempts)
        self.delay_ms = _not_negative("delay", to_milliseconds(delay_between_attempts_interval))

    def get_description(self) -> str:
        return (
            f"Restart with fixed delay ({self.delay_ms} ms). "
            f"#{self.restart_attempts} restart attempts."
        )


class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart as long as failures are rare enough."""

    def __init__(
        self,
        max_failure_rate: int,
        failure_interval: Span,
        delay_between_attempts_interval: Span,
    ) -> None:
        self.max_failure_rate = _not_negative("max_failure_rate", max_failure_rate)
        self.failure_interval_ms = _not_negative(
            "failure_interval", to_milliseconds(failure_interval)
        )
        self.delay_ms = _not_negative("delay", to_milliseconds(delay_between_attempts_interval))

    def get_description(self) -> str:
        return (
            f"Failure rate restart with maximum of {self.max_failure_rate} failures within "
            f"interval {self.failure_interval_ms} ms and fixed delay {self.delay_ms} ms."
        )


class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
    """Restart with pauses that grow, and begin anew after a quiet time.

    :param attempts_before_reset_backoff: restarts in a row before giving up; None: no limit.
    """

    def __init__(
        self,
        initial_backoff: Span,
        max_backoff: Span,
        backoff_multiplier: float,
        reset_backoff_threshold: Span,
        jitter_factor: float,
        attempts_before_reset_backoff: int | None = None,
    ) -> None:
        self.initial_backoff_ms = _not_negative("initial_backoff", to_milliseconds(initial_backoff))
        self.max_backoff_ms = _not_negative("max_backoff", to_milliseconds(max_backoff))
        self.backoff_multiplier = _not_negative("backoff_multiplier", backoff_multiplier)
        self.reset_backoff_threshold_ms = _not_negative(
            "reset_backoff_threshold", to_milliseconds(reset_backoff_threshold)
        )
        self.jitter_factor = _not_negative("jitter_factor", jitter_factor)
        self.attempts_before_reset_backoff = attempts_before_reset_backoff

    def get_description(self) -> str:
        return (
            f"Restart with exponential delay: starting at {self.initial_backoff_ms} ms, "
            f"increasing by {self.backoff_multiplier}, with maximum {self.max_backoff_ms} ms. "
            f"Delay resets after {self.reset_backoff_threshold_ms} ms "
            f"with jitter {self.jitter_factor}"
        )


class RestartStrategies:
    """Make restart strategies.

    >>> RestartStrategies.fixed_delay_restart(3, 10_000).get_description()
    'Restart with fixed delay (10000 ms). #3 restart attempts.'
    """

    NoRestartStrategyConfiguration = NoRestartStrategyConfiguration
    FallbackRestartStrategyConfiguration = FallbackRestartStrategyConfiguration
    FixedDelayRestartStrategyConfiguration = FixedDelayRestartStrategyConfiguration
    FailureRateRestartStrategyConfiguration = FailureRateRestartStrategyConfiguration
    ExponentialDelayRestartStrategyConfiguration = ExponentialDelayRestartStrategyConfiguration

    @staticmethod
    def no_restart() -> RestartStrategyConfiguration:
        """Never restart: the first failure ends the job."""
        return NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategyConfiguration:
        """Do what the configuration file says."""
        return FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: Span
    ) -> RestartStrategyConfiguration:
        """Restart a number of times, each time after the same pause.

        :param delay_between_attempts: a span, or milliseconds.
        """
        return FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: Span, delay_interval: Span
    ) -> RestartStrategyConfiguration:
        """Restart unless there were more than `failure_rate` failures within the interval."""
        return FailureRateRestartStrategyConfiguration(
            failure_rate, failure_interval, delay_interval
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: Span,
        max_backoff: Span,
        backoff_multiplier: float,
        reset_backoff_threshold: Span,
        jitter_factor: float,
    ) -> RestartStrategyConfiguration:
        """Restart without end, with pauses that grow and shrink back after a quiet time."""
        return ExponentialDelayRestartStrategyConfiguration(
            initial_backoff, max_backoff, backoff_multiplier, reset_backoff_threshold, jitter_factor
        )


def _not_negative(name: str, value: N) -> N:
    if value < 0:
        raise ConfigurationError(
            f"{name} must not be negative", where="RestartStrategies", got=show_value(value)
        )
    return value
