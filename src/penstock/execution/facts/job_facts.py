"""The read model of one job: told what happens, asked what is known."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.execution.facts.batch_times import BusyTimes, batch_facts
from penstock.execution.facts.events import BatchReport, OperatorReport, SubtaskId, TaskReport
from penstock.execution.facts.failures import failure_facts
from penstock.execution.facts.masking import Hider, masked
from penstock.execution.facts.plan_facts import vertices_of
from penstock.execution.facts.points import PointRing
from penstock.execution.facts.rates import RateWindow
from penstock.execution.facts.snapshot import (
    JOB_STATES,
    AccumulatorReading,
    BatchFacts,
    CheckpointEntry,
    CheckpointsFacts,
    FailureFacts,
    JobSnapshot,
    LogFile,
    MetricReading,
    OperatorFacts,
    OperatorSubtask,
    RestoredFrom,
    VertexFacts,
    VertexSubtask,
    WorkerFacts,
)
from penstock.graph.plan import ExecutionPlan

_BATCHES = 600
_FAILURES = 20
_CHECKPOINTS = 50
#: A worker that has done nothing for so long is not shown any more.
_WORKER_MS = 600_000
_ENDED = ("FINISHED", "CANCELED", "FAILED")
#: What a task is doing, by what its job is doing; all others are said alike of both.
_TASK_STATES = {"INITIALIZING": "CREATED", "RESTARTING": "SCHEDULED", "SUSPENDED": "CANCELED"}


@dataclass
class _Totals:
    """What a subtask of an operator has done, and how fast lately."""

    subtask: OperatorSubtask
    window: RateWindow
    finished: bool = False

    def counts(self) -> tuple[int, ...]:
        one = self.subtask
        return one.records_in, one.records_out, one.records_sent, one.bytes_in, one.bytes_out


@dataclass
class EngineFacts:
    """Where a job runs."""

    master: str = ""
    host: str = ""
    pid: int = 0
    slots: int = 0
    version: str = ""
    logs: list[LogFile] = field(default_factory=list)


class JobFacts:
    """What is known of one job. Any thread may tell and ask.

    :param now: when the job was submitted, in epoch milliseconds.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        *,
        job_id: str,
        name: str,
        configuration: Mapping[str, Any],
        now: int,
        engine: EngineFacts | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._job_id, self._name = job_id, name
        self._plan = plan
        self._configuration = masked(configuration)
        self._hide = Hider(configuration)
        self._engine = engine or EngineFacts()
        self._began = now
        self._ended = -1
        self._state = "INITIALIZING"
        self._timestamps = {**dict.fromkeys(JOB_STATES, 0), "INITIALIZING": now}
        self._attempt = 0
        self._attempt_began = now
        self._vertices = vertices_of(plan)
        for vertex in self._vertices:
            vertex.name = self._hide(vertex.name)
            for operator in vertex.operators:
                operator.name = self._hide(operator.name)
        self._operators = {op.uid: op for vertex in self._vertices for op in vertex.operators}
        self._totals: dict[SubtaskId, _Totals] = {
            (op.uid, one.index): _Totals(one, RateWindow(now, (0,) * 5))
            for op in self._operators.values()
            for one in op.subtasks
        }
        self._busy = BusyTimes(self._vertices, now)
        self._points = {uid: PointRing() for uid in self._operators}
        self._batches: deque[BatchFacts] = deque(maxlen=_BATCHES)
        self._batch_count = 0
        self._last: BatchReport | None = None
        self._checkpoints = CheckpointsFacts()
        self._history: deque[CheckpointEntry] = deque(maxlen=_CHECKPOINTS)
        self._failures: deque[FailureFacts] = deque(maxlen=_FAILURES)
        self._accumulators: list[AccumulatorReading] = []
        self._workers: dict[str, WorkerFacts] = {}

    # ------------------------------------------------------------------------------ what happens

    def state_changed(self, state: str, now: int) -> None:
        """Learn what the job does now: one of `JOB_STATES`."""
        with self._lock:
            self._state = state
            self._timestamps[state] = now
            if state in _ENDED:
                self._ended = now
                self._busy.idle_until(now)

    def attempt_began(self, number: int, now: int) -> None:
        """Learn that the job is tried once more; 0 is the first time."""
        with self._lock:
            self._attempt, self._attempt_began = number, now

    def restored(self, checkpoint: RestoredFrom) -> None:
        """Learn that an attempt goes on from a checkpoint or savepoint."""
        with self._lock:
            self._checkpoints.restored += 1
            self._checkpoints.restored_from = checkpoint

    def failed(self, error: BaseException, now: int) -> None:
        """Learn why the attempt has failed."""
        facts = failure_facts(error, self._attempt, now, self._hide)
        with self._lock:
            if facts.operator_uid in self._operators:
                facts.operator_name = self._operators[facts.operator_uid].name
            self._failures.append(facts)

    def checkpoints_known(self, entries: Iterable[CheckpointEntry]) -> None:
        """Learn of the checkpoints of an earlier run of the job."""
        with self._lock:
            self._history.extend(entries)

    def checkpoint_ended(self, entry: CheckpointEntry) -> None:
        """Learn of a checkpoint or savepoint."""
        with self._lock:
            self._history.append(entry)
            if entry.status == "COMPLETED":
                self._checkpoints.completed += 1
            else:
                self._checkpoints.failed += 1

    def batch_recorded(self, report: BatchReport) -> None:
        """Learn what a batch did; one of the same number takes the place of the one before."""
        with self._lock:
            again = self._last is not None and self._last.number == report.number
            if again:
                assert self._last is not None
                self._count(self._last, -1)
                self._batches.pop()
            else:
                self._batch_count += 1
            self._last = report
            self._count(report, 1)
            self._busy.add(report)
            self._batches.append(batch_facts(report, self._batches, self._kinds()))
            self._take_readings(report.metrics, report.accumulators)
            if report.totals is not None:
                self._accumulators = report.totals
            self._note_workers(report)
            self._draw(report.recorded)

    def readings_known(
        self,
        metrics: Mapping[SubtaskId, list[MetricReading]],
        accumulators: Mapping[SubtaskId, list[AccumulatorReading]],
    ) -> None:
        """Learn of readings of an earlier run that the job goes on from."""
        with self._lock:
            self._take_readings(metrics, accumulators)

    def batch_logged(self, number: int, now: int) -> None:
        """Learn that the engine's log holds a batch: nobody will run it again."""
        with self._lock:
            if self._batches and self._batches[-1].number == number:
                batch = self._batches[-1]
                if "log" not in batch.phases:
                    batch.phases["log"] = float(max(now - batch.begin - batch.duration, 0))
                    batch.duration = max(now - batch.begin, batch.duration)

    def told_engine(self, engine: EngineFacts) -> None:
        """Learn where the job runs."""
        with self._lock:
            self._engine = engine

    # ------------------------------------------------------------------------------ what is known

    @property
    def state(self) -> str:
        """What the job does."""
        return self._state

    def snapshot(self, now: int, since: int = 0) -> JobSnapshot:
        """Return all that is known.

        :param since: leave out points, batches and checkpoints from before that time.
        """
        with self._lock:
            ended = self._ended >= 0
            now = self._ended if ended else now
            return JobSnapshot(
                job_id=self._job_id,
                name=self._name,
                state=self._state,
                timestamps=dict(self._timestamps),
                start_time=self._began,
                end_time=self._ended,
                at=now,
                mode="BATCH" if self._plan.batch_mode else "STREAMING",
                attempt=self._attempt,
                slots=self._plan.slots,
                levels=self._plan.levels,
                vertices=[self._vertex(vertex, now, since) for vertex in self._vertices],
                batches=[
                    replace(batch, phases=dict(batch.phases))
                    for batch in self._batches
                    if batch.begin + batch.duration >= since
                ],
                batch_count=self._batch_count,
                checkpoints=replace(
                    self._checkpoints,
                    history=[e for e in self._history if e.begin + e.duration >= since],
                ),
                failures=list(self._failures),
                accumulators=list(self._accumulators),
                configuration=dict(self._configuration),
                workers=[
                    replace(worker, tasks=list(worker.tasks))
                    for worker in self._workers.values()
                    if now - worker.last_seen < _WORKER_MS
                ],
                master=self._engine.master,
                host=self._engine.host,
                pid=self._engine.pid,
                engine_slots=self._engine.slots,
                logs=list(self._engine.logs),
                version=self._engine.version,
            )

    # ------------------------------------------------------------------------------------ counting

    def _kinds(self) -> dict[str, str]:
        return {uid: operator.kind for uid, operator in self._operators.items()}

    def _count(self, report: BatchReport, sign: int) -> None:
        for task in report.tasks:
            for one in task.operators:
                totals = self._totals.get((one.uid, one.subtask))
                if totals is not None:
                    _add(totals.subtask, one, sign)
                    totals.finished = one.finished
                    if sign > 0:
                        totals.window.add(report.recorded, totals.counts())

    def _take_readings(
        self,
        metrics: Mapping[SubtaskId, list[MetricReading]],
        accumulators: Mapping[SubtaskId, list[AccumulatorReading]],
    ) -> None:
        for subtask, read in metrics.items():
            if subtask in self._totals:
                self._totals[subtask].subtask.metrics = read
        for subtask, held in accumulators.items():
            if subtask in self._totals:
                self._totals[subtask].subtask.accumulators = held

    def _note_workers(self, report: BatchReport) -> None:
        vertex_of = {op.uid: vertex for vertex in self._vertices for op in vertex.operators}
        for worker in self._workers.values():
            worker.tasks = []
        for task in report.tasks:
            name = f"{task.host}:{task.pid}"
            worker = self._workers.get(name) or self._add_worker(task, name)
            worker.last_seen = report.recorded
            worker.memory = task.memory or worker.memory
            for one in task.operators:
                vertex = vertex_of[one.uid]
                vertex.subtasks[one.subtask].worker = name
                known = f"{vertex.id}:{one.subtask}"
                if known not in worker.tasks:
                    worker.tasks.append(known)

    def _add_worker(self, task: TaskReport, name: str) -> WorkerFacts:
        executor = "driver" if self._engine.master.startswith("local") else ""
        worker = self._workers[name] = WorkerFacts(name, task.host, task.pid, executor)
        return worker

    def _draw(self, now: int) -> None:
        for vertex in self._vertices:
            busy, backpressured = self._busy.means(vertex.id)
            for operator in vertex.operators:
                self._points[operator.uid].add(now, operator, busy, backpressured)

    # ------------------------------------------------------------------------------------ showing

    def _vertex(self, vertex: VertexFacts, now: int, since: int) -> VertexFacts:
        return replace(
            vertex,
            inputs=list(vertex.inputs),
            operators=[self._operator(operator, now, since) for operator in vertex.operators],
            subtasks=[self._task(vertex, one, now) for one in vertex.subtasks],
        )

    def _operator(self, operator: OperatorFacts, now: int, since: int) -> OperatorFacts:
        return replace(
            operator,
            chained_to=list(operator.chained_to),
            subtasks=[self._subtask(operator.uid, one, now) for one in operator.subtasks],
            points=self._points[operator.uid].columns(since),
        )

    def _subtask(self, uid: str, one: OperatorSubtask, now: int) -> OperatorSubtask:
        rates = self._totals[uid, one.index].window.rates(now)
        taken, given, sent, bytes_in, bytes_out = rates if self._ended < 0 else (0.0,) * 5
        return replace(
            one,
            records_in_per_second=taken,
            records_out_per_second=given,
            records_sent_per_second=sent,
            bytes_in_per_second=bytes_in,
            bytes_out_per_second=bytes_out,
            accumulators=list(one.accumulators),
            metrics=list(one.metrics),
        )

    def _task(self, vertex: VertexFacts, one: VertexSubtask, now: int) -> VertexSubtask:
        state = _TASK_STATES.get(self._state, self._state)
        end = self._ended
        if state == "RUNNING" and all(
            self._totals[operator.uid, one.index].finished for operator in vertex.operators
        ):
            state, end = "FINISHED", self._busy.last_end
        times = self._busy.times(vertex.id, one.index, now, running=self._ended < 0)
        return replace(
            one,
            state=state,
            attempt=self._attempt,
            start_time=self._attempt_began,
            end_time=end,
            busy_ms=times.busy,
            idle_ms=times.idle,
            backpressured_ms=times.backpressured,
            busy_per_second=times.busy_rate,
            idle_per_second=times.idle_rate,
            backpressured_per_second=times.backpressured_rate,
        )


def _add(subtask: OperatorSubtask, report: OperatorReport, sign: int) -> None:
    subtask.records_in += sign * report.records_in
    subtask.records_out += sign * report.records_out
    subtask.records_sent += sign * report.records_sent
    subtask.bytes_in += sign * report.bytes_in
    subtask.bytes_out += sign * report.bytes_out
    subtask.fired += sign * report.fired
    if sign > 0:
        subtask.input_watermark = report.input_watermark
        subtask.output_watermark = report.output_watermark
        subtask.late_dropped = report.late_dropped
        subtask.state_rows = report.state_rows
        subtask.state_bytes = report.state_bytes
