"""Broadcast process functions: who may do what, and what every subtask comes to know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.core.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream import (
    BroadcastProcessFunction,
    BroadcastStream,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    TimeDomain,
)
from penstock.errors import GraphError, PenstockError, StateError, TypeMismatchError
from penstock.testing import BroadcastHarness
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import plan_of, run

RULES = MapStateDescriptor("rules")
OTHER = MapStateDescriptor("other")
SIDE = OutputTag("side")


def said(error: pytest.ExceptionInfo[PenstockError]) -> str:
    return str(error.value)


class Rules(BroadcastProcessFunction):
    """Broadcast records are (name, factor); data are (name, number)."""

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if value[0] in rules:
            yield value[0], value[1] * rules.get(value[0])
        else:
            ctx.output(SIDE, (value, ctx.timestamp(), ctx.current_watermark()))

    def process_broadcast_element(self, value: tuple[str, int | None], ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        name, factor = value
        if factor is None:
            rules.remove(name)
        else:
            rules.put(name, factor)
        yield SIDE, (sorted(rules.items()), ctx.timestamp(), ctx.current_processing_time())


def test_rules_apply_to_what_comes_behind_them() -> None:
    harness = BroadcastHarness(Rules(), [RULES], side_outputs=[SIDE], processing_time=5)
    harness.process_element(("a", 2), 10)
    harness.process_broadcast_element(("a", 3), 11)
    harness.process_element(("a", 2), 12)
    harness.process_broadcast_element(("a", None), 13)
    harness.process_watermark(13)
    harness.process_element(("a", 2), 14)
    assert harness.take_records() == [("a", 6)]
    assert [record.value for record in harness.take_side_output(SIDE)] == [
        (("a", 2), 10, -(2**63)),
        ([("a", 3)], 11, 5),
        ([], 13, 5),
        (("a", 2), 14, 13),
    ]


@pytest.mark.parametrize(
    ("call", "change"),
    [
        ("put('a', ...)", lambda state: state.put("a", 1)),
        ("put_all(...)", lambda state: state.put_all({"a": 1})),
        ("remove('a')", lambda state: state.remove("a")),
        ("clear()", lambda state: state.clear()),
        ("state['a'] = ...", lambda state: state.__setitem__("a", 1)),
        ("del state['a']", lambda state: state.__delitem__("a")),
    ],
)
def test_the_side_with_the_data_cannot_write(call: str, change: Any) -> None:
    class Writing(Rules):
        def process_element(self, value: Any, ctx: Any) -> Any:
            change(ctx.get_broadcast_state(RULES))

    harness = BroadcastHarness(Writing(), [RULES])
    with pytest.raises(StateError) as error:
        harness.process_element("x")
    assert said(error) == (
        "broadcast state 'rules' can only be read on the side with the data\n"
        "  where: operator 'operator', built at test:1\n"
        f"  got:   {call}\n"
        "  to do: change it in process_broadcast_element(), which every subtask calls with the "
        "same records"
    )


class InPlace(BroadcastProcessFunction):
    """Change what was read, on both sides."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found = ctx.get_broadcast_state(RULES).get("list")
        found.append(value)
        yield list(found)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        rules = ctx.get_broadcast_state(RULES)
        held = rules.get("list") or []
        rules.put("list", [*held, value])
        held.append("not kept")


def test_what_the_data_side_changes_in_place_is_not_kept() -> None:
    harness = BroadcastHarness(InPlace(), [RULES])
    harness.process_broadcast_element("rule")
    harness.process_element("x")
    assert harness.take_records() == [["rule", "x"]]
    harness.process_broadcast_element("another")
    assert harness.broadcast_state(RULES) == {"list": ["rule", "another"]}
    harness.process_element("y")
    harness.cut()
    harness.process_element("z")
    harness.move()
    assert harness.broadcast_state(RULES) == {"list": ["rule", "another"]}
    assert harness.take_records() == [["rule", "another", "y"], ["rule", "another", "z"]]


def test_reading_in_all_ways() -> None:
    class Reading(Rules):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            state = ctx.get_broadcast_state(RULES)
            yield state.is_empty(), list(state), list(state.keys()), list(state.values())
            yield list(state.items()), state["a"], state.contains("a"), "z" in state, state.get("z")

    harness = BroadcastHarness(Reading(), [RULES], side_outputs=[SIDE])
    harness.process_element("x")
    harness.process_broadcast_element(("a", 1))
    harness.process_broadcast_element(("b", 2))
    harness.process_element("x")
    assert harness.take_records() == [
        (True, [], [], []),
        ([], None, False, False, None),
        (False, ["a", "b"], ["a", "b"], [1, 2]),
        ([("a", 1), ("b", 2)], 1, True, False, None),
    ]


def test_a_state_that_was_not_broadcast() -> None:
    class Asking(Rules):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(OTHER)

    with pytest.raises(StateError) as error:
        BroadcastHarness(Asking(), [RULES]).process_element("x")
    assert said(error) == (
        "the stream was not broadcast with this descriptor\n"
        "  where: operator 'operator', built at test:1\n"
        "  got:   MapStateDescriptor('other'); broadcast were: 'rules'\n"
        "  to do: pass the descriptor to stream.broadcast(...) as well"
    )


# --- keyed ------------------------------------------------------------------------------------


class Totals(KeyedBroadcastProcessFunction):
    """Add numbers up by key; the broadcast side says by what, and may change all totals."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(self.descriptor())

    @staticmethod
    def descriptor() -> ReducingStateDescriptor:
        return ReducingStateDescriptor("total", lambda a, b: a + b)

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        factor = ctx.get_broadcast_state(RULES).get("factor") or 1
        self.total.add(value[1] * factor)
        timers = ctx.timer_service()
        timers.register_event_time_timer((ctx.timestamp() or 0) + 10)
        timers.register_processing_time_timer(timers.current_processing_time() + 10)
        yield ctx.get_current_key(), self.total.get()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value == "show":
            shown: list[Any] = []
            ctx.apply_to_keyed_state(
                self.descriptor(), lambda key, state: shown.append((key, state.get()))
            )
            yield shown
        elif value == "forget small":
            ctx.apply_to_keyed_state(
                self.descriptor(), lambda key, state: state.get() < 10 and state.clear()
            )
        else:
            ctx.get_broadcast_state(RULES).put("factor", value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        factor = ctx.get_broadcast_state(RULES).get("factor")
        yield ctx.time_domain().name, ctx.get_current_key(), timestamp, ctx.timestamp(), factor


def totals() -> BroadcastHarness:
    return BroadcastHarness(Totals(), [RULES], lambda pair: pair[0])


def test_keyed_state_and_timers_beside_broadcast_state() -> None:
    harness = totals()
    harness.process_element(("a", 2), 1)
    harness.process_broadcast_element(10)
    harness.process_element(("a", 2), 2)
    harness.process_watermark(11)
    harness.move()
    harness.set_processing_time(10)
    assert harness.take_records() == [
        ("a", 2),
        ("a", 22),
        (TimeDomain.EVENT_TIME.name, "a", 11, 11, 10),
        (TimeDomain.PROCESSING_TIME.name, "a", 10, 10, 10),
    ]


def test_the_broadcast_side_visits_all_keys_in_one_order() -> None:
    keys = [f"key {n}" for n in range(50)]
    one, other = totals(), totals()
    for key in keys:
        one.process_element((key, int(key[4:])))
    for key in reversed(keys):
        other.process_element((key, int(key[4:])))
    other.move()
    for harness in (one, other):
        harness.take_records()
        harness.process_broadcast_element("show")
    (shown,), (shown_by_other,) = one.take_records(), other.take_records()
    assert sorted(shown) == sorted((key, int(key[4:])) for key in keys)
    assert shown == shown_by_other
    one.process_broadcast_element("forget small")
    one.move()
    one.process_broadcast_element("show")
    (left,) = one.take_records()
    assert left == [entry for entry in shown if entry[1] >= 10]


def test_visiting_a_state_that_expires_leaves_out_what_has() -> None:
    harness = BroadcastHarness(Visiting(), [RULES], str, processing_time=0)
    harness.process_element("early")
    harness.set_processing_time(60)
    harness.process_element("late")
    harness.set_processing_time(110)
    harness.process_broadcast_element("show")
    assert harness.take_records() == [["late"]]


class Visiting(KeyedBroadcastProcessFunction):
    def __init__(self) -> None:
        config = StateTtlConfig.new_builder(Time.milliseconds(100))
        self.descriptor = ValueStateDescriptor("s")
        self.descriptor.enable_time_to_live(config.disable_cleanup_in_background().build())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.state.update(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        shown: list[Any] = []
        ctx.apply_to_keyed_state(self.descriptor, lambda key, state: shown.append(state.value()))
        yield shown


def test_visiting_a_state_that_nobody_has() -> None:
    class Unused(Visiting):
        def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            ctx.apply_to_keyed_state(ListStateDescriptor("unused"), lambda key, state: 1 / 0)
            yield "nothing"

    harness = BroadcastHarness(Unused(), [RULES], str)
    harness.process_broadcast_element("x")
    assert harness.take_records() == ["nothing"]


def test_the_broadcast_side_has_no_key() -> None:
    class Wrong(Totals):
        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            self.total.add(1)

    harness = BroadcastHarness(Wrong(), [RULES], lambda pair: pair[0])
    harness.process_element(("a", 1))
    with pytest.raises(StateError) as error:
        harness.process_broadcast_element("x")
    assert said(error).splitlines()[:2] == [
        "keyed state or a timer was used while there is no current key",
        "  where: process_broadcast_element() of operator 'operator', built at test:1",
    ]


# --- in jobs ----------------------------------------------------------------------------------


def rules_job(env: StreamExecutionEnvironment) -> Any:
    rules = env.from_collection([("a", 2), ("b", 3)]).broadcast(RULES)
    data = env.from_collection([(name, n) for n in range(5) for name in "abc"]).rebalance()
    return data.connect(rules).process(Rules())


@pytest.mark.parametrize("parallelism", [1, 3])
def test_within_a_batch_the_broadcast_side_comes_first(parallelism: int) -> None:
    expected = [(name, n * factor) for n in range(5) for name, factor in (("a", 2), ("b", 3))]
    assert sorted(run(rules_job, parallelism)) == sorted(expected)


def totals_job(env: StreamExecutionEnvironment) -> Any:
    rules = env.from_collection([2, 10, 100]).broadcast(RULES)
    data = env.from_collection([(name, 1) for _ in range(6) for name in "abcd"])
    return data.key_by(lambda pair: pair[0]).connect(rules).process(Totals())


@pytest.mark.parametrize("parallelism", [1, 3])
def test_replays_and_restarts_change_nothing(parallelism: int, tmp_path: Path) -> None:
    clock = lambda: 1000  # noqa: E731
    expected = sorted(map(repr, run(totals_job, parallelism, cuts=1, clock=clock)))
    assert sorted(map(repr, run(totals_job, parallelism, 1, ["a", "b"], clock=clock))) == expected
    plan, sink = plan_of(totals_job, parallelism)
    for worker in "abab":
        job = LocalJob(plan, tmp_path, cuts=1, clock=clock)
        for _ in range(3):
            job.step((worker,))
        job.ask()
        job.attempt()
    LocalJob(plan, tmp_path, cuts=1, clock=clock).run()
    assert sorted(map(repr, sink.values())) == expected


def test_the_slower_side_holds_the_watermark_back() -> None:
    def job(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        strategy = strategy.with_timestamp_assigner(lambda value, _: value[1])
        rules = env.from_collection([("a", 1), ("a", 15), ("a", 20)])
        rules = rules.assign_timestamps_and_watermarks(strategy)
        data = env.from_collection([("k", 1), ("k", 50), ("k", 60)])
        data = data.assign_timestamps_and_watermarks(strategy)
        return data.key_by(lambda p: p[0]).connect(rules.broadcast(RULES)).process(Watermarks())

    # The first record's timer is at 10: behind the first rule's watermark, before the second's.
    assert run(job, cuts=1)[:2] == [("timer", 10, 14), ("timer", 59, 59)]


class Watermarks(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1] + 9)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        pass

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", timestamp, ctx.current_watermark()


# --- BATCH mode -------------------------------------------------------------------------------


def in_batch_mode(keyed: bool) -> Any:
    def build(env: StreamExecutionEnvironment) -> Any:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        rules = env.from_collection([("a", 2), ("b", 3), ("c", 4), ("a", 5)]).broadcast(RULES)
        data = env.from_collection([(name, n) for n in range(6) for name in "abc"])
        if keyed:
            return data.key_by(lambda pair: pair[0]).connect(rules).process(KeyedRules())
        return data.rebalance().connect(rules).process(Rules())

    return build


class KeyedRules(KeyedBroadcastProcessFunction):
    """As `Rules`, with a count by key and a timer at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", default_value=0))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        assert ctx.get_current_key() == value[0]
        self.count.update(self.count.value() + 1)
        ctx.timer_service().register_event_time_timer(10)
        yield value[0], value[1] * ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), "count", self.count.value()


@pytest.mark.parametrize("cuts", [None, 1, 3, lambda batch, uid: 1 if batch % 2 else 9])
@pytest.mark.parametrize("keyed", [False, True])
def test_in_batch_mode_all_rules_come_before_any_data(keyed: bool, cuts: Any) -> None:
    factors = {"a": 5, "b": 3, "c": 4}
    expected: list[Any] = [(name, n * f) for n in range(6) for name, f in factors.items()]
    if keyed:
        expected += [(name, "count", 6) for name in factors]
    found = run(in_batch_mode(keyed), 2, cuts, ["x", "y"])
    assert sorted(found, key=str) == sorted(expected, key=str)


# --- the API ----------------------------------------------------------------------------------


def streams() -> tuple[Any, BroadcastStream]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection(["x"]), env.from_collection(["y"]).broadcast(RULES, OTHER)


def test_what_connect_returns() -> None:
    data, broadcast = streams()
    connected = data.connect(broadcast)
    assert connected.get_first_input() is data
    assert connected.get_second_input() is broadcast
    assert broadcast.get_broadcast_state_descriptors() == [RULES, OTHER]


@pytest.mark.parametrize("keyed", [False, True])
def test_the_function_must_fit_the_stream(keyed: bool) -> None:
    data, broadcast = streams()
    if keyed:
        data = data.key_by(str)
    with pytest.raises(GraphError) as error:
        data.connect(broadcast).process(Rules() if keyed else Totals())
    lines = said(error).splitlines()
    assert (lines[0], lines[2:]) == (
        (
            "a stream that is keyed needs a KeyedBroadcastProcessFunction",
            [
                "  got:   Rules",
                "  to do: write a subclass of KeyedBroadcastProcessFunction, or connect the stream "
                "without key_by()",
            ],
        )
        if keyed
        else (
            "a stream that is not keyed needs a BroadcastProcessFunction",
            [
                "  got:   Totals",
                "  to do: write a subclass of BroadcastProcessFunction, or call key_by() on the "
                "stream",
            ],
        )
    )


def test_broadcast_takes_map_state_descriptors_of_different_names() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream: Any = env.from_collection(["y"])
    with pytest.raises(TypeMismatchError, match="needs a MapStateDescriptor"):
        stream.broadcast(ValueStateDescriptor("v"))
    with pytest.raises(GraphError, match="descriptors of different names"):
        stream.broadcast(RULES, MapStateDescriptor("rules"))
    with pytest.raises(GraphError, match="Cannot override partitioning for KeyedStream"):
        stream.key_by(str).broadcast(RULES)
