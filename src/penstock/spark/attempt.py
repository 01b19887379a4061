"""One attempt at a job: coordinator and query, from the start to whatever ends them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.common.flink_options import CHECKPOINT_PAUSE
from penstock.common.options import CHECKPOINT_INTERVAL
from penstock.connectors.file_paths import all_registered
from penstock.core.checkpoints import CheckpointTimes
from penstock.errors import JobFailedError, PenstockError
from penstock.execution.executor import JobRequest
from penstock.execution.facts.job_facts import JobFacts
from penstock.execution.process_folder import process_folder
from penstock.runtime.context import (
    ATTEMPT_SETTING,
    JOB_FOLDER_SETTING,
    JOB_ID_SETTING,
    LOCAL_FOLDER_SETTING,
)
from penstock.runtime.coordinator.coordinator import Coordinator
from penstock.runtime.job import FILE_SYSTEMS_SETTING, with_settings
from penstock.runtime.parking import clear_parked
from penstock.runtime.state.disk.store import STATE_FOLDER_SETTING
from penstock.spark.directory import JobFolder
from penstock.spark.failure import translate
from penstock.spark.query import start_query
from penstock.spark.rpc import RpcServer
from penstock.spark.shipment import ship
from penstock.spark.worker_environment import WorkerEnvironment

#: How often the query is looked at; that a job has finished is noticed at once.
_WATCH_SECONDS = 0.1
#: The same while workers print.
_SHOW_SECONDS = 0.002


class Attempt:
    """Run a job once, from where its folder says that it stands.

    :param blob: the job as the workers get it.
    :param number: how often the job has been restarted since it was submitted.
    :param facts: told what happens, for those who look on.
    """

    def __init__(
        self,
        request: JobRequest,
        session: SparkSession,
        blob: bytes,
        folder: JobFolder,
        workers: WorkerEnvironment,
        number: int = 0,
        facts: JobFacts | None = None,
    ) -> None:
        self._request = request
        self._session = session
        self._blob = blob
        self._folder = folder
        self._workers = workers
        self._number = number
        #: How many batches of this attempt have ended.
        self.batches = 0
        #: The first thing that went wrong in a call from Spark.
        self._call_failure: BaseException | None = None
        interval = CHECKPOINT_INTERVAL.read(request.configuration)
        pause = CHECKPOINT_PAUSE.read(request.configuration)
        self.coordinator = Coordinator(
            request.plan,
            folder.penstock,
            job_id=folder.job_id,
            last_committed=folder.last_committed(),
            publish_interval_ms=CheckpointTimes.of(interval, pause).interval,
            opening_batch=True,
            attempt=number,
            facts=facts,
        )

    def run(self) -> PenstockError | None:
        """Return when the attempt has ended, with the error if it has failed."""
        failure: BaseException | None = None
        self.coordinator.start()
        if not self.coordinator.finished.is_set():
            failure = self._run_query()
        self.coordinator.close(self._folder.last_committed())
        failure = self.coordinator.failure or failure
        return None if failure is None else translate(failure, self._workers.notes)

    def _run_query(self) -> BaseException | None:
        coordinator = self.coordinator
        server = RpcServer(
            {
                "initial_offset": coordinator.initial_offset,
                "latest_offset": coordinator.latest_offset,
                "plan_batch": coordinator.plan_batch,
            },
            on_error=self._note,
        )
        query: StreamingQuery | None = None
        hang_up: Callable[[], None] | None = None
        try:
            query, hang_up = self._start(server)
            failure = self._watch(query)
        except Exception as error:
            failure = error
        finally:
            if query is not None:
                # A query that has failed, or whose JVM is gone, needs no stopping.
                with contextlib.suppress(Exception):
                    query.stop()
            if hang_up is not None:
                hang_up()
            server.close()
        return failure and (self._call_failure or failure)

    def _start(self, server: RpcServer) -> tuple[StreamingQuery, Callable[[], None]]:
        context = self._session.sparkContext
        # A token of its own: what a failed attempt left in the workers is not to be found again.
        facts = {
            JOB_ID_SETTING: self._folder.job_id,
            JOB_FOLDER_SETTING: self._folder.penstock,
            LOCAL_FOLDER_SETTING: self._folder.local,
            ATTEMPT_SETTING: self._number,
            FILE_SYSTEMS_SETTING: all_registered(),
            STATE_FOLDER_SETTING: str(process_folder().path),
        }
        blob = with_settings(self._blob, facts)
        clear_parked(self._folder.local)
        shipment = ship(context, uuid.uuid4().hex, blob, self._folder.local)
        context.setLocalProperty("spark.scheduler.pool", self._folder.job_id)
        with self._workers.of_functions(context):
            return start_query(
                self._session,
                self._request.plan,
                name=f"{self._request.job_name} {shipment.token[:8]}",
                address=server.address,
                shipment=shipment,
                checkpoint=self._folder.spark,
                commit=self._commit,
                on_error=self._note,
            )

    def _commit(self, batch_id: int, payloads: list[bytes]) -> None:
        self._folder.require_own()
        self.coordinator.commit(batch_id, payloads)
        self.batches += 1
        clear_parked(self._folder.local)

    def _watch(self, query: StreamingQuery) -> BaseException | None:
        """Wait until the coordinator or the query has ended; return the query's failure."""
        pause = _WATCH_SECONDS
        while not self.coordinator.finished.wait(pause):
            if self._workers.show_output():
                pause = _SHOW_SECONDS
                continue
            pause = _WATCH_SECONDS
            if not query.isActive:
                return query.exception() or JobFailedError("Spark ended the job's query")
        return None

    def _note(self, error: BaseException) -> None:
        self._call_failure = self._call_failure or error
