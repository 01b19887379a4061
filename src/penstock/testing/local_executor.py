"""An engine for tests: jobs run in this process, batch by batch, with no Spark.

It does to coordinator, source tasks and slots what Spark does to them, and what goes wrong there
as well: tasks that are run again, in another worker or in one whose cache is behind, and processes
that die between any two steps. It is no engine for users.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.common import JobExecutionResult, JobID, JobStatus
from penstock.common.options import BATCH_BYTES, BATCH_RECORDS, IGNORE_UNCLAIMED, RECOVERY_PATH
from penstock.connectors.file_paths import absolute, join
from penstock.core.io import ReadLimit
from penstock.errors import JobCancelledError, PenstockError
from penstock.execution.executor import Executor, JobHandle, JobRequest
from penstock.execution.facts.job_facts import JobFacts
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.execution.interrupt import interrupted
from penstock.execution.job_ids import new_job_id
from penstock.execution.process_folder import process_folder
from penstock.execution.recorder import JobRecorder
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.cache import TaskCache
from penstock.runtime.context import JOB_FOLDER_SETTING, JOB_ID_SETTING, LOCAL_FOLDER_SETTING
from penstock.runtime.coordinator.coordinator import Coordinator
from penstock.runtime.coordinator.job_savepoints import JobSavepoints
from penstock.runtime.coordinator.limits import BatchLimits
from penstock.runtime.coordinator.offsets import Offset, time_ms
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.job import dump_job, load_job, with_settings
from penstock.runtime.savepoint.resume import resumed_from
from penstock.runtime.slot import run_slot
from penstock.runtime.source_task import run_source

Row = tuple[int, bytes]
#: The name of a worker, or a function that tells it for a task, from (level, subtask).
Placement = Hashable | Callable[[int, int], Hashable]


class DictSlotStore:
    """A slot's durable entries, in memory."""

    def __init__(self, meta: bytes | None = None, entries: dict[int, bytes] | None = None) -> None:
        self.meta = meta
        self.entries = dict(entries or {})

    def read_meta(self) -> bytes | None:
        """Return the one entry that has no name."""
        return self.meta

    def write_meta(self, value: bytes) -> None:
        """Set the entry that has no name."""
        self.meta = value

    def read(self, number: int) -> bytes | None:
        """Return an entry, None if there is none."""
        return self.entries.get(number)

    def write(self, number: int, value: bytes) -> None:
        """Set an entry."""
        self.entries[number] = value

    def remove(self, number: int) -> None:
        """Remove an entry if it is there."""
        self.entries.pop(number, None)

    def copy(self) -> DictSlotStore:
        """Return a store of its own with the same entries."""
        return DictSlotStore(self.meta, self.entries)


Stores = dict[tuple[int, int], DictSlotStore]


@dataclass
class Attempt:
    """What one run of a batch's tasks gave: output for the sink, and the slots' new state."""

    batch_id: int
    payloads: list[bytes]
    stores: Stores


class _Cuts(BatchLimits):
    """Let the next batch read as many records of a source as a function says."""

    def __init__(self, records: Callable[[int, str], int]) -> None:
        super().__init__(BATCH_RECORDS.read({}), BATCH_BYTES.read({}))
        self.batch_id = 0
        self._records = records

    def share(self, uid: str, sources: int) -> ReadLimit:
        return ReadLimit(self._records(self.batch_id, uid), self.max_bytes)


class LocalJob:
    """Run a job by hand, batch by batch.

    Everything that must outlive the process is in `directory`: to stop a job at any point, forget
    the object; to resume it, make another one with the same directory.

        job = LocalJob(plan, directory, cuts=3)
        job.step()                            # one batch of at most 3 records a source
        job.step(attempts=("a", "b"))         # run it in worker a, forget that, run it in worker b
        job.run()                             # all the rest

    :param cuts: how many records of a source a batch reads: a number, or a function of the number
        of the batch and the source's uid.
    :param retries: how often a task that raises is run again in the same worker.
    :param restore: go on from the savepoint in this folder.
    :param facts: told what happens, for those who look on.
    :param shuffle: hand the envelopes of a slot over in a random order, as a shuffle does.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        directory: str | os.PathLike[str],
        *,
        cuts: int | Callable[[int, str], int] | None = None,
        clock: Callable[[], int] = time_ms,
        publish_interval_ms: int | None = None,
        retries: int = 0,
        shuffle: random.Random | None = None,
        job_id: str = "local",
        poll_ms: int = 10,
        restore: str | None = None,
        ignore_unclaimed: bool = False,
        facts: JobFacts | None = None,
    ) -> None:
        if restore is not None:
            plan = resumed_from(plan, restore, ignore_unclaimed=ignore_unclaimed)
        self.plan = plan
        directory = absolute(directory)
        folder = join(directory, "penstock")
        told = {JOB_ID_SETTING: job_id, JOB_FOLDER_SETTING: folder, LOCAL_FOLDER_SETTING: folder}
        blob = with_settings(dump_job(plan), told)
        self._job = load_job(uuid.uuid4().hex, blob)
        self._workers: dict[Hashable, TaskCache] = {}
        self._retries = retries
        self._shuffle = shuffle
        self._log = JobDirectory(join(directory, "engine"))
        self._log.folder("offsets")
        self._log.folder("commits")
        self._cuts = None if cuts is None else _Cuts(cuts if callable(cuts) else lambda *_: cuts)
        committed = self._numbers("commits")
        self.batch_id = len(committed)
        self.stores = self._restored_stores()
        self._attempted: Attempt | None = None
        self.coordinator = Coordinator(
            plan,
            folder,
            job_id=job_id,
            last_committed=committed[-1] if committed else None,
            clock=clock,
            publish_interval_ms=publish_interval_ms,
            limits=self._cuts,
            poll_ms=poll_ms,
            facts=facts,
        )
        self.coordinator.start()

    # ------------------------------------------------------------------------------ whole batches

    def step(self, attempts: Sequence[Placement] = ("first",)) -> list[Attempt] | None:
        """Run one batch, once in each of the workers named; the last attempt counts.

        :returns: what each attempt gave, or None if there is nothing to do.
        """
        if not self.ask():
            return None
        tried = [self.attempt(worker) for worker in attempts]
        self.log_commit()
        return tried

    def run(self, attempts: Sequence[Placement] = ("first",)) -> LocalJob:
        """Run until the job has ended, waiting for its input if need be.

        :raises PenstockError: what the job failed with.
        """
        while not self.coordinator.finished.is_set():
            self.step(attempts)
        self.close()
        if self.coordinator.failure is not None:
            raise self.coordinator.failure
        return self

    def savepoint(self, target: str | os.PathLike[str], **options: Any) -> str:
        """Take a savepoint with the next batch, and return its folder.

        :param options: `stop`, `drain`: as `Coordinator.trigger_savepoint` has them.
        """
        done = self.coordinator.trigger_savepoint(str(target), **options)
        while not done.done() and not self.coordinator.finished.is_set():
            self.step()
        if self.coordinator.failure is not None:
            raise self.coordinator.failure
        return done.result()

    def run_while_there_is_input(self) -> int:
        """Run batches until there is nothing to do; return how many."""
        batches = 0
        while self.step() is not None:
            batches += 1
        return batches

    def close(self) -> None:
        """End the job in good order: publish, and let go of everything."""
        self.coordinator.close(last_committed=self.batch_id - 1 if self.batch_id else None)
        if self.coordinator.failure is None:
            for cache in self._workers.values():
                cache.clear()

    # -------------------------------------------------------------------------- steps of a batch

    def ask(self) -> bool:
        """Ask for the end of a batch and log it, unless one is logged already."""
        if self._read_offset(self.batch_id) is None:
            if self._cuts is not None:
                self._cuts.batch_id = self.batch_id
            start = self._start()
            end = self.coordinator.latest_offset(start)
            # So that a test finds published what was logged before.
            self.coordinator.wait_until_published()
            if json.dumps(end) == json.dumps(start):
                return False
            self._log.write(f"offsets/{self.batch_id}", json.dumps(end).encode())
        return True

    def attempt(self, worker: Placement = "first") -> Attempt:
        """Run the tasks of the logged batch and have the coordinator record what they gave."""
        end = self._read_offset(self.batch_id)
        assert end is not None, "ask() first"
        place = worker if callable(worker) else lambda level, subtask: worker
        rows: list[Row] = []
        for read in self.coordinator.plan_batch(self._start(), end):
            cache = self._cache_of(place(0, read.subtask))
            rows += self._retried(partial(run_source, self._job, read, cache))
        stores: Stores = {}
        for level in range(1, self.plan.levels + 1):
            rows = self._run_level(level, rows, place, stores)
        payloads = [payload for _, payload in rows]
        self.coordinator.commit(self.batch_id, payloads)
        self._attempted = Attempt(self.batch_id, payloads, {**self.stores, **stores})
        return self._attempted

    def log_commit(self) -> None:
        """Log that the batch is committed, and make its state the slots' state."""
        assert self._attempted is not None, "attempt() first"
        self.stores = self._attempted.stores
        self._attempted = None
        saved = {place: (store.meta, store.entries) for place, store in self.stores.items()}
        self._log.write(f"commits/{self.batch_id}", pickle.dumps(saved))
        self.batch_id += 1

    def _run_level(
        self, level: int, rows: list[Row], place: Callable[[int, int], Hashable], stores: Stores
    ) -> list[Row]:
        by_slot: dict[int, list[bytes]] = {}
        for slot, payload in rows:
            by_slot.setdefault(slot % self.plan.slots, []).append(payload)
        output: list[Row] = []
        for slot, payloads in sorted(by_slot.items()):
            if self._shuffle is not None:
                self._shuffle.shuffle(payloads)
            cache = self._cache_of(place(level, slot))
            work = partial(self._run_slot, level, slot, payloads, stores, cache)
            output += self._retried(work)
        return output

    def _run_slot(
        self, level: int, slot: int, payloads: list[bytes], stores: Stores, cache: TaskCache
    ) -> list[Row]:
        before = self.stores.get((level, slot), DictSlotStore())
        # On a copy: what a failed or forgotten attempt wrote is never seen again.
        store = stores[level, slot] = before.copy()
        return run_slot(self._job, level, slot, iter(payloads), store, cache)

    def _retried(self, task: Callable[[], list[Row]]) -> list[Row]:
        for _ in range(self._retries):
            try:
                return task()
            except Exception:
                continue  # the last attempt tells why
        return task()

    def _cache_of(self, worker: Hashable) -> TaskCache:
        return self._workers.setdefault(worker, TaskCache())

    # ----------------------------------------------------------------------------- the logs

    def _start(self) -> Offset:
        if self.batch_id:
            start = self._read_offset(self.batch_id - 1)
            assert start is not None
            return start
        return json.loads(json.dumps(self.coordinator.initial_offset()))

    def _read_offset(self, batch_id: int) -> Offset | None:
        data = self._log.read(f"offsets/{batch_id}")
        return None if data is None else json.loads(data)

    def _numbers(self, folder: str) -> list[int]:
        return sorted(int(name) for name in self._log.names(folder))

    def _restored_stores(self) -> Stores:
        data = self._log.read(f"commits/{self.batch_id - 1}")
        saved = {} if data is None else pickle.loads(data)
        return {place: DictSlotStore(*parts) for place, parts in saved.items()}


class LocalJobHandle(JobHandle):
    """A job that runs in a thread of this process."""

    def __init__(self, request: JobRequest) -> None:
        self.job_id = new_job_id()
        self._name = request.job_name
        self._folder = process_folder().make("job")
        settings = request.configuration
        self._recorder = JobRecorder(request, self.job_id)
        self._recorder.runs_on("in-process", 1)
        self._job = LocalJob(
            request.plan,
            str(self._folder),
            job_id=self.job_id,
            restore=RECOVERY_PATH.read(settings),
            ignore_unclaimed=IGNORE_UNCLAIMED.read(settings),
            facts=self._recorder.facts,
        )
        self._recorder.becomes(JobStatus.RUNNING)
        self._savepoints = JobSavepoints(lambda: self._job.coordinator, settings)
        self._started = time.monotonic()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-test-job", daemon=True)
        self._thread.start()

    def status(self) -> JobStatus:
        """Return what the job is doing now."""
        if self._thread.is_alive():
            return JobStatus.RUNNING
        if self._error is not None:
            return JobStatus.FAILED
        return JobStatus.CANCELED if self._job.coordinator.cancelled else JobStatus.FINISHED

    def wait(self) -> JobExecutionResult:
        """Wait until the job has ended, and return its result."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.cancel()
            self._thread.join()
            raise interrupted(self._name) from None
        if isinstance(self._error, PenstockError):
            # The frames that led here are Penstock's own: they tell the user nothing.
            raise self._error.with_traceback(None) from None
        if self._error is not None:
            raise self._error
        if self._job.coordinator.cancelled:
            raise JobCancelledError("the job was cancelled", where=f"job {self.job_id}")
        runtime = int((time.monotonic() - self._started) * 1000)
        job_id = JobID(self.job_id)
        return JobExecutionResult(job_id, runtime, self.accumulators(), self.metrics())

    def cancel(self) -> None:
        """Ask the job to end now."""
        self._job.coordinator.cancel()

    def trigger_savepoint(self, directory: str | None = None) -> str:
        """Take a savepoint and return its folder."""
        return self._savepoints.take(directory)

    def trigger_checkpoint(self) -> int:
        """Publish what is logged, and return the number of that checkpoint."""
        return self._savepoints.complete_checkpoint()

    def stop_with_savepoint(self, drain: bool, directory: str | None = None) -> str:
        """Take a savepoint, end the job and return the savepoint's folder."""
        path = self._savepoints.take(directory, stop=True, drain=drain)
        self._thread.join()
        return path

    def accumulators(self) -> dict[str, Any]:
        """Return the values of all accumulators up to now, by name."""
        return self._job.coordinator.accumulators()

    def metrics(self) -> dict[str, Any]:
        """Return the readings of all metrics as of the last batch, by full name."""
        return self._job.coordinator.metrics()

    def snapshot(self, since: int = 0) -> JobSnapshot:
        """Return what is known of the job."""
        return self._recorder.snapshot(since)

    def _run(self) -> None:
        status = JobStatus.FINISHED
        try:
            self._job.run()
        except BaseException as error:
            status = JobStatus.CANCELED
            # Whatever a job that was cancelled says in the middle of things is no failure.
            if not self._job.coordinator.cancelled and not isinstance(error, JobCancelledError):
                status, self._error = JobStatus.FAILED, error
                self._recorder.attempt_failed(error)
            self._job.close()
        if self._job.coordinator.cancelled and self._error is None:
            status = JobStatus.CANCELED
        self._recorder.becomes(status)
        shutil.rmtree(self._folder, ignore_errors=True)


class LocalExecutor(Executor):
    """Run jobs in this process; for tests of programs, not for use."""

    def submit(self, request: JobRequest) -> JobHandle:
        """Start a job in a thread and return at once."""
        return LocalJobHandle(request)
