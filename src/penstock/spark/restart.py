"""When a failed job is started again, from its last finished batch: Flink's restart strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any

from penstock.common.restart_keys import restart_strategy_of_job
from penstock.common.restart_strategy import (
    ExponentialDelayRestartStrategyConfiguration,
    FailureRateRestartStrategyConfiguration,
    FixedDelayRestartStrategyConfiguration,
)


class RestartStrategy(ABC):
    """Decide whether a job that has failed is started again, and after how long."""

    @abstractmethod
    def delay_after_failure(self, now: float) -> float | None:
        """Return the seconds to wait before the next start, None to give up.

        :param now: seconds on a clock that never goes back.
        """

    @staticmethod
    def from_settings(settings: Mapping[str, Any]) -> RestartStrategy:
        """Return the strategy of a job.

        :raises ConfigurationError: if there is none of the name that the settings have, or one of
            them makes no sense.
        """
        chosen = restart_strategy_of_job(settings)
        if isinstance(chosen, FixedDelayRestartStrategyConfiguration):
            return FixedDelayRestart(chosen)
        if isinstance(chosen, FailureRateRestartStrategyConfiguration):
            return FailureRateRestart(chosen)
        if isinstance(chosen, ExponentialDelayRestartStrategyConfiguration):
            return ExponentialDelayRestart(chosen)
        return NoRestart()


class NoRestart(RestartStrategy):
    """The first failure ends the job."""

    def delay_after_failure(self, now: float) -> float | None:
        return None


class FixedDelayRestart(RestartStrategy):
    """A number of restarts, each after the same delay."""

    def __init__(self, chosen: FixedDelayRestartStrategyConfiguration) -> None:
        self._left = chosen.restart_attempts
        self._delay = chosen.delay_ms / 1000

    def delay_after_failure(self, now: float) -> float | None:
        self._left -= 1
        return None if self._left < 0 else self._delay


class FailureRateRestart(RestartStrategy):
    """Restarts as long as there are not too many failures within an interval."""

    def __init__(self, chosen: FailureRateRestartStrategyConfiguration) -> None:
        self._most = chosen.max_failure_rate
        self._interval = chosen.failure_interval_ms / 1000
        self._delay = chosen.delay_ms / 1000
        self._failures: deque[float] = deque()

    def delay_after_failure(self, now: float) -> float | None:
        self._failures.append(now)
        while self._failures[0] < now - self._interval:
            self._failures.popleft()
        return None if len(self._failures) > self._most else self._delay


class ExponentialDelayRestart(RestartStrategy):
    """Restarts after a delay that grows, and is reset after a time without failures.

    Flink spreads the delay by a random share, so that many jobs do not start at the same moment;
    here one job starts, and the delay is what the settings say.
    """

    def __init__(self, chosen: ExponentialDelayRestartStrategyConfiguration) -> None:
        self._initial = chosen.initial_backoff_ms / 1000
        self._longest = chosen.max_backoff_ms / 1000
        self._factor = chosen.backoff_multiplier
        self._quiet = chosen.reset_backoff_threshold_ms / 1000
        self._most = chosen.attempts_before_reset_backoff
        self._attempts = 0
        self._last: float | None = None

    def delay_after_failure(self, now: float) -> float | None:
        if self._last is not None and now - self._last > self._quiet:
            self._attempts = 0
        self._last = now
        self._attempts += 1
        if self._most is not None and self._attempts > self._most:
            return None
        return min(self._initial * self._factor ** (self._attempts - 1), self._longest)
