"""The traces, line by line: each line is a batch of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.testing.local_executor import LocalJob
from tests.traces import TRACES
from tests.unit.testing.recording import Forever, RecordingSink


@pytest.mark.parametrize("name", TRACES)
def test_trace(name: str, tmp_path: Path) -> None:
    trace = TRACES[name]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = RecordingSink()
    source = Forever([line for line, _ in trace.steps])
    trace.build(env.from_source(source, None, "lines")).sink_to(sink)
    job = LocalJob(build_plan(env), tmp_path, cuts=1, poll_ms=0)
    seen: list[tuple[str, list[str]]] = []
    for line, _ in trace.steps:
        before = len(sink.values())
        job.step()
        job.ask()  # the batch is published when the next one is asked for
        seen.append((line, sorted(sink.values()[before:])))
    job.close()
    assert seen == [(line, sorted(results)) for line, results in trace.steps]
