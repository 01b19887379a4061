"""Whatever fails inside a task, the user reads which operator, where it was built, which record."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.core.functions import (
    CoFlatMapFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
)
from penstock.core.output_tag import OutputTag
from penstock.core.state import ValueStateDescriptor
from penstock.errors import (
    PenstockError,
    ProgramError,
    SerializationError,
    StateError,
    UserFunctionError,
)
from penstock.graph.specs import (
    CoFlatMapSpec,
    Custom,
    FilterSpec,
    FlatMapSpec,
    Hash,
    KeyedProcessSpec,
    MapSpec,
    OperatorSpec,
    ProcessSpec,
    Rebalance,
    ReduceSpec,
    SinkFunctionSpec,
    TimestampsSpec,
)
from tests.unit.runtime.plans import Input, Planner
from tests.unit.runtime.runner import Runner, batch

HERE = Path(__file__).name


def divide(value: Any) -> float:
    return 1 / value


def passed(value: Any) -> Any:
    return value


def failure_of(plan: Planner, values: Any, kind: type[Exception] = UserFunctionError) -> Any:
    with pytest.raises(kind) as caught:
        Runner(plan.build()).run({0: values}, ended=True)
    return caught.value


def around(spec: OperatorSpec, *, keyed: bool = False) -> Planner:
    """Return a plan in which an operator named 'culprit' stands between two innocent ones."""
    plan = Planner()
    before = plan.add(MapSpec(passed), plan.source(), name="before")
    where = Input(before, Hash(passed)) if keyed else before
    culprit = plan.add(spec, where, name="culprit")
    after = plan.add(FilterSpec(lambda value: True), culprit, name="after")
    plan.sink(plan.add(MapSpec(passed), Input(after, Rebalance()), name="last"))
    return plan


def head(error: Any) -> list[str]:
    """Return the text without the traceback."""
    return str(error).split("\nTraceback")[0].splitlines()


def expected(what: str, record: str | None) -> list[str]:
    lines = [what, "  where: operator 'culprit', built at job.py:12"]
    lines += [] if record is None else [f"  got:   record {record}"]
    return [*lines, "  to do: correct the function, or catch the exception inside it"]


def test_a_lambda() -> None:
    error = failure_of(around(MapSpec(lambda value: 1 / value)), [2, 1, 0])
    what = "operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")
    assert (error.operator, error.record, error.method) == ("culprit", "0", None)


def test_a_named_function_and_the_users_part_of_the_traceback() -> None:
    error = failure_of(around(MapSpec(divide)), [2, 0])
    what = "divide() of operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")
    frames = str(error).split("Traceback (most recent call last):\n")[1]
    assert frames.splitlines()[0].startswith(f'  File "{Path(__file__)}", line ')
    assert frames.splitlines()[0].endswith("in divide")
    assert "penstock/runtime" not in frames


class Dividing(MapFunction):
    def map(self, value: Any) -> Any:
        return self._deeper(value)

    def _deeper(self, value: Any) -> Any:
        return 1 / value


def test_a_method() -> None:
    error = failure_of(around(MapSpec(Dividing())), [0])
    what = "map() of operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")


def test_the_record_is_the_one_that_came_in_even_if_the_function_changed_its_variable() -> None:
    def parse(value: Any) -> Any:
        value = value.strip()
        return int(value)

    error = failure_of(around(MapSpec(parse)), [" x "])
    assert error.record == "' x '"


def test_a_c_function() -> None:
    error = failure_of(around(MapSpec(int)), ["1", "x"])
    what = "operator 'culprit' raised ValueError: invalid literal for int() with base 10: 'x'"
    assert head(error) == expected(what, "'x'")


def test_of_two_operators_with_the_same_function_the_right_one_is_named() -> None:
    for function in (int, divide, Dividing()):
        plan = Planner()
        operator = plan.source()
        for name in ("first", "second", "third"):
            operator = plan.add(MapSpec(function), operator, name=name)
        plan.sink(operator)
        assert failure_of(plan, ["x" if function is int else 0]).operator == "first"
        plan = Planner()
        twice = plan.add(MapSpec(function), plan.source(), name="first")
        made = plan.add(MapSpec(lambda value: "x" if value == 7 else 0), twice, name="made")
        plan.sink(plan.add(MapSpec(function), made, name="second"))
        assert failure_of(plan, [7 if function is int else 1]).operator == "second"


@pytest.mark.parametrize("spec", [MapSpec, FilterSpec, FlatMapSpec])
def test_stop_iteration_is_a_failure_and_not_the_end_of_the_records(spec: Any) -> None:
    error = failure_of(around(spec(lambda value: next(iter([])))), [1, 2])
    assert head(error) == expected("operator 'culprit' raised StopIteration", "1")


def test_stop_iteration_inside_the_users_own_generator() -> None:
    def careless(value: Any) -> Iterable[Any]:
        yield next(iter([]))

    error = failure_of(around(FlatMapSpec(careless)), [1, 2])
    what = "operator 'culprit' raised RuntimeError: generator raised StopIteration"
    assert head(error) == expected(what, "1")


class Generating(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        yield value
        yield 1 / value


def test_a_generator_fails_while_its_results_are_taken() -> None:
    error = failure_of(around(FlatMapSpec(Generating())), [1, 0])
    what = "flat_map() of operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")


def test_a_generator_on_a_keyed_stream() -> None:
    error = failure_of(around(FlatMapSpec(Generating(), keyed=True), keyed=True), [1, 0])
    what = "flat_map() of operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")


class CoGenerating(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield 1 / value

    def flat_map2(self, value: Any) -> Iterable[Any]:
        yield value


def test_a_generator_on_connected_streams() -> None:
    plan = Planner()
    one, two = plan.source("one"), plan.source("two")
    both = plan.add(CoFlatMapSpec(CoGenerating()), Input(one), Input(two, index=1), name="culprit")
    plan.sink(plan.add(MapSpec(passed), both))
    error = failure_of(plan, [0])
    what = "flat_map1() of operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")


def test_something_that_is_no_list_of_results() -> None:
    with pytest.raises(ProgramError) as caught:
        failure_of(around(FlatMapSpec(lambda value: 5)), ["a"])
    assert str(caught.value) == (
        "the function of 'culprit' returned a value where results are due\n"
        "  where: operator 'culprit', built at job.py:12\n"
        "  got:   int 5\n"
        "  to do: yield it, or return a list: [value]; None and [] mean no result"
    )


def test_a_reduce_function_names_the_record_that_came() -> None:
    error = failure_of(around(ReduceSpec(lambda a, b: 1 / 0), keyed=True), ["a", "a"])
    what = "operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "'a'")


class Timed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        if value == "record":
            raise KeyError("no")
        if value == "processing":
            ctx.timer_service().register_processing_time_timer(0)
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield 1 / 0


def test_a_process_function() -> None:
    error = failure_of(around(KeyedProcessSpec(Timed()), keyed=True), ["record"])
    what = "process_element() of operator 'culprit' raised KeyError: 'no'"
    assert head(error) == expected(what, "'record'")


def test_a_timer_has_no_record() -> None:
    what = "on_timer() of operator 'culprit' raised ZeroDivisionError: division by zero"
    error = failure_of(around(KeyedProcessSpec(Timed()), keyed=True), ["event"])
    assert head(error) == expected(what, None)
    job = Runner(around(KeyedProcessSpec(Timed()), keyed=True).build())
    job.run({0: ["processing"]})
    with pytest.raises(UserFunctionError) as caught:
        job.run()
    assert head(caught.value) == expected(what, None)


def test_a_timer_that_fires_inside_a_batch_has_no_record_either() -> None:
    error = failure_of(
        around(KeyedProcessSpec(Timed()), keyed=True), batch(["a", "b"], marks=[(1, 10)])
    )
    assert error.record is None


class Unopenable(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise ConnectionRefusedError("nobody listens")

    def map(self, value: Any) -> Any:
        return value


def test_open() -> None:
    error = failure_of(around(MapSpec(Unopenable())), [])
    what = "open() of operator 'culprit' raised ConnectionRefusedError: nobody listens"
    assert head(error) == expected(what, None)


class Unclosable(MapFunction):
    def close(self) -> None:
        raise OSError("still in use")

    def map(self, value: Any) -> Any:
        return value


def test_close() -> None:
    error = failure_of(around(MapSpec(Unclosable())), [1])
    what = "close() of operator 'culprit' raised OSError: still in use"
    assert head(error) == expected(what, None)


class Refusing(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        raise PermissionError("read only")


def test_a_sink_function() -> None:
    plan = Planner()
    before = plan.add(MapSpec(passed), plan.source(), name="before")
    plan.add(SinkFunctionSpec(Refusing()), before, name="culprit")
    error = failure_of(plan, ["a"])
    what = "invoke() of operator 'culprit' raised PermissionError: read only"
    assert head(error) == expected(what, "'a'")


def test_a_timestamp_assigner() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, timestamp: value["at"]
    )
    error = failure_of(around(TimestampsSpec(strategy)), [{"at": 1}, {}])
    assert head(error) == expected("operator 'culprit' raised KeyError: 'at'", "{}")


def test_a_key_selector_is_not_blamed_on_the_operator_in_front() -> None:
    plan = Planner()
    before = plan.add(MapSpec(passed), plan.source(), name="before")
    keyed = plan.keyed(ReduceSpec(max), before, lambda value: value["key"], name="culprit")
    plan.sink(keyed)
    error = failure_of(plan, [{"key": 1}, {"k": 2}])
    what = "the key selector in front of operator 'culprit' raised KeyError: 'key'"
    assert head(error) == expected(what, "{'k': 2}")


def test_a_partitioner() -> None:
    plan = Planner()
    before = plan.add(MapSpec(passed), plan.source(), name="before")
    chosen = Input(before, Custom(lambda key, n: key // 0, passed))
    plan.sink(plan.add(MapSpec(passed), chosen, name="culprit"))
    error = failure_of(plan, [3])
    what = "the partitioner in front of operator 'culprit' raised ZeroDivisionError: "
    assert head(error)[0].startswith(what)
    assert error.record == "3"


class Outputting(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.output(OutputTag("side"), value)


def test_an_operator_behind_a_side_output() -> None:
    plan = Planner()
    source = plan.source()
    main = plan.add(ProcessSpec(Outputting()), source, name="main")
    side = plan.add(MapSpec(divide), Input(main, tag="side"), name="culprit")
    plan.sink(side)
    error = failure_of(plan, [0])
    what = "divide() of operator 'culprit' raised ZeroDivisionError: division by zero"
    assert head(error) == expected(what, "0")


def test_an_operator_behind_a_fan_out() -> None:
    plan = Planner()
    source = plan.source()
    plan.sink(plan.add(MapSpec(passed), source, name="innocent"), name="one")
    plan.sink(plan.add(MapSpec(divide), source, name="culprit"), name="two")
    assert failure_of(plan, [0]).operator == "culprit"


class Early(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        state = runtime_context.get_state(ValueStateDescriptor("count"))
        state.update(0)

    def process_element(self, value: Any, ctx: Any) -> None:
        pass


def test_keyed_state_used_in_open() -> None:
    error = failure_of(around(KeyedProcessSpec(Early()), keyed=True), [1], StateError)
    assert str(error) == (
        "keyed state or a timer was used while there is no current key\n"
        "  where: open() of operator 'culprit', built at job.py:12\n"
        "  to do: use them in process_element() and on_timer(), not in open(), close() or "
        "snapshot_state(); the broadcast side visits all keys by ctx.apply_to_keyed_state()"
    )


class Keyless(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value: Any) -> Any:
        return value


def test_keyed_state_on_a_stream_without_keys() -> None:
    error = failure_of(around(MapSpec(Keyless())), [1], StateError)
    assert str(error) == (
        "keyed state can only be used on a keyed stream\n"
        "  where: operator 'culprit', built at job.py:12\n"
        "  to do: call key_by(...) on the stream in front of this function"
    )


def test_a_record_that_cannot_travel_is_blamed_on_who_made_it() -> None:
    plan = Planner()
    culprit = plan.add(MapSpec(lambda value: threading.Lock()), plan.source(), name="culprit")
    plan.sink(Input(culprit, Rebalance()))
    error = failure_of(plan, [1], SerializationError)
    assert "  where: operator 'culprit', built at job.py:11" in str(error)


def test_an_error_that_says_where_stays_as_it_is() -> None:
    def refuse(value: Any) -> Any:
        raise PenstockError("no", where="somewhere")

    error = failure_of(around(MapSpec(refuse)), [1], PenstockError)
    assert str(error) == "no\n  where: somewhere"
