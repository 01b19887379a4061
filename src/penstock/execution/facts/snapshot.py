"""What is known of a job at one moment, as plain data.

Times are epoch milliseconds, durations milliseconds. A watermark is None until there is one;
`core.time.MAX_WATERMARK` says that the input has ended. Counts are since the job was submitted to
its process: a batch that is run again counts once.

`to_json` (`json_form.py`) makes a dict of it, `from_json` reads it back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: What `JobSnapshot.state` and the keys of `timestamps` can be: Flink's words.
JOB_STATES = (
    "INITIALIZING",
    "CREATED",
    "RUNNING",
    "FAILING",
    "FAILED",
    "CANCELLING",
    "CANCELED",
    "FINISHED",
    "RESTARTING",
    "SUSPENDED",
    "RECONCILING",
)


@dataclass
class MetricReading:
    """A metric that a user's function or a connector keeps, as it was after the last batch."""

    #: Groups and name, joined with dots; the operator and the subtask are not part of it.
    name: str
    #: `counter`, `gauge`, `meter` or `distribution`.
    kind: str
    #: A number; of a meter `count` and `rate`; of a distribution `count`, `sum`, `min`, `max`,
    #: `mean`.
    value: Any


@dataclass
class AccumulatorReading:
    """An accumulator; its value is JSON where JSON has it, and text elsewhere."""

    name: str
    #: Name of its class: `IntCounter` and so on.
    type: str
    value: Any


@dataclass
class OperatorSubtask:
    """One parallel instance of an operator."""

    index: int
    #: Of a source: what it has read. Of a sink: what it has taken.
    records_in: int = 0
    #: Main and side outputs together, each record once however many take it. Of a sink: what it
    #: has taken, as all of it goes out.
    records_out: int = 0
    #: Bytes that came and went through exchanges. Of a source, in: what it has read, if it can
    #: tell. Of a sink, out: what it has sent to be published.
    bytes_in: int = 0
    bytes_out: int = 0
    records_in_per_second: float = 0.0
    records_out_per_second: float = 0.0
    bytes_in_per_second: float = 0.0
    bytes_out_per_second: float = 0.0
    input_watermark: int | None = None
    output_watermark: int | None = None
    late_dropped: int = 0
    #: Timers that have fired, of windows and of functions.
    fired: int = 0
    #: Entries of keyed state: keys, or keys and windows.
    state_rows: int = 0
    #: What they weigh in the log, as far as the batches have told.
    state_bytes: int = 0
    accumulators: list[AccumulatorReading] = field(default_factory=list)
    metrics: list[MetricReading] = field(default_factory=list)
    #: Records that left the chain here, once for each edge that took them. Of a sink, all.
    records_sent: int = 0
    records_sent_per_second: float = 0.0


@dataclass
class Points:
    """Ten minutes of an operator, all subtasks together: one entry a column for each point."""

    #: Wall-clock time, rising.
    at: list[int] = field(default_factory=list)
    #: Output watermark: the lowest of the subtasks.
    watermark: list[int | None] = field(default_factory=list)
    #: Counts since the job's begin.
    records_in: list[int] = field(default_factory=list)
    records_out: list[int] = field(default_factory=list)
    late_dropped: list[int] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    state_rows: list[int] = field(default_factory=list)
    #: Milliseconds of a second, busy and back-pressured, since the point before: the mean.
    busy: list[float] = field(default_factory=list)
    backpressured: list[float] = field(default_factory=list)


@dataclass
class OperatorFacts:
    """One operator of a chain."""

    #: What the user gave, or a hash.
    uid: str
    #: 32 hex digits, as Flink's operator ids are; the uid itself if it is such.
    id: str
    name: str
    #: `source`, `sink` or `operator`.
    kind: str
    #: The user's file and line; empty and 0 if unknown.
    file: str
    line: int
    parallelism: int
    max_parallelism: int
    #: Uids of the operators of the same chain that feed it; empty for the head of a chain.
    chained_to: list[str]
    #: Whether it works under keys.
    keyed: bool
    subtasks: list[OperatorSubtask] = field(default_factory=list)
    points: Points = field(default_factory=Points)


@dataclass
class VertexInput:
    """An edge from one chain to another."""

    #: Number of the edge among all edges of the plan.
    edge: int
    #: `id` of the vertex that it comes from.
    vertex: str
    #: FORWARD, HASH, REBALANCE, RESCALE, SHUFFLE, BROADCAST, GLOBAL or CUSTOM.
    ship_strategy: str
    #: Uids of the operators at its two ends.
    from_uid: str
    to_uid: str
    #: Which input of the operator: 0, or 1.
    input: int = 0
    #: Tag of the side output that it carries, None for the main output.
    side_output: str | None = None


@dataclass
class VertexSubtask:
    """One parallel instance of a chain: Flink's task."""

    index: int
    #: Flink's word: CREATED, SCHEDULED, RUNNING, FINISHED, CANCELED, FAILED ...
    state: str
    #: From 0, one more with each restart of the job.
    attempt: int
    #: `WorkerFacts.id` of the worker that ran it last, empty if none has.
    worker: str = ""
    start_time: int = -1
    end_time: int = -1
    #: Milliseconds since the job's begin.
    busy_ms: float = 0.0
    idle_ms: float = 0.0
    backpressured_ms: float = 0.0
    #: Of the last seconds: milliseconds in a second. The three add up to 1000.
    busy_per_second: float = 0.0
    idle_per_second: float = 0.0
    backpressured_per_second: float = 0.0


@dataclass
class VertexFacts:
    """A chain of operators: a vertex of Flink's job graph."""

    #: 32 hex digits: the id of its first operator.
    id: str
    #: Flink's name of a chain: `Source: a -> Map -> Filter`.
    name: str
    parallelism: int
    max_parallelism: int
    #: The number of exchanges in front of it: the stage of the query in which it runs.
    level: int
    slot_sharing_group: str
    inputs: list[VertexInput] = field(default_factory=list)
    #: In topological order; the first one is the head.
    operators: list[OperatorFacts] = field(default_factory=list)
    subtasks: list[VertexSubtask] = field(default_factory=list)


@dataclass
class BatchFacts:
    """One micro-batch."""

    number: int
    begin: int
    #: From its planning until it is recorded and logged.
    duration: int
    #: Milliseconds by name, in the order in which they come; they add up to `duration`. `plan`;
    #: `level 0`, `level 1` ... (the slowest subtask); `engine` (Spark's scheduling, shuffles and
    #: state store); `record` (writing down); `log` (Spark's commit).
    phases: dict[str, float] = field(default_factory=dict)
    #: Read by the sources, and taken by the sinks.
    records_in: int = 0
    records_out: int = 0
    #: The lowest of the sources, None if there is none.
    watermark: int | None = None
    #: Milliseconds between the end of the batch before and its begin: nothing was to be done.
    waited: int = 0


@dataclass
class CheckpointEntry:
    """One checkpoint or savepoint: every batch that is published is one."""

    number: int
    #: `CHECKPOINT` or `SAVEPOINT`.
    kind: str
    #: `COMPLETED` or `FAILED`.
    status: str
    begin: int
    duration: int
    #: Bytes of the whole state, and bytes written for this one.
    state_size: int
    bytes_written: int
    #: By operator (uid), one number a subtask: bytes written, and bytes of its whole state.
    written: dict[str, list[int]] = field(default_factory=dict)
    state: dict[str, list[int]] = field(default_factory=dict)
    #: Folder of a savepoint; of a checkpoint the job's folder.
    path: str = ""
    failure: str = ""


@dataclass
class CheckpointsFacts:
    """Checkpoints of a job; the history is bounded, the counts are not."""

    completed: int = 0
    failed: int = 0
    #: How often the job went on from one: after a failure, or from a savepoint or an earlier run.
    restored: int = 0
    #: What it went on from last: `number`, `path`, `at`, `savepoint`; None if it began anew.
    restored_from: RestoredFrom | None = None
    #: The latest last.
    history: list[CheckpointEntry] = field(default_factory=list)


@dataclass
class RestoredFrom:
    """What a job went on from."""

    number: int
    at: int
    path: str
    savepoint: bool = False


@dataclass
class FailureFacts:
    """Why an attempt failed."""

    #: Of the attempt that failed, from 0.
    attempt: int
    at: int
    #: Class and text of the root cause, the user's own exception if there is one.
    root_type: str
    root_message: str
    #: The whole text as `execute()` raises it.
    text: str
    #: The user's part of the traceback, empty if no code of the user's was involved.
    traceback: str = ""
    #: The operator in which it happened: uid, name and subtask; empty and -1 if in none.
    operator_uid: str = ""
    operator_name: str = ""
    subtask: int = -1
    #: The user's line: where it was raised, or else where the operator was made.
    file: str = ""
    line: int = 0
    #: That line and some around it: first line's number and texts.
    first_line: int = 0
    source: list[str] = field(default_factory=list)
    #: `host:pid` of the worker, empty if it happened in the user's process.
    worker: str = ""


@dataclass
class WorkerFacts:
    """A process that runs tasks: Spark's executors, and the Python workers inside them."""

    #: `host:pid` of a Python worker.
    id: str
    host: str
    pid: int
    #: Spark's executor that it belongs to: `driver` in a local session.
    executor: str = ""
    #: When it was seen last.
    last_seen: int = 0
    #: Resident memory in bytes, 0 if unknown.
    memory: int = 0
    #: Subtasks that it ran in the last batch: `vertex id` and index, as `id:index`.
    tasks: list[str] = field(default_factory=list)


@dataclass
class LogFile:
    """A file that can be read by name."""

    name: str
    path: str
    #: `job` or `spark`.
    kind: str


@dataclass
class JobSnapshot:
    """All of it."""

    #: 32 hex digits.
    job_id: str
    name: str
    state: str
    #: By every one of `JOB_STATES`: when it was entered last, 0 if never.
    timestamps: dict[str, int]
    start_time: int
    #: -1 while the job runs.
    end_time: int
    #: When this was taken.
    at: int
    #: `STREAMING` or `BATCH`.
    mode: str
    #: How often the job has been restarted.
    attempt: int
    #: Slots that a level has; how many stateful levels.
    slots: int
    levels: int
    vertices: list[VertexFacts] = field(default_factory=list)
    batches: list[BatchFacts] = field(default_factory=list)
    #: How many there have been, however many are kept.
    batch_count: int = 0
    checkpoints: CheckpointsFacts = field(default_factory=CheckpointsFacts)
    #: The latest last.
    failures: list[FailureFacts] = field(default_factory=list)
    accumulators: list[AccumulatorReading] = field(default_factory=list)
    #: Settings by key; values that look secret are `******`.
    configuration: dict[str, str] = field(default_factory=dict)
    workers: list[WorkerFacts] = field(default_factory=list)
    #: Where Spark runs: `local[2]`, `spark://...`; the host and the process of the driver.
    master: str = ""
    host: str = ""
    pid: int = 0
    #: Slots of the whole engine: cores of all executors.
    engine_slots: int = 0
    logs: list[LogFile] = field(default_factory=list)
    version: str = ""
    #: Of the form of this data.
    format: int = 1
