from __future__ import annotations

import pytest

from penstock.core.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import GraphError, TypeMismatchError
from penstock.graph import specs


class Both(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


class BothFlat(CoFlatMapFunction):
    def flat_map1(self, value):
        yield value

    def flat_map2(self, value):
        yield value


class Process(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        yield value


class KeyedProcess(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        yield value


def streams(env):
    return env.from_collection([("a", 1)]), env.from_collection(["a"])


def last(env):
    return build_plan(env).operators[-1]


@pytest.mark.parametrize(
    ("call", "plain", "keyed"),
    [
        (lambda c: c.map(Both()), specs.CoMapSpec, specs.CoMapSpec),
        (lambda c: c.flat_map(BothFlat()), specs.CoFlatMapSpec, specs.CoFlatMapSpec),
        (lambda c: c.process(Process()), specs.CoProcessSpec, specs.KeyedCoProcessSpec),
    ],
)
def test_the_operator_is_keyed_if_both_streams_are(env, call, plain, keyed):
    one, two = streams(env)
    call(one.connect(two))
    assert type(last(env).spec) is plain
    assert not last(env).spec.keyed
    call(one.key_by(0).connect(two))
    assert not last(env).spec.keyed
    for connected in (
        one.connect(two).key_by(0, lambda word: word),
        one.key_by(0).connect(two.key_by(0)),
    ):
        call(connected)
        assert type(last(env).spec) is keyed
        assert last(env).spec.keyed
        assert [type(edge.partitioner) for edge in last(env).inputs] == [specs.Hash, specs.Hash]
        assert [edge.input_index for edge in last(env).inputs] == [0, 1]


def test_a_keyed_function_works_on_keyed_streams(env):
    one, two = streams(env)
    one.connect(two).key_by(0, 0).process(KeyedProcess())
    assert type(last(env).spec) is specs.KeyedCoProcessSpec


def test_a_keyed_function_needs_both_streams_keyed(env):
    one, two = streams(env)
    with pytest.raises(GraphError) as caught:
        one.key_by(0).connect(two).process(KeyedProcess())
    caught.value.where = "job.py:1"
    assert str(caught.value) == (
        "a KeyedCoProcessFunction needs both connected streams keyed\n"
        "  where: job.py:1\n"
        "  got:   first stream keyed, second stream not keyed\n"
        "  to do: call key_by(selector1, selector2) on the connected streams"
    )


def test_functions_of_two_inputs_are_objects(env):
    one, two = streams(env)
    with pytest.raises(TypeMismatchError) as caught:
        one.connect(two).map(str)
    assert caught.value.what == "map() needs a CoMapFunction"
    assert one.connect(two).get_first_input() is one
    assert one.connect(two).get_second_input() is two
