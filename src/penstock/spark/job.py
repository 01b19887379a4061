"""A job on Spark as its handle sees it: a thread that makes attempts until the job has ended."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from penstock.common import JobExecutionResult, JobStatus
from penstock.common.options import RETENTION
from penstock.common.status_line import STATUS
from penstock.errors import JobCancelledError, PenstockError
from penstock.execution.executor import JobHandle, JobRequest
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.execution.interrupt import interrupted
from penstock.execution.recorder import JobRecorder
from penstock.runtime.coordinator.coordinator import Coordinator
from penstock.runtime.coordinator.job_savepoints import JobSavepoints
from penstock.runtime.coordinator.progress import JobProgress
from penstock.spark.attempt import Attempt
from penstock.spark.directory import JobFolder
from penstock.spark.failure import translate
from penstock.spark.gateway import jvm_end, jvm_pid
from penstock.spark.internals import end_idle_monitors
from penstock.spark.restart import RestartStrategy
from penstock.spark.session import is_own_jvm, log_files
from penstock.spark.worker_environment import WorkerEnvironment

_log = logging.getLogger(__name__)

#: How often somebody who waits is told what the job is doing.
_SAY_SECONDS = 0.5


class SparkJob(JobHandle):
    """One job, running in the background of the user's process.

    :param start_spark: starts Spark anew if its JVM has ended.
    """

    def __init__(
        self,
        request: JobRequest,
        session: SparkSession,
        blob: bytes,
        folder: JobFolder,
        workers: WorkerEnvironment,
        restarts: RestartStrategy,
        start_spark: Callable[[], tuple[SparkSession, WorkerEnvironment]],
    ) -> None:
        self.job_id = folder.job_id
        self._request = request
        self._session = session
        self._blob = blob
        self._folder = folder
        self._workers = workers
        self._restarts = restarts
        self._start_spark = start_spark
        self._seen_jvm = jvm_pid()
        self._began = time.monotonic()
        self._runtime_ms = 0
        self._status = JobStatus.CREATED
        self._recorder = JobRecorder(request, self.job_id)
        self._recorder.becomes(JobStatus.CREATED)
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        #: Set once there is an attempt, or certainly none.
        self._met = threading.Event()
        self._error: PenstockError | None = None
        self._attempt: Attempt | None = None
        self._attempts = 0
        self._savepoints = JobSavepoints(self._coordinator, request.configuration)
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-job-{self.job_id[:8]}", daemon=True
        )

    def start(self) -> None:
        """Begin to run."""
        self._thread.start()

    # ------------------------------------------------------------------------- the handle's side

    def status(self) -> JobStatus:
        return self._status

    def wait(self) -> JobExecutionResult:
        try:
            while not self._ended.wait(_SAY_SECONDS if STATUS.visible else None):
                STATUS.say(self._progress())
        except KeyboardInterrupt:
            self.cancel()
            self._ended.wait()
            finished = self._status is JobStatus.FINISHED
            fate = self._fate_of_checkpoint()
            raise interrupted(self._request.job_name, fate, finished=finished) from None
        finally:
            STATUS.clear()
        if self._error is not None:
            # The frames that led here are Spark's and Penstock's own: they tell the user nothing.
            raise self._error.with_traceback(None) from None
        return JobExecutionResult(
            self.job_id, self._runtime_ms, self.accumulators(), self.metrics()
        )

    def _progress(self) -> str:
        """Return what the job is doing, for a person who waits."""
        attempt, facts = self._attempt, JobProgress()
        if attempt is not None:
            # Whatever a source answers, or fails to: it is for the eyes only.
            with contextlib.suppress(Exception):
                facts = attempt.coordinator.progress()
        batches = 0 if attempt is None else attempt.batches
        text = facts.describe(batches, int(time.monotonic() - self._began))
        return f"{self._status.name.lower()}: {text}"

    def _fate_of_checkpoint(self) -> str:
        """Say what an interrupt has done to what the job kept: it cancels, as in Flink."""
        if self._folder.temporary:
            return ""
        if self._folder.retained_on_cancel:
            return f"; its checkpoint in {self._folder.path} is kept"
        return f"; its checkpoint is removed ({RETENTION.key}: RETAIN_ON_CANCELLATION keeps it)"

    def cancel(self) -> None:
        if not self._ended.is_set() and not self._cancelled.is_set():
            self._recorder.becomes(JobStatus.CANCELLING)
        self._cancelled.set()
        if self._attempt is not None:
            self._attempt.coordinator.cancel()

    def _coordinator(self) -> Coordinator | None:
        self._met.wait()  # a savepoint may be asked for before the first attempt is made
        return None if self._attempt is None else self._attempt.coordinator

    def trigger_savepoint(self, directory: str | None = None) -> str:
        return self._savepoints.take(directory)

    def trigger_checkpoint(self) -> int:
        """Publish what is logged, and return the number of that checkpoint."""
        return self._savepoints.complete_checkpoint()

    def stop_with_savepoint(self, drain: bool, directory: str | None = None) -> str:
        path = self._savepoints.take(directory, stop=True, drain=drain)
        self._ended.wait()
        return path

    def accumulators(self) -> dict[str, Any]:
        return {} if self._attempt is None else self._attempt.coordinator.accumulators()

    def metrics(self) -> dict[str, Any]:
        return {} if self._attempt is None else self._attempt.coordinator.metrics()

    def snapshot(self, since: int = 0) -> JobSnapshot:
        return self._recorder.snapshot(since)

    # -------------------------------------------------------------------------- the job's thread

    def _run(self) -> None:
        try:
            self._error = self._run_attempts()
        except BaseException as error:
            # Whoever waits must learn that the job has ended, whatever went wrong.
            self._error = translate(error)
        self._runtime_ms = int((time.monotonic() - self._began) * 1000)
        status = _end_of(self._error)
        self._folder.release(
            finished=status is JobStatus.FINISHED, cancelled=status is JobStatus.CANCELED
        )
        self._become(status)
        self._met.set()
        self._ended.set()
        self._tidy_spark()  # nobody waits for it

    def _run_attempts(self) -> PenstockError | None:
        while not self._cancelled.is_set():
            self._become(JobStatus.RUNNING)
            error = self._run_attempt()
            if self._cancelled.is_set():
                break
            # Nobody but the program can start a Spark that it has started itself.
            if error is not None:
                self._recorder.attempt_failed(error)
            is_lost = jvm_end() is not None and not is_own_jvm()
            if error is None or is_lost:
                return error
            delay = self._restarts.delay_after_failure(time.monotonic())
            if delay is None:
                return error
            name = self._request.job_name
            _log.warning("job %r failed, and starts again in %g s: %s", name, delay, error)
            self._become(JobStatus.RESTARTING)
            self._tidy_spark()
            self._cancelled.wait(delay)
        return JobCancelledError("the job was cancelled", where=f"job {self._request.job_name!r}")

    def _tidy_spark(self) -> None:
        """End what Spark leaves running in its JVM with each query."""
        if jvm_end() is None:
            # The JVM may end meanwhile, with the program or before it.
            with contextlib.suppress(Exception):
                end_idle_monitors(self._session)

    def _become(self, status: JobStatus) -> None:
        self._recorder.becomes(status)
        self._status = status

    def _run_attempt(self) -> PenstockError | None:
        # The JVM may have ended, and another job may have started one since.
        if jvm_end() is not None or jvm_pid() != self._seen_jvm:
            try:
                self._session, self._workers = self._start_spark()
                self._seen_jvm = jvm_pid()
            except PenstockError as error:
                return error
        self._recorder.attempt_begins(self._attempts)
        context = self._session.sparkContext
        self._recorder.runs_on(str(context.master), context.defaultParallelism, log_files())
        attempt = Attempt(
            self._request,
            self._session,
            self._blob,
            self._folder,
            self._workers,
            self._attempts,
            self._recorder.facts,
        )
        self._attempts += 1
        self._attempt = attempt
        self._met.set()
        if self._cancelled.is_set():
            # It came while there was no coordinator to tell.
            attempt.coordinator.cancel()
        try:
            return attempt.run()
        finally:
            self._workers.show_output(ended=True)


def _end_of(error: PenstockError | None) -> JobStatus:
    if error is None:
        return JobStatus.FINISHED
    return JobStatus.CANCELED if isinstance(error, JobCancelledError) else JobStatus.FAILED
