"""The traces, line by line: each line is a batch of its own, in one run or in as many as lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.local_executor import LocalJob
from tests.traces import TRACES
from tests.unit.testing.recording import Forever, RecordingSink


@pytest.mark.parametrize("restarts", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize("name", TRACES)
def test_trace(name: str, restarts: bool, tmp_path: Path) -> None:
    trace = TRACES[name]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = RecordingSink()
    source = Forever([line for line, _ in trace.steps])
    trace.build(env.from_source(source, None, "lines")).sink_to(sink)
    plan = build_plan(env)
    job = LocalJob(plan, tmp_path, cuts=1, poll_ms=0)
    seen: list[tuple[str, list[str]]] = []
    for line, _ in trace.steps:
        before = len(sink.values())
        job.step()
        job.ask()  # the batch is published when the next one is asked for
        seen.append((line, sorted(sink.values()[before:])))
        if restarts:  # everything goes but what is on disk
            job = LocalJob(plan, tmp_path, cuts=1, poll_ms=0)
    job.close()
    assert seen == [(line, sorted(results)) for line, results in trace.steps]
