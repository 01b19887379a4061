from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.core.functions import (
    FilterFunction,
    MapFunction,
    Partitioner,
    ProcessFunction,
)
from penstock.core.output_tag import OutputTag
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import GraphError, TypeMismatchError
from penstock.graph import specs

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


class Upper(MapFunction):
    def map(self, value):
        return value.upper()


class Keep(FilterFunction):
    def filter(self, value):
        return True


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


def last(env):
    """Return the operator that was added last."""
    return build_plan(env).operators[-1]


def text_of(caught):
    caught.value.where = "job.py:1"
    return str(caught.value)


@pytest.mark.parametrize(
    ("build", "name", "spec"),
    [
        (lambda s: s.map(Upper()), "Map", specs.MapSpec),
        (lambda s: s.map(str), "Map", specs.MapSpec),
        (lambda s: s.flat_map(str.split), "FlatMap", specs.FlatMapSpec),
        (lambda s: s.filter(Keep()), "Filter", specs.FilterSpec),
        (lambda s: s.process(Split()), "Process", specs.ProcessSpec),
        (lambda s: s.project(1, 0), "Projection", specs.MapSpec),
        (
            lambda s: s.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()),
            "Timestamps/Watermarks",
            specs.TimestampsSpec,
        ),
        (
            lambda s: s.assign_ascending_timestamps(lambda r: r[0]),
            "Timestamps/Watermarks",
            specs.TimestampsSpec,
        ),
    ],
)
def test_a_call_becomes_an_operator(env, build, name, spec):
    stream = build(env.from_collection([("a", 1)]))
    assert stream.get_name() == name
    assert type(last(env).spec) is spec
    assert not last(env).spec.keyed


def test_settings_of_an_operator_reach_the_plan(env):
    mapped = env.from_collection([1]).map(str)
    assert mapped.name("n").uid("u").set_parallelism(3).set_max_parallelism(9) is mapped
    mapped.set_description("d").set_buffer_timeout(5).cache()
    operator = last(env)
    assert (operator.name, operator.uid) == ("n", "u")
    assert (operator.parallelism, operator.max_parallelism) == (3, 9)


def test_force_non_parallel(env):
    env.from_collection([1]).map(str).force_non_parallel()
    assert (last(env).parallelism, last(env).max_parallelism) == (1, 1)


def test_a_stream_knows_its_environment(env):
    stream = env.from_collection([1])
    assert stream.get_execution_environment() is env
    assert stream.get_execution_config() is env.get_config()


def test_types_are_declared_kept_or_read_from_annotations(env):
    @dataclass
    class Event:
        at: int

    def to_text(value: int) -> str:
        return str(value)

    def to_words(value: str) -> list[str]:
        return value.split()

    stream = env.from_collection([("a", 1)], PAIR)
    assert stream.get_type() == PAIR
    assert stream.filter(len).get_type() == PAIR
    assert stream.key_by(0).get_type() == PAIR
    assert stream.key_by(0).sum(1).get_type() == PAIR
    assert stream.union(stream).get_type() == PAIR
    assert stream.rebalance().get_type() == PAIR
    assert stream.project(1).get_type() == Types.TUPLE([Types.INT()])
    assert stream.map(len, Types.INT()).get_type() == Types.INT()
    assert stream.map(lambda v: v).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert stream.map(to_text).get_type() == Types.STRING()
    assert stream.flat_map(to_words).filter(len).get_type() == Types.STRING()
    side = stream.process(Split()).get_side_output(OutputTag("x", Types.INT()))
    assert side.get_type() == Types.INT()


def test_partition_custom_takes_functions_objects_and_fields(env):
    class Last(Partitioner):
        def partition(self, key, num_partitions):
            return num_partitions - 1

    env.from_collection([("a", 1)]).partition_custom(Last(), 1).map(str)
    partitioner = last(env).inputs[0].partitioner
    assert partitioner.partitioner.partition("x", 4) == 3
    assert partitioner.key_selector(("a", 1)) == 1


def test_a_declared_row_type_is_put_into_effect_behind_the_operator(env):
    row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])
    stream = env.from_collection(["a"]).map(lambda w: (w, 1), row_type)
    assert last(env).converter(("a", 1)).word == "a"
    stream.filter(len)
    assert last(env).converter is None
    env.from_collection(["a"]).map(lambda w: (w, 1), PAIR).key_by(0).reduce(lambda a, b: a)
    assert last(env).converter is None


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda s: s.map(5),
            "map() needs a MapFunction or a callable function\n"
            "  where: job.py:1\n"
            "  got:   int 5\n"
            "  to do: pass a lambda, a function or an object of a subclass of MapFunction",
        ),
        (
            lambda s: s.map(Upper),
            "map() needs a MapFunction object, not the class\n"
            "  where: job.py:1\n"
            f"  got:   ABCMeta {Upper!r}\n"
            "  to do: create it: map(Upper())",
        ),
        (
            lambda s: s.process(len),
            "process() needs a ProcessFunction\n"
            "  where: job.py:1\n"
            "  got:   builtin_function_or_method <built-in function len>\n"
            "  to do: pass an object of a subclass of ProcessFunction",
        ),
        (
            lambda s: s.union([1]),
            "union() needs a DataStream\n"
            "  where: job.py:1\n"
            "  got:   list [1]\n"
            "  to do: pass an object of a subclass of DataStream",
        ),
        (
            lambda s: s.get_side_output("late"),
            "get_side_output() needs an OutputTag\n"
            "  where: job.py:1\n"
            "  got:   str 'late'\n"
            "  to do: pass an object of a subclass of OutputTag",
        ),
        (
            lambda s: s.key_by(1.5),
            "a key must be given as a function, a KeySelector or fields\n"
            "  where: job.py:1\n"
            "  got:   1.5\n"
            "  to do: write key_by(lambda record: ...), key_by(0), key_by('name') or "
            "key_by('a', 'b')",
        ),
    ],
)
def test_a_wrong_argument_is_an_error_on_the_users_line(env, call, text):
    stream = env.from_collection([1])
    with pytest.raises(TypeMismatchError) as caught:
        call(stream)
    assert isinstance(caught.value, TypeError)
    assert caught.value.where.startswith(__file__)
    assert text_of(caught) == text


def test_streams_of_two_environments_do_not_meet(env):
    other = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(GraphError) as caught:
        env.from_collection([1]).union(other.from_collection([2]))
    assert text_of(caught) == (
        "union() needs streams of the same environment\n"
        "  where: job.py:1\n"
        "  to do: create both streams from one StreamExecutionEnvironment"
    )


def test_a_union_of_different_declared_types_is_an_error(env):
    one, two = env.from_collection([1], Types.INT()), env.from_collection(["a"], Types.STRING())
    with pytest.raises(GraphError) as caught:
        one.union(two)
    assert text_of(caught) == (
        "union() needs streams of the same type\n"
        "  where: job.py:1\n"
        "  got:   Integer and String\n"
        "  to do: map both to one type, or use connect() for streams of different types"
    )


def test_an_empty_projection_is_an_error(env):
    with pytest.raises(GraphError) as caught:
        env.from_collection([1]).project()
    assert text_of(caught) == (
        "project() needs at least one field\n"
        "  where: job.py:1\n"
        "  to do: pass the positions or names of the fields to keep"
    )


def test_side_outputs_belong_to_an_operator(env):
    with pytest.raises(GraphError) as caught:
        env.from_collection([1]).rebalance().get_side_output(OutputTag("x"))
    assert text_of(caught) == (
        "get_side_output() has nothing to work on: a partition stream is not an operator\n"
        "  where: job.py:1\n"
        "  to do: call get_side_output() on the operator in front of it or behind it"
    )


@pytest.mark.parametrize(
    "module", ["stream", "keyed_stream", "connected_streams", "split_stream", "data_stream"]
)
def test_any_module_can_be_loaded_first_and_none_loads_spark(module):
    code = f"import sys, penstock.datastream.{module}; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
