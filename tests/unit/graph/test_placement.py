from __future__ import annotations

import cloudpickle

from penstock.core.functions import CoMapFunction, ProcessFunction
from penstock.core.output_tag import OutputTag
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.specs import Broadcast, Forward, Hash, Rebalance, Rescale
from tests.unit.graph.programs import environment, first, levels, source


class Pair(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


def edge_between(plan, up, down):
    names = {op.id: op.name.rpartition(": ")[2] for op in plan.operators}
    return next(
        edge
        for op in plan.operators
        for edge in op.inputs
        if (names[edge.source], names[edge.target]) == (up, down)
    )


def test_a_job_without_an_exchange_has_no_stateful_level():
    env = environment(2)
    source(env).map(str).filter(len).print().name("out")
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "Map": 0, "Filter": 0, "out": 0}
    assert (plan.levels, plan.slots) == (0, 1)
    assert {op.origin for op in plan.operators} == {1}
    assert not any(edge.crosses for op in plan.operators for edge in op.inputs)


def test_each_exchange_is_one_level_further():
    env = environment(2)
    keyed = source(env).key_by(first).reduce(min).name("r1")
    keyed.map(str).key_by(first).reduce(min).name("r2").print().name("out")
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "r1": 1, "Map": 1, "r2": 2, "out": 2}
    assert (plan.levels, plan.slots) == (2, 2)
    assert edge_between(plan, "A", "r1").crosses
    assert not edge_between(plan, "r1", "Map").crosses
    assert isinstance(edge_between(plan, "Map", "r2").partitioner, Hash)


def test_a_change_of_parallelism_is_an_exchange_and_slots_follow_the_widest_level():
    env = environment(2)
    source(env).map(str).set_parallelism(5).map(str).name("narrow").set_parallelism(1)
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "Map": 1, "narrow": 2}
    assert isinstance(edge_between(plan, "A", "Map").partitioner, Rebalance)
    assert plan.slots == 5


def test_a_wide_source_does_not_make_slots():
    env = environment(1)
    source(env).set_parallelism(8).key_by(first).reduce(min)
    assert build_plan(env).slots == 1


def test_two_sources_meet_in_a_slot_and_their_edges_keep_the_subtask():
    env = environment(2)
    a, b = source(env, "A").map(str).name("m"), source(env, "B")
    a.union(b).filter(len).name("both").print().name("out")
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "m": 0, "B": 0, "both": 1, "out": 1}
    for up in ("m", "B"):
        edge = edge_between(plan, up, "both")
        assert edge.crosses
        assert edge.partitioner == Forward()
        assert edge.input_index == 0
    assert plan.operator(4).origin is None


def test_two_branches_of_one_source_stay_together():
    env = environment(2)
    a = source(env)
    a.map(str).name("left").union(a.map(str).name("right")).filter(len).name("both")
    plan = build_plan(env)
    assert set(levels(plan).values()) == {0}
    assert len(plan.operators[-1].inputs) == 2


def test_a_late_branch_meets_an_early_one_at_the_higher_level():
    env = environment(2)
    a = source(env)
    late = a.key_by(first).reduce(min).name("late")
    a.map(str).name("early").connect(late).map(Pair()).name("joined")
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "late": 1, "early": 0, "joined": 1}
    assert edge_between(plan, "early", "joined").crosses
    assert edge_between(plan, "early", "joined").input_index == 0
    assert not edge_between(plan, "late", "joined").crosses
    assert edge_between(plan, "late", "joined").input_index == 1


def test_an_edge_may_skip_a_level():
    env = environment(2)
    a = source(env)
    twice = a.rebalance().map(str).name("one").rebalance().map(str).name("two")
    a.union(twice).filter(len).name("both")
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "one": 1, "two": 2, "both": 2}
    assert edge_between(plan, "A", "both").crosses


def test_every_partitioner_is_an_exchange_even_at_equal_parallelism():
    env = environment(2)
    a = source(env)
    for name, stream in {
        "b": a.broadcast(),
        "s": a.shuffle(),
        "r": a.rescale(),
        "g": a.global_(),
        "c": a.partition_custom(lambda key, n: 0, 0),
    }.items():
        stream.map(str).name(name)
    a.forward().map(str).name("f")
    plan = build_plan(env)
    assert levels(plan) == {"A": 0, "b": 1, "s": 1, "r": 1, "g": 1, "c": 1, "f": 0}
    assert edge_between(plan, "A", "b").partitioner == Broadcast()
    assert edge_between(plan, "A", "r").partitioner == Rescale()


def test_side_outputs_are_edges_with_a_tag():
    env = environment(2)
    main = source(env).process(Split()).name("split")
    main.get_side_output(OutputTag("late")).map(str).name("late")
    main.get_side_output(OutputTag("bad")).rebalance().map(str).name("bad")
    main.map(str).name("good")
    plan = build_plan(env)
    assert edge_between(plan, "split", "late").output_tag == "late"
    assert edge_between(plan, "split", "bad").output_tag == "bad"
    assert edge_between(plan, "split", "bad").partitioner == Rebalance()
    assert edge_between(plan, "split", "good").output_tag is None


def test_ids_are_small_dense_and_the_same_for_the_same_program():
    def program():
        env = environment(2)
        a, b = source(env, "A"), source(env, "B")
        a.union(b).key_by(first).reduce(min).print()
        a.print()
        return build_plan(env)

    one, two = program(), program()
    assert [op.id for op in one.operators] == [1, 2, 3, 4, 5]
    assert [edge.id for op in one.operators for edge in op.inputs] == [0, 1, 2, 3]
    assert [op.uid for op in one.operators] == [op.uid for op in two.operators]
    assert one.operator(3).outputs == (one.operator(4).inputs[0],)


def test_only_what_leads_to_a_registered_operator_is_in_the_plan():
    env = environment(2)
    source(env, "unused")
    source(env, "used").map(str)
    assert levels(build_plan(env)) == {"used": 0, "Map": 0}


def test_a_plan_can_be_shipped():
    env = environment(2)
    source(env).key_by(lambda r: r[0]).sum(1).print()
    plan = cloudpickle.loads(cloudpickle.dumps(build_plan(env, "shipped")))
    assert plan.job_name == "shipped"
    assert plan.operators[1].inputs[0].partitioner.key_selector(("k", 1)) == "k"
    assert plan.settings["parallelism.default"] == "2"


def test_chains_and_call_sites_travel_with_the_operators():
    env = environment(2)
    source(env).map(str).filter(len)
    plan = build_plan(env)
    assert {op.chain for op in plan.operators} == {"Source: A -> Map -> Filter"}
    assert plan.operators[1].site.file == __file__
