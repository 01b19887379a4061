"""Workers, repeated batches and the places of cuts make no difference to matches."""

from __future__ import annotations

import random
from contextlib import nullcontext
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.common import WatermarkStrategy
from penstock.core.output_tag import OutputTag
from penstock.runtime.state import log
from tests.unit.cep.test_cases import TIMED_OUT, Everything
from tests.unit.process.jobs import plan_of
from tests.unit.properties.runs import make_cuts, run_plainly, run_with_trouble

pytestmark = pytest.mark.usefixtures("backend")

LATE = OutputTag[Any]("late")
SEEDS = st.integers(0, 10**6)
slowly = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def letter(wanted: str) -> Any:
    return lambda event: event[1] == wanted


def patterns() -> list[Pattern]:
    skip = AfterMatchSkipStrategy
    loop = Pattern.begin("a", skip.skip_past_last_event()).where(letter("a")).one_or_more()
    quiet = Pattern.begin("a").where(letter("a")).not_followed_by("b").where(letter("b"))
    rising = Pattern.begin("up").one_or_more().consecutive()
    rising = rising.where(lambda event, ctx: all(
        event[2] > before[2] for before in ctx.get_events_for_pattern("up")[-1:]
    ))  # fmt: skip
    return [
        loop.followed_by_any("b").where(letter("b")).within(8),
        quiet.within(5),
        rising.next("down").within(6),
        Pattern.begin("a", skip.skip_to_last("b")).followed_by("b").times(2).within(7),
    ]


PATTERNS = patterns()
Events = list[tuple[int, str, int, int]]


def events() -> st.SearchStrategy[Events]:
    one = st.tuples(
        st.integers(0, 2), st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 20)
    )
    return st.lists(one, max_size=25)


def plan(records: Events, number: int) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        3
    ).with_timestamp_assigner(lambda event, _: event[3])  # fmt: skip

    def build(env: Any) -> Any:
        stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
        found = CEP.pattern(stream.key_by(lambda event: event[0]), PATTERNS[number])
        matches = found.side_output_late_data(LATE).process(Everything())
        timed_out = matches.get_side_output(TIMED_OUT)
        late = matches.get_side_output(LATE)
        return matches.map(str).union(timed_out.map(str), late.map(str))

    return plan_of(build)


@slowly
@given(events(), st.integers(0, len(PATTERNS) - 1), SEEDS, st.booleans())
def test_replays_of_the_same_cut_are_exactly_equal(
    records: Events, number: int, seed: int, short_log: bool
) -> None:
    (expected, plain), (troubled, other) = plan(records, number), plan(records, number)
    cuts = make_cuts(seed)
    state = run_plainly(expected, cuts)
    sizes = {
        "_MIN_LOG_BYTES": 500, "_MERGED": 3, "_TAIL_BYTES": 100, "_MIN_SWEEP_BYTES": 1,
        "_SWEEP_STEP": 1,
    }  # fmt: skip
    with mock.patch.multiple(log, **sizes) if short_log else nullcontext():
        state_after_trouble = run_with_trouble(troubled, cuts, random.Random(seed))
    assert other.by_subtask() == plain.by_subtask()
    assert state_after_trouble == state


@slowly
@given(events(), st.integers(0, len(PATTERNS) - 1), SEEDS)
def test_cuts_make_no_difference(records: Events, number: int, seed: int) -> None:
    (whole, one), (cut, many) = plan(records, number), plan(records, number)
    run_plainly(whole, None)
    run_plainly(cut, make_cuts(seed))
    assert many.by_subtask() == one.by_subtask()
