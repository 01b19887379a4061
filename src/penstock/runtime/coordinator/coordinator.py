"""The coordinator of a job: decide on batches, record them, publish them, end the job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from penstock.common.options import JOB_PARAMETERS
from penstock.core.io import BatchRead, Position
from penstock.errors import JobCancelledError, JobFailedError
from penstock.execution.facts.job_facts import JobFacts
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.runtime.coordinator.accumulators import all_accumulators, all_metrics
from penstock.runtime.coordinator.alignment import bounded, held_back
from penstock.runtime.coordinator.control import due_timers
from penstock.runtime.coordinator.feedback import offer_feedback
from penstock.runtime.coordinator.history import CheckpointFacts
from penstock.runtime.coordinator.limits import BatchLimits
from penstock.runtime.coordinator.offsets import Offset, ended_sources, make_offset, time_ms
from penstock.runtime.coordinator.patience import patiently
from penstock.runtime.coordinator.planning import SourceShare, all_ended, plan_source
from penstock.runtime.coordinator.progress import JobProgress
from penstock.runtime.coordinator.publisher import Publisher
from penstock.runtime.coordinator.records import BatchRecord, JobState, RecordLog
from penstock.runtime.coordinator.resumption import Resumption, check_program
from penstock.runtime.coordinator.savepoints import CONTROL, Savepoints
from penstock.runtime.coordinator.sources import HostedSource
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.coordinator.watch import BatchWatch
from penstock.runtime.report import BatchReport

#: How long a call that must end soon waits for a connector that does not answer.
_PATIENCE_SECONDS = 5.0
#: The same for a job that was cancelled or has failed, and whose output is being published.
_PUBLISHING_SECONDS = 30.0
#: How often somebody who waits for the publisher looks whether the job was cancelled.
_LOOK_SECONDS = 0.1


class Coordinator:
    """What a job does in the user's process.

    The engine drives it: `latest_offset` between batches, then `plan_batch`, the tasks, and
    `commit`. That `latest_offset` starts where the last recorded batch ended tells that the
    engine's log holds the batch; only then is it published. All methods may be called from any
    thread.

    :param directory: where records are kept; connectors get folders inside it.
    :param last_committed: the last batch in the engine's log, None for a job without one.
    :param publish_interval_ms: publish only every so often; None: after every batch.
    :param settings: settings of the job, the plan's by default.
    :param limits: bounds of a batch, in place of those that the settings name.
    :param poll_ms: how long `latest_offset` waits for something new.
    :param attempt: how often the job has been restarted since it was submitted.
    :param facts: told what happens, for those who look on.
    :param opening_batch: let sources that receive begin after a first batch, which has nothing to
        read if need be: an engine's first batch may take long, as its workers have to start.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        directory: str,
        *,
        job_id: str,
        last_committed: int | None = None,
        clock: Callable[[], int] = time_ms,
        publish_interval_ms: int | None = None,
        settings: Mapping[str, Any] | None = None,
        limits: BatchLimits | None = None,
        poll_ms: int = 100,
        opening_batch: bool = False,
        attempt: int = 0,
        facts: JobFacts | None = None,
        collect_report: Callable[
            [Iterable[bytes], ExecutionPlan], BatchReport
        ] = BatchReport.collect,
    ) -> None:
        self.finished = threading.Event()
        self.failure: BaseException | None = None
        self.cancelled = self._closed = False
        self._plan = plan
        self._job_id, self._clock = job_id, clock
        self._poll_seconds = poll_ms / 1000
        self._collect_report = collect_report
        settings = plan.settings if settings is None else settings
        self._limits = limits or BatchLimits.from_settings(settings)
        self._directory = JobDirectory(directory)
        # First: it may bring the records of another job along.
        self._resumption = Resumption(plan, self._directory, fresh=last_committed is None)
        self._log = RecordLog(self._directory)
        self._savepoints = Savepoints(plan, self._directory, job_id)
        self._watch = BatchWatch(plan, self._directory, facts, clock)
        self._publisher = Publisher(
            plan,
            self._directory,
            self._log,
            job_id=job_id,
            interval_ms=publish_interval_ms,
            settings=settings,
            stopping=self._is_stopping,
            on_published=self._note_published,
            on_failure=self._fail,
        )
        self._sources: dict[str, HostedSource] = {}
        # Guards everything that the engine's calls change. A connector's thread never takes it:
        # it may hold a lock of its own that an enumerator wants while this one is held. The
        # publisher's thread takes it between batches, so nobody waits for that one and holds it.
        self._lock = threading.RLock()
        self._failing = threading.Lock()
        self._news = threading.Event()
        self._opening, self._attempt = opening_batch, attempt
        self._time = 0
        #: The engine's batch 0: numbers go on behind those of the run that this one goes on from.
        self._first = self._resumption.first_batch
        self._logged = self._first - 1 if last_committed is None else self._first + last_committed
        self._initial: Offset | None = None
        self._planned_end: Offset | None = None
        self._state = JobState()

    # ------------------------------------------------------------------ the job's begin and end

    def start(self) -> None:
        """Take up a new or an earlier run; whatever fails becomes `failure`."""
        with self._lock, self._reported():
            self._start()

    def cancel(self) -> None:
        """End the job soon, without waiting for its input to end. May be called again."""
        self.cancelled = True
        self._end(_PATIENCE_SECONDS)

    def close(self, last_committed: int | None = None) -> None:
        """Publish what is logged and let go of everything. May be called again.

        :param last_committed: the last batch in the engine's log, if it may be a later one than
            `latest_offset` has shown.
        """
        if last_committed is not None:
            self._logged = max(self._logged, self._first + last_committed)
        self._end(_PUBLISHING_SECONDS)
        self._closed = True
        self._publisher.close()

    def checkpoints(self) -> list[CheckpointFacts]:
        """Return the last checkpoints, the latest last."""
        return self._watch.checkpoints()

    def accumulators(self) -> dict[str, Any]:
        """Return the values of the accumulators after the last recorded batch, by name."""
        return all_accumulators(self._state, list(self._sources.values()))

    def metrics(self) -> dict[str, Any]:
        """Return the readings of the metrics after the last recorded batch, by full name."""
        return all_metrics(self._state, list(self._sources.values()))

    def progress(self) -> JobProgress:
        """Return how far the job had come with the last recorded batch."""
        with self._lock:
            return self._watch.progress(self._sources, self._initial, self._log.latest())

    def _start(self) -> None:
        last = self._logged
        check_program(self._plan, self._directory, restored=last >= self._first)
        self._log.require_behind(last)
        record = None if last < self._first else self._log.require(last)
        self._log.drop_after(last)
        initial = self._log.initial(self._first)
        if initial is None:
            initial = self._resumption.begin()
        at = initial if record is None else record.end
        if at is not None:
            self._time = at["time"]
        if record is not None:
            self._state = record.state
        restored = record is not None or self._resumption.savepoint is not None
        self._publisher.start(restored=restored, now=self._now())
        self._publisher.publish(last)
        if restored:
            self._publisher.recovered()
            savepoint = None if record else self._resumption.savepoint
            self._watch.restored(last, savepoint, self._state)
        if record is not None and CONTROL in record.end["control"]:
            self._savepoints.complete(record, self._now())
        self._start_sources(at)
        self._initial = self._begin_at(initial)
        self._opening = self._opening and any(s.receives for s in self._sources.values())
        if not self._opening:
            self._begin_receiving()
        if record is not None:
            self._tell_committed(record.end)
        if all_ended(self._plan, self._initial if record is None else record.end):
            self._finish()

    def _start_sources(self, at: Offset | None) -> None:
        ended = {} if at is None else ended_sources(at)
        for operator in self._plan.sources():
            if operator.uid not in ended:
                source = HostedSource(
                    operator,
                    self._directory.folder("sources", operator.uid),
                    restored=None if at is None else at["sources"].get(operator.uid),
                    now=self._now,
                    wake=self._news.set,
                    fail=self._fail,
                    job_id=self._job_id,
                    job_parameters=JOB_PARAMETERS.read(self._plan.settings),
                    attempt=self._attempt,
                )
                self._sources[operator.uid] = source
                source.start()

    def _begin_receiving(self) -> None:
        self._opening = False
        for source in self._sources.values():
            source.begin()

    def _begin_at(self, initial: Offset | None) -> Offset:
        """Return the offset that the job began at, or begins at now."""
        known = {} if initial is None else initial["sources"]
        new = {uid: s.initial() for uid, s in self._sources.items() if uid not in known}
        began = self._now() if initial is None else initial["time"]
        control = {} if initial is None else initial["control"]
        offset = make_offset({**known, **new}, began, control)
        if self._log.initial(self._first) != offset:
            self._log.write_initial(offset, self._first)
        return offset

    def _end(self, patience: float) -> None:
        """Publish what is logged and close the sources, whoever asks for it and how often."""
        self._news.set()
        self._publisher.request(self._logged)
        self.wait_until_published(patience)
        # A connector may keep the lock for too long.
        with patiently(self._lock, _PATIENCE_SECONDS):
            self._finish()

    def wait_until_published(self, patience: float = _PUBLISHING_SECONDS) -> None:
        """Wait until all is published: as long as it takes, or as one waits for a job given up."""
        while not self._publisher.wait(_LOOK_SECONDS):
            if self._is_stopping():
                patience -= _LOOK_SECONDS
                if patience <= 0:
                    break

    def complete_checkpoint(self) -> int:
        """Publish what is logged, whatever the interval; return the number of the last batch."""
        with self._lock:
            self._watch.close_checkpoint(self._logged, None)
            self._publisher.request(self._logged)
        self.wait_until_published()
        return self._logged

    def _is_stopping(self) -> bool:
        return self.cancelled or self.failure is not None

    def _finish(self) -> None:
        for source in self._sources.values():
            source.close()
        self._savepoints.end(self.failure)
        self.finished.set()

    def trigger_savepoint(
        self, target: str, *, stop: bool = False, drain: bool = False
    ) -> Future[str]:
        """Have a savepoint taken with the next batch, and return who tells its folder.

        :param target: where to make the folder.
        :param stop: end the job behind it.
        :param drain: let all sources end first: all event-time timers and windows fire.
        :raises StateError: if the job has ended.
        """
        request = self._savepoints.request(target, stop=stop, drain=drain)
        self._news.set()
        return request.done

    # ------------------------------------------------------------------------ the engine's calls

    def initial_offset(self) -> Offset:
        """Return the offset in front of the first record, the same one after a restart too."""
        if self._initial is None:
            raise self.failure or JobFailedError("the job has not been started")
        return self._initial

    def latest_offset(self, start: Offset) -> Offset:
        """Return the end of a batch from `start` on; `start` itself if there is nothing to do.

        Waits a moment for something new to come. Publishes what the engine has logged.
        """
        deadline = time.monotonic() + self._poll_seconds
        with self._lock, self._reported():
            self._note_logged(start)
        while not self.finished.is_set():
            # Before looking: what arrives while we look must not be slept over.
            self._news.clear()
            with self._lock, self._reported():
                offset = self._next_offset(start) if self._may_go_on(start) else None
                if offset is not None:
                    return offset
            remaining = deadline - time.monotonic()
            if remaining <= 0 or self.finished.is_set():
                break
            self._news.wait(min(remaining, self._seconds_to_timer()))
        return start

    def plan_batch(self, start: Offset, end: Offset) -> list[BatchRead]:
        """Return what every subtask of every source does in a batch; those without data too."""
        with self._lock, self._reported(raising=True):
            self._check_running()
            self._watch.begin()
            state = self._state_at(start)
            self._time = max(self._time, end["time"])
            self._planned_end = end
            offer_feedback(self._plan, self._sources, state, ended_sources(start))
            reads = [
                read
                for operator in self._plan.sources()
                for read in plan_source(self._share(operator, start, end), start, end, state)
            ]
            if CONTROL in end["control"]:
                reads[0].savepoint = end["control"][CONTROL]["folder"]
            self._watch.planned()
            return reads

    def commit(self, batch_id: int, payloads: Iterable[bytes]) -> None:
        """Record what a batch produced, in place of an earlier attempt at it."""
        with self._lock, self._reported(raising=True):
            if self._planned_end is None:
                raise JobFailedError(f"batch {batch_id} was committed without having been planned")
            self._watch.ran()
            report = self._collect_report(payloads, self._plan)
            number = self._first + batch_id
            before = JobState() if batch_id == 0 else self._log.require(number - 1).state
            state = before.after(report)
            done = self._planned_end, report.committables, state, report.savepoint
            self._log.write(BatchRecord(number, *done))
            self._watch.recorded(number, report, state, list(self._sources.values()))
            self._state = state
            if self._opening:
                self._begin_receiving()

    # --------------------------------------------------------------------------- between batches

    def _note_logged(self, start: Offset) -> None:
        """Publish the batch that ends at `start`: the engine would not ask before it is logged."""
        record = self._log.ending_at(start)
        if record is None:
            return
        self._logged = max(self._logged, record.batch_id)
        self._watch.logged(record.batch_id)
        if not self.finished.is_set() and (
            all_ended(self._plan, start)
            or CONTROL in start["control"]
            or self._publisher.is_due(self._now())
        ):
            self._watch.close_checkpoint(self._logged, start["control"].get(CONTROL))
            self._publisher.request(self._logged, start["time"])

    def _note_published(self, batch_id: int, end: Offset) -> None:
        """Tell the sources; end the job behind its last batch. Called by the publisher's thread."""
        stopped = False
        if CONTROL in end["control"] and (record := self._log.read(batch_id)) is not None:
            request = self._savepoints.complete(record, self._now())
            stopped = request is not None and request.stop and request.done.exception() is None
            self._savepoints.stopping = stopped
        with self._lock, self._reported():
            if batch_id == self._logged and not self._closed:
                self._resumption.settle()
                self._tell_committed(end)
                if stopped or all_ended(self._plan, end):
                    self._finish()
        self._news.set()

    def _may_go_on(self, start: Offset) -> bool:
        """Tell whether a batch may begin: the publisher is not behind, and there is input left."""
        return not (
            self.finished.is_set()
            or self._savepoints.stopping
            or self._publisher.is_behind()
            or all_ended(self._plan, start)
        )

    def _next_offset(self, start: Offset) -> Offset | None:
        """Return an offset beyond `start` if a batch has something to do."""
        self._time = max(self._time, start["time"])
        state, ended = self._state_at(start), ended_sources(start)
        held = held_back(self._plan, state.alignment, ended)
        offer_feedback(self._plan, self._sources, state, ended)
        positions = self._latest_positions(start, ended, held)
        now = self._now()
        ended.update({u: now for u, p in positions.items() if p.get("done") and u not in ended})
        timers = due_timers(state.timers, now)
        if (
            all(position == self._position(start, uid) for uid, position in positions.items())
            and ended == ended_sources(start)
            and not timers
            and not self._opening
            and not self._savepoints.wanted
            # What goes on from a savepoint must tell of its timers first.
            and not (start == self._initial and self._resumption.savepoint is not None)
        ):
            return None
        control: dict[str, Any] = {"ended": ended, "timers": timers}
        if (request := self._savepoints.begin()) is not None:
            control[CONTROL] = request.control()
            if request.drain:
                control["ended"] = {uid: ended.get(uid, now) for uid in positions}
        offset = make_offset(positions, now, control)
        if offset == start:
            # A timer is due again although the clock stands still, or has jumped back. An engine
            # runs a batch only for an offset that differs.
            offset["time"] += 1
        self._time = offset["time"]
        return offset

    def _latest_positions(
        self, start: Offset, ended: Mapping[str, int], held: set[str]
    ) -> dict[str, Position]:
        live = [uid for uid in self._sources if uid not in ended]
        positions = {}
        for operator in self._plan.sources():
            uid = operator.uid
            at = self._position(start, uid)
            if uid in live and uid not in held:
                limit = bounded(operator, self._limits.share(uid, len(live)))
                positions[uid] = self._sources[uid].latest(at, limit)
            else:
                positions[uid] = at
        return positions

    def _share(self, operator: PlanOperator, start: Offset, end: Offset) -> SourceShare:
        positions = self._position(start, operator.uid), self._position(end, operator.uid)
        return SourceShare(operator, self._sources.get(operator.uid), *positions)

    def _state_at(self, offset: Offset) -> JobState:
        """Return the state that a batch from `offset` on starts with."""
        record = self._log.ending_at(offset)
        if record is not None:
            return record.state
        if offset == self._initial:
            return self._resumption.state()
        raise JobFailedError(
            "no record of the job ends where the engine wants to go on",
            where=f"job directory {self._directory.path}",
            got=f"offset {offset}",
            todo="restore the whole job directory, or start the job anew in an empty one",
        )

    def _position(self, offset: Offset, uid: str) -> Position:
        # A source that joined the program later is in no earlier offset: it begins at its start.
        position: Position | None = offset["sources"].get(uid)
        if position is None:
            assert self._initial is not None
            position = self._initial["sources"][uid]
        return position

    def _tell_committed(self, end: Offset) -> None:
        for uid, source in self._sources.items():
            if uid in end["sources"]:
                source.committed(end["sources"][uid])

    def _now(self) -> int:
        """Return processing time: the clock's, but never less than a batch has seen."""
        return max(self._clock(), self._time)

    def _seconds_to_timer(self) -> float:
        wanted = (source.next_question() for source in self._sources.values())
        times = [*self._state.timers.values(), *(time for time in wanted if time is not None)]
        return max(min(times) - self._now(), 1) / 1000 if times else self._poll_seconds

    # ------------------------------------------------------------------------------------ errors

    def _check_running(self) -> None:
        if self.finished.is_set():
            raise self.failure or JobCancelledError("the job has ended: no batch can be planned")

    def _fail(self, error: BaseException) -> None:
        """End the job with an error; the first one counts. Called from any thread."""
        with self._failing:
            if self.failure is None and not self._closed:
                self.failure = error
        self.finished.set()
        self._news.set()

    @contextmanager
    def _reported(self, *, raising: bool = False) -> Iterator[None]:
        try:
            yield
        except JobCancelledError:
            if raising:
                raise
        except Exception as error:
            self._fail(error)
            if raising:
                raise
