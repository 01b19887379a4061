"""Run small programs on the in-process engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common import Configuration
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink

Build = Callable[[StreamExecutionEnvironment], DataStream]


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    """Return an environment whose periodic watermarks come after every record."""
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    return env


def plan_of(build: Build, parallelism: int = 1) -> tuple[ExecutionPlan, RecordingSink]:
    env = environment(parallelism)
    sink = RecordingSink()
    build(env).sink_to(sink)
    return build_plan(env), sink


def run(
    build: Build,
    parallelism: int = 1,
    cuts: int | None = None,
    workers: Sequence[str] = ("a",),
    **options: Any,
) -> list[Any]:
    """Return what a program writes, in the order of publishing."""
    plan, sink = plan_of(build, parallelism)
    with tempfile.TemporaryDirectory() as folder:
        job = LocalJob(plan, folder, cuts=cuts, **options)
        try:
            job.run(workers)
        finally:
            job.close()
    return sink.values()
