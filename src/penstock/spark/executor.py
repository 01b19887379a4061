"""The engine: run jobs on Spark."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from penstock.common.options import PROGRESS, RECOVERY_PATH
from penstock.common.status_line import STATUS
from penstock.core.io import CheckContext
from penstock.execution.executor import Executor, JobHandle, JobRequest
from penstock.execution.interrupt import interrupted
from penstock.execution.job_log import level_of
from penstock.graph.plan import ExecutionPlan
from penstock.graph.specs import SinkSpec, SourceSpec
from penstock.runtime.job import dump_job
from penstock.runtime.state.backends import check_backend
from penstock.spark.dependencies import Dependencies, gather
from penstock.spark.directory import (
    JobFolder,
    check_directory,
    check_spark_sees,
    may_go_on,
    take_folder,
)
from penstock.spark.gateway import jvm_pid
from penstock.spark.internals import active_context
from penstock.spark.interpreter import check_interpreter
from penstock.spark.job import SparkJob
from penstock.spark.recovery import recover
from penstock.spark.restart import NoRestart, RestartStrategy
from penstock.spark.session import open_session
from penstock.spark.settings import master_of
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
        check_backend(request.configuration)
        blob = dump_job(request.plan)
        _check_ends(request, restarts)
        dependencies = gather(request.configuration)
        _check_workers(request, dependencies)
        STATUS.want(PROGRESS.read(request.configuration))
        STATUS.say("starting Spark ...")
        try:
            session = open_session(request.configuration, request.plan.slots)
            log_level = level_of(request.configuration)
            workers = prepare(session.sparkContext, dependencies, log_level)
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
            return again, prepare(again.sparkContext, dependencies, log_level)

        job = SparkJob(request, session, blob, folder, workers, restarts, start_spark)
        job.start()
        return job


def _check_ends(request: JobRequest, restarts: RestartStrategy) -> None:
    """Let sources and sinks say what is sure to fail, unless the job may go on from somewhere.

    Then a source may have read its files, and a sink finds output of its own.
    """
    configuration = request.configuration
    if RECOVERY_PATH.read(configuration) is not None:
        return
    if may_go_on(configuration, request.job_name):
        return
    for operator in request.plan.operators:
        context = CheckContext(
            operator.name, operator.parallelism, restarts=not isinstance(restarts, NoRestart)
        )
        if isinstance(operator.spec, SourceSpec):
            operator.spec.source.check(context)
        elif isinstance(operator.spec, SinkSpec):
            operator.spec.sink.check(context)


def _check_workers(request: JobRequest, dependencies: Dependencies) -> None:
    if dependencies.executable is not None:
        running = active_context()
        master = master_of(request.configuration) if running is None else str(running.master)
        check_interpreter(dependencies.executable, dependencies.folder, master)


def _recovered(request: JobRequest, folder: JobFolder, session: SparkSession) -> ExecutionPlan:
    try:
        check_spark_sees(folder, session)
        return recover(request, folder, session)
    except BaseException:
        folder.release()
        raise
