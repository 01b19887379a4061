"""The engine: run jobs on Spark."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from penstock.common.options import PROGRESS
from penstock.common.status_line import STATUS
from penstock.execution.executor import Executor, JobHandle, JobRequest
from penstock.execution.interrupt import interrupted
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.job import dump_job
from penstock.spark.dependencies import gather
from penstock.spark.directory import JobFolder, check_directory, take_folder
from penstock.spark.gateway import jvm_pid
from penstock.spark.job import SparkJob
from penstock.spark.recovery import recover
from penstock.spark.restart import RestartStrategy
from penstock.spark.session import open_session
from penstock.spark.worker_environment import WorkerEnvironment, prepare


class SparkExecutor(Executor):
    """Run each job as one Structured Streaming query.

    What is wrong with the program or its settings is raised by `submit`; what goes wrong later is
    raised by the handle's `wait`.
    """

    def submit(self, request: JobRequest) -> JobHandle:
        # In the order of what costs least, so that a mistake shows before Spark is started.
        restarts = RestartStrategy.from_settings(request.configuration)
        check_directory(request.configuration)
        blob = dump_job(request.plan)
        dependencies = gather(request.configuration)
        STATUS.want(PROGRESS.read(request.configuration))
        STATUS.say("starting Spark ...")
        try:
            session = open_session(request.configuration, request.plan.slots)
            workers = prepare(session.sparkContext, dependencies)
            folder = take_folder(request.configuration, request.job_name, jvm_pid())
            plan = _recovered(request, folder, session)
        except KeyboardInterrupt:
            raise interrupted(request.job_name) from None
        finally:
            STATUS.clear()
        if plan is not request.plan:
            request, blob = replace(request, plan=plan), dump_job(plan)

        def start_spark() -> tuple[SparkSession, WorkerEnvironment]:
            again = open_session(request.configuration, request.plan.slots)
            folder.note_jvm(jvm_pid())
            return again, prepare(again.sparkContext, dependencies)

        job = SparkJob(request, session, blob, folder, workers, restarts, start_spark)
        job.start()
        return job


def _recovered(request: JobRequest, folder: JobFolder, session: SparkSession) -> ExecutionPlan:
    try:
        return recover(request, folder, session)
    except BaseException:
        folder.release()
        raise
