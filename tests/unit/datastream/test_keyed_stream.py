from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock.common import Row, Types
from penstock.core.functions import (
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    ProcessFunction,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import GraphError, TypeMismatchError
from penstock.graph import specs


class Count(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Classic(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Words(FlatMapFunction):
    def flat_map(self, value):
        yield value


class Name(KeySelector):
    def get_key(self, value):
        return value["name"]


@dataclass
class Reading:
    sensor: str
    at: int


def last(env):
    return build_plan(env).operators[-1]


def key_of(env, record):
    selector = last(env).inputs[0].partitioner.key_selector
    return selector.get_key(record) if isinstance(selector, KeySelector) else selector(record)


@pytest.mark.parametrize(
    ("arguments", "record", "key"),
    [
        ((lambda r: r[0],), ("a", 1), "a"),
        ((lambda r: r[0], Types.STRING()), ("a", 1), "a"),
        ((Name(),), {"name": "a"}, "a"),
        ((0,), ("a", 1), "a"),
        ((0, 1), ("a", 1), ("a", 1)),
        ((0, 1, 2), ("a", 1, "z"), ("a", 1, "z")),
        (([0, 1],), ("a", 1), ("a", 1)),
        (("sensor",), Reading("s", 1), "s"),
        (("sensor", "at"), Reading("s", 1), ("s", 1)),
        (("name",), Row(name="r"), "r"),
        (("name",), {"name": "d"}, "d"),
        (("f0",), ("a", 1), "a"),
    ],
)
def test_keys_are_given_in_many_ways(env, arguments, record, key):
    env.from_collection([record]).key_by(*arguments).reduce(min)
    assert key_of(env, record) == key


@pytest.mark.parametrize(
    ("build", "spec"),
    [
        (lambda k: k.map(str), specs.MapSpec),
        (lambda k: k.flat_map(Words()), specs.FlatMapSpec),
        (lambda k: k.filter(len), specs.FilterSpec),
        (lambda k: k.reduce(min), specs.ReduceSpec),
        (lambda k: k.fold("", lambda acc, v: acc), specs.FoldSpec),
        (lambda k: k.sum(1), specs.ReduceSpec),
        (lambda k: k.max_by("x"), specs.ReduceSpec),
        (lambda k: k.process(Count()), specs.KeyedProcessSpec),
        (lambda k: k.process(Classic()), specs.KeyedProcessSpec),
    ],
)
def test_functions_of_a_keyed_stream_work_under_the_key(env, build, spec):
    build(env.from_collection([("a", 1)]).key_by(0))
    operator = last(env)
    assert type(operator.spec) is spec
    assert operator.spec.keyed
    assert isinstance(operator.inputs[0].partitioner, specs.Hash)


def test_what_follows_an_operator_of_a_keyed_stream_is_not_keyed(env):
    env.from_collection([("a", 1)]).key_by(0).map(str).map(str)
    assert not last(env).spec.keyed


def test_sinks_and_unions_of_a_keyed_stream_get_its_records_by_key(env):
    keyed = env.from_collection([("a", 1)]).key_by(0)
    keyed.print("x")
    assert isinstance(last(env).inputs[0].partitioner, specs.Hash)
    keyed.union(env.from_collection([("b", 2)])).map(str)
    assert isinstance(last(env).inputs[0].partitioner, specs.Hash)
    assert not last(env).spec.keyed


def test_a_second_key_by_replaces_the_first(env):
    env.from_collection([("a", 1)]).key_by(0).key_by(1).reduce(min)
    plan = build_plan(env)
    assert len(plan.operators) == 2
    assert key_of(env, ("a", 1)) == 1


def test_aggregations_begin_at_position_zero(env):
    for name in ("sum", "min", "max", "min_by", "max_by"):
        getattr(env.from_collection([1]).key_by(lambda v: 0), name)()
        assert last(env).spec.function.field == 0


@pytest.mark.parametrize("wrong", [1.5, None, True, [0]])
def test_a_field_is_a_position_or_a_name(env, wrong):
    keyed = env.from_collection([("a", 1)]).key_by(0)
    with pytest.raises(TypeMismatchError) as caught:
        keyed.sum(wrong)
    caught.value.where = "job.py:1"
    assert str(caught.value) == (
        "sum() needs the position or the name of a field\n"
        "  where: job.py:1\n"
        f"  got:   {type(wrong).__name__} {wrong!r}\n"
        "  to do: pass a number for tuples, lists and Row, a name for Row, dicts and objects"
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda k: k.shuffle(),
        lambda k: k.rebalance(),
        lambda k: k.rescale(),
        lambda k: k.forward(),
        lambda k: k.broadcast(),
        lambda k: k.global_(),
        lambda k: k.partition_custom(max, 0),
    ],
)
def test_the_partitioning_of_a_keyed_stream_cannot_be_changed(env, call):
    with pytest.raises(GraphError) as caught:
        call(env.from_collection([("a", 1)]).key_by(0))
    assert caught.value.what == "Cannot override partitioning for KeyedStream."


@pytest.mark.parametrize(
    "call",
    [
        lambda k: k.name("n"),
        lambda k: k.uid("u"),
        lambda k: k.set_parallelism(2),
        lambda k: k.set_max_parallelism(2),
        lambda k: k.force_non_parallel(),
        lambda k: k.start_new_chain(),
        lambda k: k.disable_chaining(),
        lambda k: k.slot_sharing_group("g"),
        lambda k: k.get_name(),
    ],
)
def test_a_keyed_stream_is_no_operator(env, call):
    with pytest.raises(GraphError) as caught:
        call(env.from_collection([("a", 1)]).key_by(0))
    assert "is not supported for KeyedStream: key_by() makes no operator" in caught.value.what


def test_the_text_for_a_setting_on_a_keyed_stream(env):
    with pytest.raises(GraphError) as caught:
        env.from_collection([("a", 1)]).key_by(0).set_parallelism(2)
    caught.value.where = "job.py:1"
    assert str(caught.value) == (
        "set_parallelism() is not supported for KeyedStream: key_by() makes no operator\n"
        "  where: job.py:1\n"
        "  to do: call set_parallelism() on the operator in front of key_by() or behind it"
    )
