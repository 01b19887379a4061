"""Every setting that Penstock knows: key, type, default, meaning, and older keys.

To add one, declare it here; `make options` then writes the tables of README.md and docs. Whoever
needs its value reads it with `OPTION.read(settings)`. All settings are parsed when a job is
submitted, so that a mistake is told with the file or line that it stands in, and never by a task.
"""

from __future__ import annotations

from penstock.common.config_options import ConfigOption
from penstock.common.option_registry import MORE, add_option
from penstock.common.option_values import (
    AMOUNT,
    COUNT,
    at_least,
    one_of,
    optional,
    optional_duration,
    optional_text,
    parse_bool,
    parse_duration,
    parse_float,
    parse_int,
    parse_map,
    parse_memory,
    parse_texts,
    to_text,
)
from penstock.common.time import Duration

# ---- where and how a job runs -----------------------------------------------------------------

PARALLELISM = add_option(
    "parallelism.default", optional(COUNT), None, "subtasks of an operator", shown="number of cores"
)
MASTER = add_option("penstock.master", optional_text, None, "Spark master", shown="`local[cores]`")
RUNTIME_MODE = add_option(
    "execution.runtime-mode",
    one_of("STREAMING", "BATCH", "AUTOMATIC"),
    "STREAMING",
    "`STREAMING`, `BATCH` or `AUTOMATIC`",
)
TARGET = add_option(
    "execution.target", to_text, "spark", "the engine: `spark`, or `in-process` for tests"
)

PROGRESS = add_option(
    "penstock.progress", parse_bool, True, "on a terminal, a line that says what is going on"
)

# ---- checkpoints and restarts -----------------------------------------------------------------

CHECKPOINT_DIR = add_option(
    "execution.checkpointing.dir",
    optional_text,
    None,
    "where a job keeps what it needs to go on",
    older=("state.checkpoints.dir",),
    shown="a temporary folder",
)
RETENTION = add_option(
    "execution.checkpointing.externalized-checkpoint-retention",
    one_of("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "`RETAIN_ON_CANCELLATION` keeps that of a cancelled job",
    shown="removed",
)
CHECKPOINT_INTERVAL = add_option(
    "execution.checkpointing.interval",
    optional_duration,
    None,
    "how often output is published",
    shown="with every batch",
)
SAVEPOINT_DIR = add_option(
    "execution.checkpointing.savepoint-dir",
    optional_text,
    None,
    "folder of savepoints that name none",
    older=("state.savepoints.dir",),
    rank=MORE,
)
RECOVERY_PATH = add_option(
    "execution.state-recovery.path",
    optional_text,
    None,
    "savepoint, or folder of a retained checkpoint, that a job goes on from",
    older=("execution.savepoint.path",),
)
IGNORE_UNCLAIMED = add_option(
    "execution.state-recovery.ignore-unclaimed-state",
    parse_bool,
    False,
    "drop state of operators that the program does not have, rather than refuse it",
    older=("execution.savepoint.ignore-unclaimed-state",),
    rank=MORE,
)
CLAIM_MODE = add_option(
    "execution.state-recovery.claim-mode",
    one_of("NO_CLAIM", "CLAIM", "LEGACY"),
    "NO_CLAIM",
    "`CLAIM` removes the savepoint that a job goes on from when it is not needed any more",
    older=("execution.savepoint-restore-mode",),
    rank=MORE,
)
RESTART_TYPE = add_option(
    "restart-strategy.type",
    optional(
        one_of(
            "none",
            "fixed-delay",
            "failure-rate",
            "exponential-delay",
            also={
                "off": "none",
                "disable": "none",
                "fixeddelay": "fixed-delay",
                "failurerate": "failure-rate",
                "exponentialdelay": "exponential-delay",
            },
        )
    ),
    None,
    "`none`, `fixed-delay`, `failure-rate`, `exponential-delay`",
    older=("restart-strategy",),
    shown="`exponential-delay` if an interval is set, else `none`",
)
_FIXED, _RATE = "restart-strategy.fixed-delay.", "restart-strategy.failure-rate."
_EXPONENTIAL = "restart-strategy.exponential-delay."
FIXED_ATTEMPTS = add_option(_FIXED + "attempts", AMOUNT, 1, "restarts before giving up", rank=MORE)
FIXED_DELAY = add_option(
    _FIXED + "delay", parse_duration, Duration.of_seconds(1), "pause before a restart", rank=MORE
)
RATE_FAILURES = add_option(
    _RATE + "max-failures-per-interval",
    AMOUNT,
    1,
    "failures within the interval that are followed by a restart",
    rank=MORE,
)
RATE_INTERVAL = add_option(
    _RATE + "failure-rate-interval",
    parse_duration,
    Duration.of_minutes(1),
    "the interval in which failures are counted",
    rank=MORE,
)
RATE_DELAY = add_option(
    _RATE + "delay", parse_duration, Duration.of_seconds(1), "pause before a restart", rank=MORE
)
BACKOFF_INITIAL = add_option(
    _EXPONENTIAL + "initial-backoff",
    parse_duration,
    Duration.of_seconds(1),
    "pause before the first restart",
    rank=MORE,
)
BACKOFF_MAX = add_option(
    _EXPONENTIAL + "max-backoff", parse_duration, Duration.of_minutes(1), "longest pause", rank=MORE
)
BACKOFF_MULTIPLIER = add_option(
    _EXPONENTIAL + "backoff-multiplier",
    at_least(1.0, parse_float),
    1.5,
    "by how much the pause grows with each failure",
    rank=MORE,
)
BACKOFF_RESET = add_option(
    _EXPONENTIAL + "reset-backoff-threshold",
    parse_duration,
    Duration.of_hours(1),
    "time without a failure after which the pause is the first one again",
    rank=MORE,
)
BACKOFF_ATTEMPTS = add_option(
    _EXPONENTIAL + "attempts-before-reset-backoff",
    optional(AMOUNT),
    None,
    "restarts before giving up",
    shown="no limit",
    rank=MORE,
)

# ---- REST ---------------------------------------------------------------------------------------

REST_PORT = add_option(
    "rest.port",
    optional(AMOUNT),
    None,
    "port of a job's own REST server and dashboard; with `rest.address`, that of a session",
    shown="none",
)
REST_ADDRESS = add_option(
    "rest.address",
    optional_text,
    None,
    "host of a session that is told of the job, and that the command line asks",
    shown="none",
    rank=MORE,
)
REST_TOKEN_FILE = add_option(
    "penstock.rest.token-file",
    optional_text,
    None,
    "file with the token of that session",
    rank=MORE,
)

# ---- batches, watermarks, workers -------------------------------------------------------------

BATCH_RECORDS = add_option(
    "penstock.batch.max-records", COUNT, 400_000, "most records of a source in a batch"
)
BATCH_BYTES = add_option(
    "penstock.batch.max-bytes",
    at_least(1, parse_memory),
    64 << 20,
    "most bytes in a batch",
    shown="`64 mb`",
)
PENDING_CHECKPOINTS = add_option(
    "penstock.publish.max-pending-checkpoints",
    COUNT,
    2,
    "checkpoints that may wait for being published before no further batch begins",
    rank=MORE,
)
WATERMARK_RECORDS = add_option(
    "penstock.watermark.records",
    COUNT,
    8192,
    "records between two questions to a periodic watermark generator",
)
WATERMARK_TRACE = add_option(
    "penstock.watermark.trace", parse_bool, False, "print how time passes at operators", rank=MORE
)
TRACE_OPERATOR: ConfigOption[tuple[str, ...]] = add_option(
    "penstock.watermark.trace.operator",
    parse_texts,
    (),
    "names or uids of operators to trace, parted by commas",
    shown="windows and joins",
    rank=MORE,
)
TRACE_TIMELINE = add_option(
    "penstock.watermark.trace.timeline",
    optional_text,
    None,
    "file for a drawing of the trace, `.html` or `.png`",
    rank=MORE,
)
CACHE_BYTES = add_option(
    "penstock.worker.cache-bytes",
    parse_memory,
    1 << 30,
    "state that a worker keeps in memory",
    shown="`1 gb`",
)

PREFORK = add_option(
    "penstock.worker.prefork",
    parse_bool,
    True,
    "fork Spark's Python processes from one that has loaded what they need; read when Spark starts",
    rank=MORE,
)

# ---- Spark's log ------------------------------------------------------------------------------

LOG_LEVEL = add_option(
    "penstock.spark.log-level",
    one_of("off", "fatal", "error", "warn", "info", "debug", "trace", "all"),
    "warn",
    "what Spark writes to its log",
)
LOG_FILE = add_option(
    "penstock.spark.log-file",
    optional_text,
    None,
    "where that log goes; read when Spark starts",
    shown="a temporary file, kept if Spark fails",
)

# ---- what is shown of a job -------------------------------------------------------------------

LOG_DIR = add_option(
    "env.log.dir",
    optional_text,
    None,
    "where a job's log goes: `<job id>/job.log`, and Spark's own beside it",
    shown="the process's temporary folder",
    rank=MORE,
)
JOB_LOG_LEVEL = add_option(
    "env.log.level",
    optional(one_of("DEBUG", "INFO", "WARNING", "ERROR", also={"warn": "WARNING"})),
    None,
    "the least level of what goes into a job's log",
    shown="as the program's own logging says",
    rank=MORE,
)
JOB_LOG_FILES = add_option(
    "env.log.max", COUNT, 10, "how many older files of a job's log are kept", rank=MORE
)
JOB_LOG_BYTES = add_option(
    "penstock.log.max-size",
    parse_memory,
    10 << 20,
    "a job's log of this size is put aside, and a new one begun",
    shown="`10 mb`",
    rank=MORE,
)
ARCHIVE_DIR = add_option(
    "jobmanager.archive.fs.dir",
    optional_text,
    None,
    "where a job that has ended is archived for the history server",
    rank=MORE,
)
HISTORY_DIR: ConfigOption[tuple[str, ...]] = add_option(
    "historyserver.archive.fs.dir",
    parse_texts,
    (),
    "folders that the history server shows archives of, parted by commas",
    shown="`jobmanager.archive.fs.dir`",
    rank=MORE,
)
HISTORY_REFRESH = add_option(
    "historyserver.archive.fs.refresh-interval",
    parse_duration,
    Duration.of_seconds(10),
    "how often the history server looks for new archives",
    rank=MORE,
)
HISTORY_ADDRESS = add_option(
    "historyserver.web.address",
    to_text,
    "127.0.0.1",
    "address that the history server listens on",
    rank=MORE,
)
HISTORY_PORT = add_option(
    "historyserver.web.port", AMOUNT, 8082, "port that the history server listens on", rank=MORE
)
FACTS_DIR = add_option(
    "penstock.facts-dir",
    optional_text,
    None,
    "where a job leaves what is known of it, as `<job id>.json`, whenever its state changes",
    rank=MORE,
)
REPORTERS: ConfigOption[tuple[str, ...]] = add_option(
    "metrics.reporters",
    parse_texts,
    (),
    "names of reporters of metrics; `prom` is Prometheus, see `metrics.reporter.prom.port`",
    rank=MORE,
)
PROMETHEUS_PORT = add_option(
    "metrics.reporter.prom.port",
    to_text,
    "9249",
    "port, or range of ports, that the reporter `prom` listens on",
    rank=MORE,
)
PROMETHEUS_HOST = add_option(
    "metrics.reporter.prom.host",
    to_text,
    "127.0.0.1",
    "address that the reporter `prom` listens on",
    rank=MORE,
)

# ---- Python of the workers --------------------------------------------------------------------

PYTHON_FILES: ConfigOption[tuple[str, ...]] = add_option(
    "python.files",
    parse_texts,
    (),
    "files, folders and zip files for the workers' path, parted by commas",
    shown="",
)
PYTHON_ARCHIVES: ConfigOption[tuple[str, ...]] = add_option(
    "python.archives",
    parse_texts,
    (),
    "archives unpacked in the workers' working directory, `file#target`, parted by commas",
    shown="",
)
PYTHON_REQUIREMENTS = add_option(
    "python.requirements",
    optional_text,
    None,
    "a requirements file for the workers, `file#folder of packages`",
)
PYTHON_EXECUTABLE = add_option(
    "python.executable", optional_text, None, "the workers' interpreter", shown="the program's own"
)

# ---- the program ------------------------------------------------------------------------------

JOB_NAME = add_option(
    "pipeline.name", optional_text, None, "name of jobs that `execute` gives none", rank=MORE
)
MAX_PARALLELISM = add_option(
    "pipeline.max-parallelism",
    optional(COUNT),
    None,
    "key groups of an operator: its largest parallelism ever",
    shown="from the parallelism",
    rank=MORE,
)
CHAINING = add_option(
    "pipeline.operator-chaining.enabled",
    parse_bool,
    True,
    "show operators that follow each other as one",
    older=("pipeline.operator-chaining",),
    rank=MORE,
)
CHAIN_DIFFERENT = add_option(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    parse_bool,
    True,
    "chain operators of different maximum parallelism",
    rank=MORE,
)
TIME_CHARACTERISTIC = add_option(
    "pipeline.time-characteristic",
    optional(one_of("ProcessingTime", "IngestionTime", "EventTime")),
    None,
    "`ProcessingTime`, `IngestionTime` or `EventTime`: what windows follow that name no time",
    rank=MORE,
)
AUTO_UIDS = add_option(
    "pipeline.auto-generate-uids",
    parse_bool,
    True,
    "`false`: an operator with state needs a uid",
    rank=MORE,
)
JOB_PARAMETERS: ConfigOption[dict[str, str]] = add_option(
    "pipeline.global-job-parameters",
    parse_map,
    {},
    "what functions find in their runtime context, `a:1,b:2`",
    rank=MORE,
)
LOCAL_TIME_ZONE = add_option(
    "table.local-time-zone",
    optional_text,
    None,
    "time zone that times are shown in",
    shown="the machine's",
    rank=MORE,
)

# ---- tables and SQL ---------------------------------------------------------------------------

STATE_TTL = add_option(
    "table.exec.state.ttl",
    parse_duration,
    Duration.of_millis(0),
    "how long a query keeps what it knows of a silent key; `0 ms` for ever",
    rank=MORE,
)
SOURCE_IDLE_TIMEOUT = add_option(
    "table.exec.source.idle-timeout",
    parse_duration,
    Duration.of_millis(0),
    "after how long a silent split of a table no longer holds watermarks back; `0 ms` never",
    rank=MORE,
)
MINI_BATCH_ENABLED = add_option(
    "table.exec.mini-batch.enabled", parse_bool, False, "update by mini-batches of rows", rank=MORE
)
MINI_BATCH_LATENCY = add_option(
    "table.exec.mini-batch.allow-latency",
    parse_duration,
    Duration.of_millis(0),
    "must be set with it; a mini-batch never waits longer than for the end of the batch",
    rank=MORE,
)
MINI_BATCH_SIZE = add_option(
    "table.exec.mini-batch.size", parse_int, -1, "rows of one in a subtask; must be set", rank=MORE
)
AGG_PHASE_STRATEGY = add_option(
    "table.optimizer.agg-phase-strategy",
    one_of("AUTO", "ONE_PHASE", "TWO_PHASE"),
    "AUTO",
    "with mini-batches, whether aggregates are also made in front of the exchange; `AUTO`: where "
    "they can be",
    rank=MORE,
)
SQL_DIALECT = add_option(
    "table.sql-dialect", one_of("default", "hive"), "default", "always read as Flink's", rank=MORE
)
