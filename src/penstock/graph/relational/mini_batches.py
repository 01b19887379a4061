"""What the settings say about mini-batches and the phases of aggregates."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.common.options import (
    AGG_PHASE_STRATEGY,
    MINI_BATCH_ENABLED,
    MINI_BATCH_LATENCY,
    MINI_BATCH_SIZE,
)
from penstock.errors import ConfigurationError


def mini_batch_size(settings: Mapping[str, str]) -> int:
    """Return how many rows a mini-batch has at most; 0 if every row is to update results.

    :raises ConfigurationError: if mini-batches are asked for and not described, as in Flink.
    """
    if not MINI_BATCH_ENABLED.read(settings):
        return 0
    if MINI_BATCH_LATENCY.read(settings).to_millis() <= 0:
        raise _missing(MINI_BATCH_LATENCY.key, settings, "5 s")
    size = MINI_BATCH_SIZE.read(settings)
    if size <= 0:
        raise _missing(MINI_BATCH_SIZE.key, settings, "5000")
    return size


def two_phase(settings: Mapping[str, str]) -> bool:
    """Tell whether aggregates are made in two phases: only with mini-batches, as in Flink."""
    return mini_batch_size(settings) > 0 and AGG_PHASE_STRATEGY.read(settings) != "ONE_PHASE"


def _missing(key: str, settings: Mapping[str, str], example: str) -> ConfigurationError:
    found = settings.get(key)
    return ConfigurationError(
        f"mini-batches need {key!r} to be greater than zero",
        got="it is not set" if found is None else repr(found),
        todo=f"set it, for instance to {example!r}, or switch {MINI_BATCH_ENABLED.key!r} off",
    )
