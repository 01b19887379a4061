"""The window cases of `tests/cases/windows`, on the operators alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.core.time import Watermark
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError
from penstock.testing.cases import Case, Token, read_cases
from penstock.testing.harness import OperatorHarness
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink
from tests.unit.windowing import case_jobs
from tests.unit.windowing.vocabulary import LATE, as_token, key_of, make_spec

pytestmark = pytest.mark.usefixtures("backend")

FOLDER = Path(__file__).parents[2] / "cases" / "windows"
CASES = [case for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)]


def feed(harness: OperatorHarness, event: Token) -> None:
    match event.kind:
        case "record":
            harness.process_element((event.key, event.value), event.time)
        case "watermark":
            harness.process_watermark(event.time)
        case "time":
            harness.set_processing_time(event.time)
        case "cut":
            harness.cut()
        case "move":
            harness.move()
        case "end":
            harness.end_input()


def shown(event: Any) -> Token:
    if isinstance(event, Watermark):
        return Token("watermark", time=event.timestamp)
    return as_token(*event)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.place} {case.title}")
def test_case(case: Case) -> None:
    harness = OperatorHarness(make_spec(case), key_of, side_outputs=[LATE])
    for step in case.steps:
        for event in step.events:
            feed(harness, event)
        assert [shown(event) for event in harness.take_output()] == step.expected
        assert [shown(event) for event in harness.take_side_output(LATE)] == step.late


@pytest.mark.parametrize("parallelism", [1, 2])
def test_the_cases_as_a_job(parallelism: int, tmp_path: Path) -> None:
    cases = [case for case in CASES if case_jobs.fits_a_job(case)]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink = RecordingSink()
    case_jobs.build(env, cases).sink_to(sink)
    LocalJob(build_plan(env), tmp_path, cuts=2, poll_ms=0).run()
    assert len(cases) > 40
    case_jobs.check(cases, sink.values())


def test_a_line_that_is_no_case(tmp_path: Path) -> None:
    path = tmp_path / "wrong.txt"
    path.write_text("given tumbling 10, sum\nin a=x@1\n")
    with pytest.raises(ConfigurationError) as raised:
        read_cases(path)
    assert str(raised.value).splitlines()[:3] == [
        "a case cannot be read",
        "  where: wrong.txt:2",
        "  got:   'a=x@1'",
    ]
