"""Restart strategies as settings, and back: the one place that knows their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.config_options import ConfigOption
from penstock.common.flink_options import BACKOFF_JITTER
from penstock.common.option_values import to_text
from penstock.common.options import (
    BACKOFF_ATTEMPTS,
    BACKOFF_INITIAL,
    BACKOFF_MAX,
    BACKOFF_MULTIPLIER,
    BACKOFF_RESET,
    CHECKPOINT_INTERVAL,
    FIXED_ATTEMPTS,
    FIXED_DELAY,
    RATE_DELAY,
    RATE_FAILURES,
    RATE_INTERVAL,
    RESTART_TYPE,
)
from penstock.common.restart_strategy import (
    ExponentialDelayRestartStrategyConfiguration,
    FailureRateRestartStrategyConfiguration,
    FixedDelayRestartStrategyConfiguration,
    NoRestartStrategyConfiguration,
    RestartStrategyConfiguration,
)
from penstock.common.time import Duration


def read_restart_strategy(settings: Mapping[str, Any]) -> RestartStrategyConfiguration | None:
    """Return the restart strategy that settings name, None if they name none.

    :raises ConfigurationError: if there is no such strategy, or a setting makes no sense.
    """
    kind = RESTART_TYPE.read(settings)
    return None if kind is None else _strategy(kind, settings)


def restart_strategy_of_job(settings: Mapping[str, Any]) -> RestartStrategyConfiguration:
    """Return the restart strategy of a job.

    If it names none, a job with checkpoints is restarted after growing delays, as in Flink; one
    without is not.
    """
    with_checkpoints = CHECKPOINT_INTERVAL.read(settings) is not None
    default = "exponential-delay" if with_checkpoints else "none"
    return _strategy(RESTART_TYPE.read(settings) or default, settings)


def restart_settings(strategy: RestartStrategyConfiguration | None) -> dict[str, str]:
    """Return the settings that name a restart strategy."""
    found: dict[ConfigOption[Any], Any] = {}
    if isinstance(strategy, NoRestartStrategyConfiguration):
        found = {RESTART_TYPE: "none"}
    elif isinstance(strategy, FixedDelayRestartStrategyConfiguration):
        found = {
            RESTART_TYPE: "fixed-delay",
            FIXED_ATTEMPTS: strategy.restart_attempts,
            FIXED_DELAY: Duration.of_millis(strategy.delay_ms),
        }
    elif isinstance(strategy, FailureRateRestartStrategyConfiguration):
        found = {
            RESTART_TYPE: "failure-rate",
            RATE_FAILURES: strategy.max_failure_rate,
            RATE_INTERVAL: Duration.of_millis(strategy.failure_interval_ms),
            RATE_DELAY: Duration.of_millis(strategy.delay_ms),
        }
    elif isinstance(strategy, ExponentialDelayRestartStrategyConfiguration):
        found = {
            RESTART_TYPE: "exponential-delay",
            BACKOFF_INITIAL: Duration.of_millis(strategy.initial_backoff_ms),
            BACKOFF_MAX: Duration.of_millis(strategy.max_backoff_ms),
            BACKOFF_MULTIPLIER: strategy.backoff_multiplier,
            BACKOFF_RESET: Duration.of_millis(strategy.reset_backoff_threshold_ms),
            BACKOFF_JITTER: strategy.jitter_factor,
            BACKOFF_ATTEMPTS: strategy.attempts_before_reset_backoff,
        }
    return {option.key: to_text(value) for option, value in found.items() if value is not None}


def _strategy(kind: str, settings: Mapping[str, Any]) -> RestartStrategyConfiguration:
    if kind == "fixed-delay":
        return FixedDelayRestartStrategyConfiguration(
            FIXED_ATTEMPTS.read(settings), FIXED_DELAY.read(settings)
        )
    if kind == "failure-rate":
        return FailureRateRestartStrategyConfiguration(
            RATE_FAILURES.read(settings), RATE_INTERVAL.read(settings), RATE_DELAY.read(settings)
        )
    if kind == "exponential-delay":
        return ExponentialDelayRestartStrategyConfiguration(
            BACKOFF_INITIAL.read(settings),
            BACKOFF_MAX.read(settings),
            BACKOFF_MULTIPLIER.read(settings),
            BACKOFF_RESET.read(settings),
            BACKOFF_JITTER.read(settings),
            BACKOFF_ATTEMPTS.read(settings),
        )
    return NoRestartStrategyConfiguration()
