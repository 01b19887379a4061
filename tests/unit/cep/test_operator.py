"""The operator: keys, time, late events, timeouts, and the ways to use matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from penstock.cep import (
    CEP,
    IterativeCondition,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternStream,
    PatternTimeoutFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from penstock.cep.testing import match
from penstock.common import Types
from penstock.core.output_tag import OutputTag
from penstock.errors import MissingTimestampError, StateError, UserFunctionError
from penstock.testing import StreamHarness
from penstock.testing.harness import Record
from tests.unit.process.jobs import run

pytestmark = pytest.mark.usefixtures("backend")

LATE, TIMED_OUT = OutputTag[Any]("late"), OutputTag[Any]("timed out")


@dataclass
class Login:
    user: str
    kind: str
    at: int = 0


def fails(within: int = 10) -> Pattern:
    first = Pattern.begin("first").where(lambda login: login.kind == "fail")
    return first.next("second").where(lambda login: login.kind == "fail").within(within)


def on_users(pattern: Pattern, use: Any, **options: Any) -> StreamHarness:
    """Return a harness: `use` makes a stream of the pattern stream."""
    return StreamHarness(
        lambda stream: use(CEP.pattern(stream.key_by(lambda login: login.user), pattern)),
        side_outputs=[LATE, TIMED_OUT],
        **options,
    )


def kinds(match: dict[str, list[Login]]) -> tuple[str, list[int]]:
    events = [event for own in match.values() for event in own]
    return events[0].user, [event.at for event in events]


def selecting(stream: PatternStream) -> Any:
    return stream.select(kinds)


def feed(harness: StreamHarness, *logins: tuple[str, str, int]) -> None:
    harness.process_elements([(Login(user, kind, at), at) for user, kind, at in logins])


def test_matches_are_of_one_key() -> None:
    harness = on_users(fails(), selecting)
    feed(harness, ("ann", "fail", 1), ("bob", "fail", 2), ("ann", "fail", 3), ("bob", "ok", 4))
    harness.process_watermark(4)
    assert harness.take_records() == [("ann", [1, 3])]


def test_a_stream_without_keys_is_looked_at_as_a_whole() -> None:
    harness = StreamHarness(lambda stream: CEP.pattern(stream, fails()).select(kinds))
    feed(harness, ("ann", "fail", 1), ("bob", "fail", 2))
    harness.process_watermark(4)
    assert harness.take_records() == [("ann", [1, 2])]


def test_it_runs_in_one_subtask_without_keys() -> None:
    events = [("a", 1), ("b", 2), ("c", 3)]
    pattern = Pattern.begin("one").next("two").next("three")

    def build(env: Any) -> Any:
        stream = CEP.pattern(env.from_collection(events), pattern).in_processing_time()
        return stream.select(lambda match: [own[0][0] for own in match.values()])

    assert run(build, parallelism=2) == [["a", "b", "c"]]


def test_events_are_sorted_up_to_the_watermark() -> None:
    harness = on_users(fails(), selecting)
    feed(harness, ("ann", "fail", 5), ("ann", "fail", 3), ("ann", "ok", 4))
    harness.process_watermark(3)
    feed(harness, ("ann", "fail", 4))
    assert harness.take_records() == []
    harness.process_watermark(9)
    # At 4 "ok" came first; the match has the time of its last event.
    assert harness.take_output()[0] == Record(("ann", [4, 5]), 5)


@pytest.mark.parametrize("in_time", ["in_event_time", "in_processing_time"])
def test_a_comparator_sorts_events_of_the_same_time(in_time: str) -> None:
    def by_kind(one: Login, other: Login) -> int:
        return (one.kind > other.kind) - (one.kind < other.kind)

    def build(stream: Any) -> Any:
        pattern = Pattern.begin("a").next("b").next("c")
        matches = CEP.pattern(stream.key_by(lambda login: login.user), pattern, by_kind)
        return getattr(matches, in_time)().select(
            lambda match: "".join(own[0].kind for own in match.values())
        )

    harness = StreamHarness(build)
    feed(harness, ("ann", "y", 1), ("ann", "z", 1), ("ann", "x", 1))
    harness.move()
    harness.process_watermark(1)
    harness.set_processing_time(1)
    assert harness.take_records() == ["xyz"]


def test_late_events_go_to_the_side_output() -> None:
    harness = on_users(fails(), lambda stream: stream.side_output_late_data(LATE).select(kinds))
    harness.process_watermark(10)
    feed(harness, ("ann", "fail", 10), ("ann", "fail", 11), ("ann", "fail", 12))
    harness.process_watermark(12)
    assert harness.take_side_output(LATE) == [Record(Login("ann", "fail", 10), 10)]
    assert harness.take_records() == [("ann", [11, 12])]


def test_late_events_are_counted_without_one() -> None:
    harness = on_users(fails(), selecting)
    harness.process_watermark(10)
    feed(harness, ("ann", "fail", 10))
    assert list(harness.metrics().values()) == [1]


def test_an_event_without_a_timestamp() -> None:
    harness = on_users(fails(), selecting)
    with pytest.raises(MissingTimestampError) as caught:
        harness.process_element(Login("ann", "fail"))
    assert (
        str(caught.value)
        == """record has no event timestamp
  where: operator 'CepOperator', built at test:1
  got:   Login(user='ann', kind='fail', at=0)
  to do: call assign_timestamps_and_watermarks(...) on the stream in front of CEP.pattern(...), or \
in_processing_time() on the pattern stream"""
    )


def test_processing_time() -> None:
    harness = on_users(fails(), lambda stream: stream.in_processing_time().select(kinds))
    harness.process_element(Login("ann", "fail", 1))
    harness.set_processing_time(9)
    harness.process_element(Login("ann", "fail", 2))
    harness.set_processing_time(19)  # ten milliseconds later: too late for the second one
    harness.process_element(Login("ann", "fail", 3))
    assert harness.take_output() == [Record(("ann", [1, 2]), None)]


def test_timeouts_in_processing_time_need_no_event() -> None:
    harness = on_users(
        fails(),
        lambda stream: stream.in_processing_time().select(
            TIMED_OUT, lambda match, time: (kinds(match), time), kinds
        ),
        processing_time=5,
    )
    harness.process_element(Login("ann", "fail", 1))
    assert harness.operator.next_processing_time() == 16
    harness.move()
    harness.set_processing_time(16)
    assert harness.take_side_output(TIMED_OUT) == [Record((("ann", [1]), 15), None)]
    assert harness.state_size() == harness.timer_count() == 0


class Both(PatternSelectFunction[Any, Any], PatternTimeoutFunction[Any, Any]):
    def select(self, pattern: Any) -> Any:
        return "match", kinds(pattern)

    def timeout(self, pattern: Any, timeout_timestamp: int) -> Any:
        return "timeout", kinds(pattern), timeout_timestamp


class FlatBoth(PatternFlatSelectFunction[Any, Any], PatternFlatTimeoutFunction[Any, Any]):
    def flat_select(self, pattern: Any) -> Any:
        yield "match", kinds(pattern)

    def timeout(self, pattern: Any, timeout_timestamp: int) -> Any:
        yield "timeout", kinds(pattern), timeout_timestamp


class Processing(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler[Any]):
    def process_match(self, match: Any, ctx: Any) -> Any:
        assert ctx.current_processing_time() == 7
        yield "match", kinds(match)

    def process_timed_out_match(self, match: Any, ctx: Any) -> None:
        ctx.output(TIMED_OUT, ("timeout", kinds(match), ctx.timestamp()))


class Collecting(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler[Any]):
    def process_match(self, match: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(("match", kinds(match)))

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield TIMED_OUT, ("timeout", kinds(match), ctx.timestamp())


def collect_match(match: Any, out: Any) -> None:
    out.collect(("match", kinds(match)))


def collect_timeout(match: Any, time: int, out: Any) -> None:
    out.collect(("timeout", kinds(match), time))


FORMS = {
    "select objects": lambda stream: stream.select(TIMED_OUT, Both(), Both()),
    "select functions": lambda stream: stream.select(
        TIMED_OUT, Both().timeout, Both().select, output_type=Types.PICKLED_BYTE_ARRAY()
    ),
    "flat_select objects": lambda stream: stream.flat_select(TIMED_OUT, FlatBoth(), FlatBoth()),
    "flat_select collectors": lambda stream: stream.flat_select(
        TIMED_OUT, collect_timeout, collect_match
    ),
    "process": lambda stream: stream.process(Processing()),
    "process with a collector": lambda stream: stream.process(Collecting()),
}


@pytest.mark.parametrize("form", FORMS)
def test_matches_and_timeouts(form: str) -> None:
    harness = on_users(fails(), FORMS[form], processing_time=7)
    feed(harness, ("ann", "fail", 1), ("ann", "fail", 3), ("bob", "fail", 4))
    harness.process_watermark(12)
    harness.process_watermark(13)
    assert harness.take_records() == [("match", ("ann", [1, 3]))]
    first, *others = harness.take_side_output(TIMED_OUT)
    assert first == Record(("timeout", ("ann", [3]), 13), 13) and others == []
    harness.process_watermark(14)
    assert [each.value[1] for each in harness.take_side_output(TIMED_OUT)] == [("bob", [4])]


def test_matches_without_a_timeout_function() -> None:
    for use in (
        lambda stream: stream.select(Both()),
        lambda stream: stream.select(Both().select, Types.PICKLED_BYTE_ARRAY()),
        lambda stream: stream.flat_select(FlatBoth()),
        lambda stream: stream.flat_select(lambda match: [("match", kinds(match))]),
    ):
        harness = on_users(fails(), use)
        feed(harness, ("ann", "fail", 1), ("ann", "fail", 3))
        harness.end_input()
        assert harness.take_records() == [("match", ("ann", [1, 3]))]


class Above(IterativeCondition[Login]):
    """Accepts what is above the last event of a stage by a limit that `open` sets."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.limit = 1000

    def open(self, runtime_context: Any) -> None:
        self.limit = 2

    def filter(self, value: Login, ctx: IterativeCondition.Context) -> bool:
        assert ctx.timestamp() == value.at
        return all(value.at >= e.at + self.limit for e in ctx.get_events_for_pattern(self.stage))


class Fail(SimpleCondition[Login]):
    def filter(self, value: Login) -> bool:
        return value.kind == "fail"


def test_condition_objects_are_opened() -> None:
    pattern = Pattern.begin("a").where(Fail()).followed_by("b").where(Above("a"))
    harness = on_users(pattern, selecting)
    feed(harness, ("ann", "fail", 1), ("ann", "x", 2), ("ann", "x", 3), ("ann", "x", 4))
    harness.end_input()
    assert harness.take_records() == [("ann", [1, 3])]


def test_a_condition_is_asked_once_an_event() -> None:
    asked: list[int] = []

    def ask(login: Login) -> bool:
        asked.append(login.at)
        return login.kind == "b"

    first = Pattern.begin("a").where(lambda login: login.kind == "a")
    pattern = first.followed_by_any("b").where(ask).one_or_more().allow_combinations()
    logins = [(Login("ann", kind, at), at) for at, kind in enumerate("aabbab")]
    assert len(match(pattern, logins)) == 15
    assert asked == [1, 2, 3, 4, 5]


def test_an_error_of_a_condition_names_the_event() -> None:
    pattern = Pattern.begin("a").where(lambda event: event["kind"] == "x")

    def build(env: Any) -> Any:
        stream = env.from_collection([Login("ann", "fail", 1)])
        return CEP.pattern(stream, pattern).in_processing_time().select(kinds)

    with pytest.raises(UserFunctionError) as caught:
        run(build)
    assert "operator 'GlobalCepOperator' raised TypeError" in str(caught.value)
    assert "got:   record Login(user='ann', kind='fail', at=1)" in str(caught.value)


def test_a_key_without_partial_matches_has_no_state() -> None:
    harness = on_users(fails(), selecting)
    feed(harness, ("ann", "fail", 1), ("bob", "ok", 1), ("bob", "fail", 2), ("bob", "ok", 3))
    harness.process_watermark(5)
    harness.cut()
    assert harness.state_size() == 1  # of Ann
    harness.process_watermark(11)
    harness.cut()
    assert harness.state_size() == harness.timer_count() == 0


def test_a_time_between_two_events_is_up_without_another_event() -> None:
    pattern = Pattern.begin("a").followed_by("b").where(lambda login: login.kind == "b")
    pattern = pattern.within(5, WithinType.PREVIOUS_AND_CURRENT)
    harness = on_users(pattern, FORMS["process with a collector"])
    feed(harness, ("ann", "a", 1))
    harness.process_watermark(1)
    harness.process_watermark(6)
    assert harness.take_side_output(TIMED_OUT) == [Record(("timeout", ("ann", [1]), 6), 6)]
    assert harness.timer_count() == 0


def test_what_a_condition_does_to_an_event_does_not_last() -> None:
    """Events that a batch only reads are in the next one as they were written."""

    def spoil(login: Login, ctx: Any) -> bool:
        before = ctx.get_events_for_pattern("a")[0]
        before.kind += "!"
        return login.kind == "b"

    pattern = Pattern.begin("a").followed_by("b").where(spoil)
    harness = on_users(pattern, lambda stream: stream.select(lambda match: match["a"][0].kind))
    for at, kind in enumerate("axxb"):
        feed(harness, ("ann", kind, at))
        harness.process_watermark(at)
        harness.cut()
    assert harness.take_records()[0] == "a!"


def test_a_state_that_was_loaded_sets_no_timer_for_what_has_not_begun() -> None:
    pattern = Pattern.begin("a").where(lambda login: login.kind == "a")
    pattern = pattern.next("b").where(lambda login: login.kind == "b").within(10)
    harness = on_users(pattern, selecting)
    feed(harness, ("ann", "a", 1))
    harness.process_watermark(1)
    harness.move()
    feed(harness, ("ann", "b", 2), ("ann", "x", 3))
    harness.process_watermark(3)
    harness.move()
    feed(harness, ("ann", "x", 4))
    harness.process_watermark(20)
    assert harness.take_records() == [("ann", [1, 2])]
    assert harness.timer_count() == 0


def test_the_state_of_another_pattern() -> None:
    before = on_users(fails(), selecting)
    feed(before, ("ann", "fail", 1))
    before.process_watermark(1)
    other = on_users(Pattern.begin("x").next("y"), selecting)
    other.restore(before.snapshot())
    feed(other, ("ann", "fail", 2))
    with pytest.raises(StateError) as caught:
        other.process_watermark(2)
    assert (
        str(caught.value)
        == """a partial match is in a state that the pattern does not have
  where: operator 'CepOperator', built at test:1
  got:   'second'
  to do: go on with the stages and quantifiers that the pattern had, or give the operator another \
uid to begin without its state"""
    )
