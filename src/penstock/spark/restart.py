"""When a failed job is started again, from its last finished batch: Flink's restart strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping

from penstock.common.time import Duration
from penstock.core.checkpoints import INTERVAL_KEY
from penstock.errors import ConfigurationError

TYPE_KEY = "restart-strategy.type"
_OLD_TYPE_KEY = "restart-strategy"


class RestartStrategy(ABC):
    """Decide whether a job that has failed is started again, and after how long."""

    @abstractmethod
    def delay_after_failure(self, now: float) -> float | None:
        """Return the seconds to wait before the next start, None to give up.

        :param now: seconds on a clock that never goes back.
        """

    @staticmethod
    def from_configuration(configuration: Mapping[str, str]) -> RestartStrategy:
        """Make the strategy that `restart-strategy.type` names.

        If it is absent, a job with checkpoints is restarted after growing delays, as in Flink; one
        without is not.

        :raises ConfigurationError: if there is no such strategy, or a setting makes no sense.
        """
        name = configuration.get(TYPE_KEY) or configuration.get(_OLD_TYPE_KEY)
        name = name or _default(configuration)
        kinds: dict[str, Callable[[_Options], RestartStrategy]] = {
            "none": NoRestart,
            "off": NoRestart,
            "disable": NoRestart,
            "fixed-delay": FixedDelayRestart,
            "fixeddelay": FixedDelayRestart,
            "failure-rate": FailureRateRestart,
            "failurerate": FailureRateRestart,
            "exponential-delay": ExponentialDelayRestart,
            "exponentialdelay": ExponentialDelayRestart,
        }
        kind = kinds.get(name.lower())
        if kind is None:
            raise ConfigurationError(
                "there is no restart strategy of that name",
                where=f"configuration key {TYPE_KEY}",
                got=repr(name),
                todo="use none, fixed-delay, failure-rate or exponential-delay",
            )
        return kind(_Options(configuration))


def _default(configuration: Mapping[str, str]) -> str:
    interval = configuration.get(INTERVAL_KEY)
    checkpoints = interval is not None and Duration.parse(interval).to_millis() > 0
    return "exponential-delay" if checkpoints else "none"


class _Options:
    """Typed look at the keys under `restart-strategy`."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._configuration = configuration

    def seconds(self, key: str, default: str) -> float:
        key = f"restart-strategy.{key}"
        return Duration.parse(self._configuration.get(key, default)).to_millis() / 1000

    def number(self, key: str, default: float) -> float:
        key = f"restart-strategy.{key}"
        text = self._configuration.get(key)
        if text is None:
            return default
        try:
            return float(text)
        except ValueError:
            raise ConfigurationError(
                "the setting must be a number", where=f"configuration key {key}", got=repr(text)
            ) from None


class NoRestart(RestartStrategy):
    """The first failure ends the job."""

    def __init__(self, options: _Options) -> None:
        pass

    def delay_after_failure(self, now: float) -> float | None:
        return None


class FixedDelayRestart(RestartStrategy):
    """A number of restarts, each after the same delay."""

    def __init__(self, options: _Options) -> None:
        self._left = int(options.number("fixed-delay.attempts", 1))
        self._delay = options.seconds("fixed-delay.delay", "1 s")

    def delay_after_failure(self, now: float) -> float | None:
        self._left -= 1
        return None if self._left < 0 else self._delay


class FailureRateRestart(RestartStrategy):
    """Restarts as long as there are not too many failures within an interval."""

    def __init__(self, options: _Options) -> None:
        prefix = "failure-rate"
        self._most = int(options.number(f"{prefix}.max-failures-per-interval", 1))
        self._interval = options.seconds(f"{prefix}.failure-rate-interval", "1 min")
        self._delay = options.seconds(f"{prefix}.delay", "1 s")
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

    def __init__(self, options: _Options) -> None:
        prefix = "exponential-delay"
        self._initial = options.seconds(f"{prefix}.initial-backoff", "1 s")
        self._longest = options.seconds(f"{prefix}.max-backoff", "1 min")
        self._factor = options.number(f"{prefix}.backoff-multiplier", 1.5)
        self._quiet = options.seconds(f"{prefix}.reset-backoff-threshold", "1 h")
        self._most = options.number(f"{prefix}.attempts-before-reset-backoff", float("inf"))
        self._attempts = 0
        self._last: float | None = None

    def delay_after_failure(self, now: float) -> float | None:
        if self._last is not None and now - self._last > self._quiet:
            self._attempts = 0
        self._last = now
        self._attempts += 1
        if self._attempts > self._most:
            return None
        return min(self._initial * self._factor ** (self._attempts - 1), self._longest)
