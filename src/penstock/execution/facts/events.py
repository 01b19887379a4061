"""What a job's read model is told after each batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.execution.facts.snapshot import AccumulatorReading, MetricReading

#: A subtask of an operator, by uid.
SubtaskId = tuple[str, int]


@dataclass(frozen=True)
class OperatorReport:
    """One subtask of an operator in one batch."""

    uid: str
    subtask: int
    records_in: int
    records_out: int
    records_sent: int
    bytes_in: int
    bytes_out: int
    input_watermark: int | None
    output_watermark: int | None
    #: Since the job's begin, unlike the others.
    late_dropped: int
    fired: int
    state_rows: int
    state_bytes: int
    #: Spent on what was bound for it, with what is chained behind it.
    seconds: float
    finished: bool


@dataclass(frozen=True)
class TaskReport:
    """One task in one batch: the operators of a slot, or of one subtask of a source."""

    level: int
    seconds: float
    host: str
    pid: int
    memory: int
    operators: list[OperatorReport]


@dataclass(frozen=True)
class BatchReport:
    """One batch, when it has been recorded. Times are epoch milliseconds."""

    number: int
    begin: int
    #: When it was planned, when its output had come, and when that was written down.
    planned: int
    ran: int
    recorded: int
    tasks: list[TaskReport]
    #: Of subtasks whose readings have changed.
    metrics: dict[SubtaskId, list[MetricReading]] = field(default_factory=dict)
    accumulators: dict[SubtaskId, list[AccumulatorReading]] = field(default_factory=dict)
    #: Of the whole job; None if nothing has changed.
    totals: list[AccumulatorReading] | None = None
