"""ExecutionConfig and restart strategies as configuration keys, and back."""

from __future__ import annotations

import re

from penstock.common import Configuration, Duration, ExecutionConfig, RestartStrategies
from penstock.common.restart_strategy import (
    ExponentialDelayRestartStrategyConfiguration,
    FailureRateRestartStrategyConfiguration,
    FixedDelayRestartStrategyConfiguration,
    NoRestartStrategyConfiguration,
    RestartStrategyConfiguration,
)
from penstock.errors import ConfigurationError

_QUOTED = r"\s*(?:'(?:[^']|'')*'|[^',:]*)\s*"
_PAIR = re.compile(rf"({_QUOTED}):({_QUOTED})(?:,|$)")
_STRATEGY = "restart-strategy.type"
#: Flink's older key for the same.
_STRATEGY_CLASSIC = "restart-strategy"


def apply_configuration(config: ExecutionConfig, settings: Configuration) -> None:
    """Take over into `config` what `settings` say about it."""
    interval = settings.get_string("pipeline.auto-watermark-interval", None)
    if interval is not None:
        config.set_auto_watermark_interval(Duration.parse(interval).to_millis())
    if settings.get_boolean("pipeline.object-reuse", False):
        config.enable_object_reuse()
    if not settings.get_boolean("pipeline.auto-generate-uids", True):
        config.disable_auto_generated_uids()
    parameters = settings.get_string("pipeline.global-job-parameters", None)
    if parameters:
        config.set_global_job_parameters(parse_map(parameters))
    strategy = read_restart_strategy(settings)
    if strategy is not None:
        config.set_restart_strategy(strategy)


def export(config: ExecutionConfig) -> dict[str, str]:
    """Return what `config` says, by configuration key."""
    settings = {
        "pipeline.auto-watermark-interval": f"{config.get_auto_watermark_interval()} ms",
        "pipeline.object-reuse": str(config.is_object_reuse_enabled()).lower(),
        "pipeline.auto-generate-uids": str(config.has_auto_generated_uids_enabled()).lower(),
    }
    parameters = config.get_global_job_parameters()
    if parameters:
        settings["pipeline.global-job-parameters"] = format_map(parameters)
    settings.update(_restart_keys(config.get_restart_strategy()))
    return settings


def parse_map(text: str) -> dict[str, str]:
    """Return a map written Flink's way, `a:1,b:2`; keys and values may be quoted by '...'.

    >>> parse_map("user:me,note:'a, b'")
    {'user': 'me', 'note': 'a, b'}
    """
    pairs = _PAIR.findall(text)
    return {_unquote(key): _unquote(value) for key, value in pairs}


def format_map(values: dict[str, str]) -> str:
    """Return a map written Flink's way.

    >>> format_map({"user": "me", "note": "a, b"})
    "user:me,note:'a, b'"
    """
    return ",".join(f"{_quote(key)}:{_quote(value)}" for key, value in values.items())


def read_restart_strategy(settings: Configuration) -> RestartStrategyConfiguration | None:
    """Return the restart strategy that `settings` name, None if they name none.

    :raises ConfigurationError: if there is no such strategy.
    """
    kind = settings.get_string(_STRATEGY, None) or settings.get_string(_STRATEGY_CLASSIC, None)
    if kind is None:
        return None
    prefix = f"restart-strategy.{kind}."

    def millis(key: str, default: str) -> int:
        text = settings.get_string(prefix + key, default)
        return Duration.parse(str(text)).to_millis()

    if kind in ("none", "off", "disable"):
        return RestartStrategies.no_restart()
    if kind in ("fixed-delay", "fixeddelay"):
        attempts = settings.get_integer(prefix + "attempts", 1)
        return RestartStrategies.fixed_delay_restart(int(attempts or 0), millis("delay", "1 s"))
    if kind in ("failure-rate", "failurerate"):
        rate = settings.get_integer(prefix + "max-failures-per-interval", 1)
        return RestartStrategies.failure_rate_restart(
            int(rate or 0), millis("failure-rate-interval", "1 min"), millis("delay", "1 s")
        )
    if kind in ("exponential-delay", "exponentialdelay"):
        return RestartStrategies.exponential_delay_restart(
            millis("initial-backoff", "1 s"),
            millis("max-backoff", "1 min"),
            float(settings.get_float(prefix + "backoff-multiplier", 1.5) or 1.5),
            millis("reset-backoff-threshold", "1 h"),
            float(settings.get_float(prefix + "jitter-factor", 0.1) or 0.0),
        )
    raise ConfigurationError(
        "there is no such restart strategy",
        where=f"configuration key {_STRATEGY}",
        got=repr(kind),
        todo="use one of: none, fixed-delay, failure-rate, exponential-delay",
    )


def _restart_keys(strategy: RestartStrategyConfiguration | None) -> dict[str, str]:
    if isinstance(strategy, NoRestartStrategyConfiguration):
        return {_STRATEGY: "none"}
    if isinstance(strategy, FixedDelayRestartStrategyConfiguration):
        prefix = "restart-strategy.fixed-delay."
        return {
            _STRATEGY: "fixed-delay",
            prefix + "attempts": str(strategy.restart_attempts),
            prefix + "delay": f"{strategy.delay_ms} ms",
        }
    if isinstance(strategy, FailureRateRestartStrategyConfiguration):
        prefix = "restart-strategy.failure-rate."
        return {
            _STRATEGY: "failure-rate",
            prefix + "max-failures-per-interval": str(strategy.max_failure_rate),
            prefix + "failure-rate-interval": f"{strategy.failure_interval_ms} ms",
            prefix + "delay": f"{strategy.delay_ms} ms",
        }
    if isinstance(strategy, ExponentialDelayRestartStrategyConfiguration):
        prefix = "restart-strategy.exponential-delay."
        return {
            _STRATEGY: "exponential-delay",
            prefix + "initial-backoff": f"{strategy.initial_backoff_ms} ms",
            prefix + "max-backoff": f"{strategy.max_backoff_ms} ms",
            prefix + "backoff-multiplier": str(strategy.backoff_multiplier),
            prefix + "reset-backoff-threshold": f"{strategy.reset_backoff_threshold_ms} ms",
            prefix + "jitter-factor": str(strategy.jitter_factor),
        }
    return {}


def _quote(text: str) -> str:
    if not any(char in text for char in ",:;' "):
        return text
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
