"""The environment: where a program begins, and where it is executed."""

from __future__ import annotations

from pathlib import Path

from penstock.common import Configuration, JobClient, JobExecutionResult
from penstock.common.options import JOB_NAME, JOB_PARAMETERS, MASTER, RUNTIME_MODE, TARGET
from penstock.datastream.environment_sources import EnvironmentSources
from penstock.datastream.watermark_trace import with_trace
from penstock.execution.configuration import lay_over, load_configuration
from penstock.execution.executor import JobHandle, JobRequest, find_executor
from penstock.execution.job_control import announce_job
from penstock.execution.plan_only import end_with_plan
from penstock.execution.rest_link import linked, serve_job
from penstock.graph.drawing import write_drawing
from penstock.graph.placement import place
from penstock.graph.plan import ExecutionPlan
from penstock.graph.render import to_json, to_text
from penstock.graph.stream_graph import GraphSettings, StreamGraph, build_stream_graph
from penstock.graph.transformations import OperatorTransformation

DEFAULT_JOB_NAME = "Penstock Streaming Job"


class StreamExecutionEnvironment(EnvironmentSources):
    """The context of a program: its settings, its sources, and its execution.

    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env = env.set_parallelism(1)
    >>> _ = env.from_collection([1, 2, 3]).map(lambda n: n * n).print()
    >>> print(env.explain())
    level 0: in the readers of the sources
      [1] Source: Collection Source (parallelism 1)
      [2] Map (parallelism 1) <- FORWARD [1]
      [3] Sink: Print to Std. Out (parallelism 1) <- FORWARD [2]
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        settings = load_configuration()
        if configuration is not None:
            lay_over(settings, configuration)
        super().__init__(settings)
        self._operators: list[OperatorTransformation] = []

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """Return a new environment with the settings of file and client.

        :param configuration: settings that win over those of file and client.
        """
        return StreamExecutionEnvironment(configuration)

    @staticmethod
    def create_local_environment(
        parallelism: int | None = None, configuration: Configuration | None = None
    ) -> StreamExecutionEnvironment:
        """Return an environment that runs on this machine."""
        env = StreamExecutionEnvironment(configuration)
        env._configuration.remove_config(MASTER.key)
        if parallelism is not None:
            env.set_parallelism(parallelism)
        return env

    @staticmethod
    def create_remote_environment(
        master: str, port: int | None = None, *jar_files: str
    ) -> StreamExecutionEnvironment:
        """Return an environment that runs on a Spark master.

        :param master: a master URL, for instance `spark://host:7077`; or a host name.
        :param port: port of a standalone master, if `master` is a host name.
        :param jar_files: accepted with a warning.
        """
        env = StreamExecutionEnvironment()
        env._configuration.set(MASTER, master if port is None else f"spark://{master}:{port}")
        if jar_files:
            env.add_jars(*jar_files)
        return env

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run everything that was built since the last execution, and wait for its end.

        An unbounded job runs until it is cancelled or fails.

        :raises GraphError: if nothing was built, or it does not form a job.
        :raises JobError: if the job did not finish.
        """
        return self.submit(job_name).wait()

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start everything that was built since the last execution, and return at once."""
        return JobClient(self.submit(job_name))

    def submit(self, job_name: str | None = None) -> JobHandle:
        """Start a job and return the handle that `execute_async` wraps.

        :raises ConfigurationError: if a setting is not known or cannot work.
        """
        self._configuration.check()
        end_with_plan(self.get_execution_plan, self.explain)
        plan = build_plan(self, job_name)
        self._operators.clear()
        settings = linked(self.all_settings())
        executor = find_executor(TARGET.read(settings))
        job = executor.submit(JobRequest(plan, settings, plan.job_name))
        announce_job(job, plan.job_name)
        serve_job(job, settings)
        return job

    def get_execution_plan(self) -> str:
        """Return the plan of what was built up to now as JSON, in Flink's format."""
        return to_json(build_graph(self))

    def explain(self) -> str:
        """Return the physical plan of what was built up to now as text, level by level."""
        return to_text(build_plan(self))

    def draw_execution_plan(self, path: str | Path) -> None:
        """Draw the plan of what was built up to now.

        :param path: file to write; `.svg`, or `.png` if matplotlib is installed.
        """
        write_drawing(build_plan(self), Path(path))

    def add_operator(self, operator: OperatorTransformation) -> None:
        """Add an operator to the next job. Called by streams."""
        self._operators.append(operator)

    def close(self) -> None:
        """Forget what was built and not executed."""
        self._operators.clear()


def build_graph(env: StreamExecutionEnvironment, job_name: str | None = None) -> StreamGraph:
    """Return the stream graph of what was built up to now."""
    max_parallelism = env.get_max_parallelism()
    settings = GraphSettings(
        job_name=job_name or env._configuration.get(JOB_NAME) or DEFAULT_JOB_NAME,
        runtime_mode=env._get(RUNTIME_MODE),
        chaining=env.is_chaining_enabled(),
        chain_different_max_parallelism=(
            env.is_chaining_of_operators_with_different_max_parallelism_enabled()
        ),
        max_parallelism=None if max_parallelism < 1 else max_parallelism,
        auto_uids=env.get_config().has_auto_generated_uids_enabled(),
        configuration={
            **env.all_settings(),
            # As a dict: functions read it record by record through their runtime context.
            JOB_PARAMETERS.key: env.get_config().get_global_job_parameters(),
        },
    )
    return build_stream_graph(with_trace(env._operators, settings.configuration), settings)


def build_plan(env: StreamExecutionEnvironment, job_name: str | None = None) -> ExecutionPlan:
    """Return the physical plan of what was built up to now."""
    return place(build_graph(env, job_name))
