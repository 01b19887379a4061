"""Watch a job's batches, and tell its read model and its history of checkpoints of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.time import MIN_WATERMARK
from penstock.execution.facts import events
from penstock.execution.facts.job_facts import JobFacts
from penstock.execution.facts.json_form import plain
from penstock.execution.facts.snapshot import (
    AccumulatorReading,
    CheckpointEntry,
    MetricReading,
    RestoredFrom,
)
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.coordinator.accumulators import all_accumulators
from penstock.runtime.coordinator.history import CheckpointFacts, CheckpointHistory
from penstock.runtime.coordinator.offsets import Offset
from penstock.runtime.coordinator.progress import JobProgress, progress_of
from penstock.runtime.coordinator.records import BatchRecord, JobState
from penstock.runtime.coordinator.sources import HostedSource
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.meter import OperatorCounts, TaskCounts
from penstock.runtime.report import BatchReport, SubtaskId
from penstock.runtime.savepoint.format import Savepoint


class BatchWatch:
    """Called by the coordinator at each step of a batch.

    :param facts: the job's read model; None if nobody asks.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        directory: JobDirectory,
        facts: JobFacts | None,
        clock: Callable[[], int],
    ) -> None:
        self._plan = plan
        self._sources = {operator.id for operator in plan.sources()}
        #: Records that the sources have given since this attempt began.
        self._read = 0
        self._operators = {operator.id: operator for operator in plan.operators}
        self._names = {operator.uid: operator.name for operator in plan.operators}
        self._path = str(directory.path)
        self._facts = facts
        self._clock = clock
        uids = {operator.id: operator.uid for operator in plan.operators}
        self._history = CheckpointHistory(directory, uids)
        self._begun = self._planned = self._ran = 0
        if facts is not None:
            facts.checkpoints_known(self._entry(each) for each in self._history.entries())

    def checkpoints(self) -> list[CheckpointFacts]:
        """Return the last checkpoints, the latest last."""
        return self._history.entries()

    def progress(
        self,
        sources: Mapping[str, HostedSource],
        initial: Offset | None,
        record: BatchRecord | None,
    ) -> JobProgress:
        """Return how far the job had come with its last recorded batch."""
        return progress_of(self._plan, sources, initial, record, self._read)

    def restored(self, number: int, savepoint: Savepoint | None, state: JobState) -> None:
        """Take note that the job goes on from a batch, or from a savepoint.

        :param state: what the tasks had told; they tell again what changes.
        """
        if self._facts is not None:
            self._facts.readings_known(
                {subtask: self._metrics(*subtask, state) for subtask in state.metrics},
                {subtask: _readings(state.accumulators[subtask]) for subtask in state.accumulators},
            )
            path = self._path if savepoint is None else savepoint.path
            self._facts.restored(
                RestoredFrom(number, self._clock(), path, savepoint=savepoint is not None)
            )

    def begin(self) -> None:
        """Take note that a batch is being planned."""
        self._begun = self._clock()
        self._history.begin(self._begun)

    def planned(self) -> None:
        """Take note that a batch is planned, and runs."""
        self._planned = self._clock()

    def ran(self) -> None:
        """Take note that the output of a batch has come."""
        self._ran = self._clock()

    def recorded(
        self, number: int, report: BatchReport, state: JobState, sources: Sequence[HostedSource]
    ) -> None:
        """Take note of what a batch did."""
        now = self._clock()
        self._history.add(report, now)
        self._read += sum(
            one.records_out
            for counts in report.counts.values()
            for one in counts.operators
            if one.operator in self._sources
        )
        if self._facts is None:
            return
        self._facts.batch_recorded(
            events.BatchReport(
                number,
                self._begun,
                self._planned,
                self._ran,
                now,
                [self._task(subtask, counts) for (_, subtask), counts in report.counts.items()],
                {
                    **{subtask: self._metrics(*subtask, state) for subtask in report.metrics},
                    **self._own_metrics(sources),
                },
                {
                    subtask: _readings(report.accumulators[subtask])
                    for subtask in report.accumulators
                },
                self._totals(report, state, sources),
            )
        )

    def logged(self, number: int) -> None:
        """Take note that the engine's log has a batch."""
        if self._facts is not None:
            self._facts.batch_logged(number, self._clock())

    def close_checkpoint(self, number: int, savepoint: Mapping[str, Any] | None) -> None:
        """Take note that a checkpoint ends with a batch.

        :param savepoint: what the batch's offset says of the savepoint that it has taken.
        """
        facts = self._history.close(number, None if savepoint is None else savepoint["folder"])
        if facts is not None and self._facts is not None:
            self._facts.checkpoint_ended(self._entry(facts))

    # --------------------------------------------------------------------- in other words

    def _entry(self, facts: CheckpointFacts) -> CheckpointEntry:
        return CheckpointEntry(
            number=facts.number,
            kind="CHECKPOINT" if facts.savepoint is None else "SAVEPOINT",
            status="COMPLETED",
            begin=facts.begin,
            duration=facts.duration,
            state_size=facts.state_size,
            bytes_written=facts.bytes_written,
            written=dict(facts.written),
            state=dict(facts.state),
            path=facts.savepoint or self._path,
        )

    def _task(self, subtask: int, counts: TaskCounts) -> events.TaskReport:
        operators = [
            self._operator(subtask, one, weight)
            for one, weight in zip(counts.operators, counts.state_bytes(), strict=True)
        ]
        level = self._operators[counts.operators[0].operator].level if counts.operators else 0
        return events.TaskReport(
            level, counts.seconds, counts.host, counts.pid, counts.memory, operators
        )

    def _operator(
        self, subtask: int, counts: OperatorCounts, state_bytes: int
    ) -> events.OperatorReport:
        return events.OperatorReport(
            self._operators[counts.operator].uid,
            subtask,
            counts.records_in,
            counts.records_out,
            counts.records_sent,
            counts.bytes_in,
            counts.bytes_out,
            _mark(counts.input_watermark),
            _mark(counts.output_watermark),
            counts.late_dropped,
            counts.fired,
            counts.state_rows,
            state_bytes,
            counts.seconds,
            counts.finished,
        )

    def _metrics(self, uid: str, subtask: int, state: JobState) -> list[MetricReading]:
        prefix = f"{self._names[uid]}.{subtask}."
        return [
            MetricReading(name.removeprefix(prefix), kind, plain(value))
            for name, (kind, value) in state.metrics[uid, subtask].items()
        ]

    def _own_metrics(self, sources: Sequence[HostedSource]) -> dict[SubtaskId, list[MetricReading]]:
        """Return the metrics of functions that run in this process: sources that receive."""
        found = {}
        for source in sources:
            if readings := source.metrics():
                prefix = f"{self._names[source.uid]}.0."
                found[source.uid, 0] = [
                    MetricReading(name.removeprefix(prefix), _kind_of(value), plain(value))
                    for name, value in readings.items()
                ]
        return found

    def _totals(
        self, report: BatchReport, state: JobState, sources: Sequence[HostedSource]
    ) -> list[AccumulatorReading] | None:
        own = {
            subtask: made for source in sources for subtask, made in source.accumulators().items()
        }
        if not report.accumulators and not own:
            return None
        kinds = {
            name: type(accumulator).__name__
            for made in (*state.accumulators.values(), *own.values())
            for name, accumulator in made.items()
        }
        values = all_accumulators(state, sources)
        return [AccumulatorReading(name, kinds[name], plain(values[name])) for name in values]


def _kind_of(reading: Any) -> str:
    if isinstance(reading, dict):
        return "meter" if "rate" in reading else "distribution"
    return "counter" if isinstance(reading, int) else "gauge"


def _mark(watermark: int) -> int | None:
    return None if watermark == MIN_WATERMARK else watermark


def _readings(accumulators: dict[str, object]) -> list[AccumulatorReading]:
    return [
        AccumulatorReading(name, type(made).__name__, plain(made.get_local_value()))  # type: ignore[attr-defined]
        for name, made in accumulators.items()
    ]
