"""Settings of Flink that programs make and that have no effect here: key, type and why."""

from __future__ import annotations

from penstock.common.option_registry import MORE, NO_EFFECT, add_option
from penstock.common.option_values import (
    AMOUNT,
    at_least,
    one_of,
    optional,
    parse_bool,
    parse_duration,
    parse_float,
    to_text,
)
from penstock.common.time import Duration

BACKOFF_JITTER = add_option(
    "restart-strategy.exponential-delay.jitter-factor",
    at_least(0.0, parse_float),
    0.1,
    "spread of the pauses of many jobs; one process runs one, and does not spread",
    rank=NO_EFFECT,
)
AUTO_WATERMARK_INTERVAL = add_option(
    "pipeline.auto-watermark-interval",
    parse_duration,
    Duration.of_millis(200),
    "generators are asked by records, see `penstock.watermark.records`",
    rank=NO_EFFECT,
)
OBJECT_REUSE = add_option(
    "pipeline.object-reuse", parse_bool, False, "records are never reused", rank=NO_EFFECT
)
CACHED_FILES = add_option(
    "pipeline.cached-files", to_text, "", "files for Java functions", rank=NO_EFFECT
)
BUFFER_TIMEOUT = add_option(
    "execution.buffer-timeout.interval",
    parse_duration,
    Duration.of_millis(100),
    "records leave an operator with their batch",
    older=("execution.buffer-timeout",),
    rank=NO_EFFECT,
)
CHANGELOG = add_option(
    "state.changelog.enabled",
    optional(parse_bool),
    None,
    "state is a log of changes in any case",
    older=("state.backend.changelog.enabled",),
    rank=NO_EFFECT,
)
_CHECKPOINTS = "execution.checkpointing."
CHECKPOINT_MODE = add_option(
    _CHECKPOINTS + "mode",
    one_of("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "EXACTLY_ONCE",
    "state is exactly once in any case",
    rank=NO_EFFECT,
)
CHECKPOINT_TIMEOUT = add_option(
    _CHECKPOINTS + "timeout",
    parse_duration,
    Duration.of_minutes(10),
    "how long a savepoint may take",
    rank=MORE,
)
CHECKPOINT_PAUSE = add_option(
    _CHECKPOINTS + "min-pause",
    parse_duration,
    Duration.of_millis(0),
    "least time between two checkpoints, where an interval is set",
    rank=MORE,
)
CHECKPOINTS_AT_ONCE = add_option(
    _CHECKPOINTS + "max-concurrent-checkpoints",
    AMOUNT,
    1,
    "checkpoints have no barriers",
    rank=NO_EFFECT,
)
CHECKPOINT_FAILURES = add_option(
    _CHECKPOINTS + "tolerable-failed-checkpoints",
    AMOUNT,
    0,
    "how often in a row output may fail to be published before the job does",
    rank=MORE,
)
UNALIGNED = add_option(
    _CHECKPOINTS + "unaligned.enabled",
    parse_bool,
    False,
    "checkpoints have no barriers",
    older=(_CHECKPOINTS + "unaligned",),
    rank=NO_EFFECT,
)
FORCE_UNALIGNED = add_option(
    _CHECKPOINTS + "unaligned.forced",
    parse_bool,
    False,
    "checkpoints have no barriers",
    older=(_CHECKPOINTS + "force-unaligned",),
    rank=NO_EFFECT,
)
ALIGNED_TIMEOUT = add_option(
    _CHECKPOINTS + "aligned-checkpoint-timeout",
    parse_duration,
    Duration.of_millis(0),
    "checkpoints have no barriers",
    older=(_CHECKPOINTS + "alignment-timeout",),
    rank=NO_EFFECT,
)
