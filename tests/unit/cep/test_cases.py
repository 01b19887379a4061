"""Cases of text files: the matches that Flink 2.3 itself finds, in its order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.cep import CEP, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.testing import match, match_with_timeouts
from penstock.core.output_tag import OutputTag
from penstock.errors import SkipTargetError
from penstock.testing import StreamHarness
from tests.unit.cep.case_files import Case, build, read_cases

FOLDER = Path(__file__).parents[2] / "cases" / "cep"
CASES = {path.stem: read_cases(path) for path in sorted(FOLDER.glob("*.txt"))}
TIMED_OUT = OutputTag[Any]("timed out")


def test_there_are_cases() -> None:
    assert sum(map(len, CASES.values())) > 1000


@pytest.mark.parametrize("name", CASES)
def test_the_matcher(name: str) -> None:
    for case in CASES[name]:
        if case.error is not None:
            with pytest.raises(SkipTargetError):
                match(build(case.given), case.events)
            continue
        found = match_with_timeouts(build(case.given), case.events)
        assert found == (case.matches, case.timeouts), case.place
        assert [list(each) for each in found[0]] == [list(each) for each in case.matches]


class Everything(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler[Any]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield match

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield TIMED_OUT, (match, ctx.timestamp())


def harness(case: Case) -> StreamHarness:
    pattern = build(case.given)
    return StreamHarness(
        lambda stream: CEP.pattern(stream.key_by(lambda event: 0), pattern).process(Everything()),
        side_outputs=[TIMED_OUT],
    )


@pytest.mark.parametrize("moving", [False, True], ids=["one worker", "a worker for each event"])
@pytest.mark.parametrize("name", CASES)
def test_the_operator(name: str, moving: bool) -> None:
    """Each event comes with the watermark in front of it: timeouts come in the order of time."""
    for case in CASES[name][:: 3 if moving else 1]:
        if case.error is not None:
            continue
        operator = harness(case)
        for event, time in case.events:
            operator.process_element(event, time)
            operator.process_watermark(time - 1)
            if moving:
                operator.move()
        operator.end_input()
        assert operator.take_records() == case.matches, case.place
        timeouts = [record.value for record in operator.take_side_output(TIMED_OUT)]
        assert sorted(timeouts, key=repr) == sorted(case.timeouts, key=repr), case.place
