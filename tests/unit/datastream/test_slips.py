"""Slips of a program are told when it is built, or plainly when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    CoProcessFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import FieldError, NotKeyedError, ProgramError, TypeMismatchError

HERE = f"{__file__}:"


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "in-process")
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def told(error: BaseException) -> str:
    """Return the text of an error, without file and line."""
    lines = []
    for line in str(error).splitlines():
        before, found, _ = line.partition(HERE)
        lines.append(before + ("HERE" if found else ""))
    return "\n".join(lines)


def failure(kind: type[BaseException], act: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        act()
    return told(caught.value)


class WithCollector(ProcessFunction):
    def process_element(self, value: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(value)


class TimerWithCollector(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def on_timer(self, timestamp: int, ctx: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(timestamp)


class WindowWithCollector(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(key)


class FlatMapWithCollector(FlatMapFunction):
    def flat_map(self, value: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(value)


class CoWithCollector(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(value)


def test_javas_collector(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    assert failure(TypeMismatchError, lambda: stream.process(WithCollector())) == (
        "process_element() of WithCollector is called with 2 arguments\n"
        "  where: HERE\n"
        "  got:   (value, ctx, out)\n"
        "  to do: take 2 arguments; if 'out' is Java's collector: leave it away, and yield the "
        "results"
    )
    keyed = stream.key_by(lambda value: value)
    windowed = keyed.window(TumblingEventTimeWindows(10))
    for act, expected in (
        (lambda: keyed.process(TimerWithCollector()), "on_timer() of TimerWithCollector"),
        (lambda: windowed.process(WindowWithCollector()), "process() of WindowWithCollector"),
        (lambda: stream.flat_map(FlatMapWithCollector()), "flat_map() of FlatMapWithCollector"),
        (lambda: stream.flat_map(lambda value, out: None), "the function of flat_map()"),
        (
            lambda: stream.connect(stream).process(CoWithCollector()),
            "process_element2() of CoWithCollector",
        ),
    ):
        assert failure(TypeMismatchError, act).startswith(f"{expected} is called with ")


def test_functions_of_a_wrong_number_of_arguments(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    assert failure(TypeMismatchError, lambda: stream.map(lambda: 1)) == (  # type: ignore[misc]
        "the function of map() is called with 1 argument\n"
        "  where: HERE\n"
        "  got:   ()\n"
        "  to do: take 1 argument"
    )
    stream.map(str)
    stream.map(lambda value, factor=2: value * factor)
    stream.map(int)
    stream.flat_map(str.split)


def test_a_generator_given_to_map(env: StreamExecutionEnvironment) -> None:
    def words(line: str) -> Iterable[str]:
        yield from line.split()

    class Words(MapFunction):
        def map(self, value: str) -> Any:
            yield from value.split()

    stream = env.from_collection(["a b"])
    assert failure(TypeMismatchError, lambda: stream.map(words)).splitlines()[::3] == [
        "map() needs a function that returns its result, and this one yields",
        "  to do: return the result, or use flat_map() for any number of results",
    ]
    assert "this one yields" in failure(TypeMismatchError, lambda: stream.map(Words()))


def test_methods_of_keyed_streams(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    assert failure(NotKeyedError, lambda: stream.window(TumblingEventTimeWindows(10))) == (
        "window() needs a keyed stream\n"
        "  where: HERE\n"
        "  got:   a DataStream that is not keyed\n"
        "  to do: call key_by(...) first, or window_all(...)"
    )
    assert failure(NotKeyedError, lambda: stream.sum(0)).endswith("to do: call key_by(...) first")
    assert not hasattr(stream, "reduce")
    with pytest.raises(AttributeError, match="'DataStream' object has no attribute 'windw'"):
        stream.windw


def run(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Returning(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value


class ReturningOfKey(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("FlatMap", lambda stream: stream.flat_map(lambda value: value)),
        ("Process", lambda stream: stream.process(Returning())),
        ("KeyedProcess", lambda stream: stream.key_by(lambda v: v).process(ReturningOfKey())),
        (
            "Co-Flat Map",
            lambda stream: stream.connect(stream).flat_map(lambda v: v, lambda v: []),
        ),
    ],
)
def test_a_value_where_results_are_due(
    env: StreamExecutionEnvironment, name: str, build: Callable[[DataStream], DataStream]
) -> None:
    assert failure(ProgramError, lambda: run(build(env.from_collection([5])))) == (
        f"the function of {name!r} returned a value where results are due\n"
        f"  where: operator {name!r}, built at HERE\n"
        "  got:   int 5\n"
        "  to do: yield it, or return a list: [value]; None and [] mean no result"
    )


def test_a_misspelt_field(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([Row(name="a", number=1)])
    assert failure(FieldError, lambda: run(stream.key_by("nme").sum("number"))) == (
        "the record has no field 'nme'\n"
        "  where: key_by in front of operator 'Keyed Aggregation', built at HERE\n"
        "  got:   Row Row(name='a', number=1)\n"
        "  to do: did you mean 'name'? the fields are 'name', 'number'"
    )
    assert failure(FieldError, lambda: run(stream.key_by("name").sum("numbr"))) == (
        "the record has no field 'numbr'\n"
        "  where: operator 'Keyed Aggregation', built at HERE\n"
        "  got:   Row Row(name='a', number=1)\n"
        "  to do: did you mean 'number'? the fields are 'name', 'number'"
    )
    tuples = env.from_collection([("a", 1)])
    assert failure(FieldError, lambda: run(tuples.key_by(2).sum(1))).endswith(
        "to do: the fields are 0, 1"
    )


def test_two_functions_of_connected_streams(env: StreamExecutionEnvironment) -> None:
    numbers, words = env.from_collection([1, 2]), env.from_collection(["a b"])
    both = numbers.connect(words).map(lambda number: number + 1, str.upper)
    assert sorted(run(both), key=str) == [2, 3, "A B"]
    both = numbers.connect(words).flat_map(lambda number: [number] * number, str.split)
    assert sorted(run(both), key=str) == [1, 2, 2, "a", "b"]


@pytest.mark.parametrize("aggregate", ["sum", "min", "max", "min_by", "max_by"])
def test_values_that_do_not_go_together(env: StreamExecutionEnvironment, aggregate: str) -> None:
    stream = env.from_collection([("a", "x"), ("a", 1)]).key_by(0)
    what = "added up" if aggregate == "sum" else "compared"
    assert failure(FieldError, lambda: run(getattr(stream, aggregate)(1))) == (
        f"values of field 1 cannot be {what}\n"
        "  where: operator 'Keyed Aggregation', built at HERE\n"
        "  got:   'x' and 1\n"
        "  to do: map the stream to records that have numbers there"
    )


def test_a_keyed_process_function_without_keys(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    assert failure(NotKeyedError, lambda: stream.process(ReturningOfKey())) == (  # type: ignore[arg-type]
        "process() with a KeyedProcessFunction needs a keyed stream\n"
        "  where: HERE\n"
        "  got:   a DataStream that is not keyed\n"
        "  to do: call key_by(...) first, or pass a ProcessFunction"
    )


def test_a_type_that_was_not_called(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1])
    told_first, where, got, todo = failure(
        TypeMismatchError,
        lambda: stream.map(str, output_type=Types.STRING),  # type: ignore[arg-type]
    ).splitlines()
    assert told_first == "output_type must be a type of Types"
    assert where == "  where: HERE"
    assert got.startswith("  got:   function <function Types.STRING at ")
    assert todo.startswith("  to do: call it: Types.INT()")


class NamingItsOutput(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.output("late", value)


def test_an_output_that_is_no_tag(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).process(NamingItsOutput())
    assert failure(TypeMismatchError, lambda: run(stream)) == (
        "output() needs the tag of a side output\n"
        "  where: process_element() of operator 'Process', built at HERE\n"
        "  got:   str 'late'\n"
        "  to do: make one, for instance LATE = OutputTag('late'), and write output(LATE, value)"
    )


def test_a_misspelt_key_is_warned_of_on_its_own_line() -> None:
    configuration = Configuration()
    configuration.set_string("parallelism.defalt", "2")
    with pytest.warns(UserWarning, match="did you mean parallelism.default") as caught:
        configuration.check()
    assert caught[0].filename == __file__
