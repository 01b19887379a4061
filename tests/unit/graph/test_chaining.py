from __future__ import annotations

import pytest

from penstock.datastream.stream_execution_environment import build_graph
from penstock.graph.job_graph import build_job_graph
from penstock.graph.render import job_graph_to_text
from tests.unit.graph.programs import environment, first, source


def chains(env):
    return [vertex.name for vertex in build_job_graph(build_graph(env)).vertices]


def reasons(env):
    return [edge.reason for edge in build_job_graph(build_graph(env)).edges]


def test_forward_edges_are_chained():
    env = environment(2)
    source(env).map(str).filter(len).print()
    assert chains(env) == ["Source: A -> Map -> Filter -> Sink: Print to Std. Out"]


def test_a_chain_that_branches_is_named_as_in_flink():
    env = environment(2)
    a = source(env)
    a.map(str).print("x")
    a.filter(len)
    assert chains(env) == ["Source: A -> (Map -> Sink: Print to Std. Out, Filter)"]


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda a: a.key_by(first).reduce(min), "the edge is partitioned by HASH"),
        (lambda a: a.rebalance().map(str), "the edge is partitioned by REBALANCE"),
        (
            lambda a: a.map(str).set_parallelism(3),
            "the edge is partitioned by REBALANCE",
        ),
        (
            lambda a: a.map(str).slot_sharing_group("g"),
            "slot sharing group changes from 'default' to 'g'",
        ),
        (lambda a: a.map(str).start_new_chain(), "'Map' starts a new chain"),
        (lambda a: a.map(str).disable_chaining(), "chaining is disabled for 'Map'"),
        (lambda a: a.disable_chaining().map(str), "chaining is disabled for 'Source: A'"),
    ],
)
def test_an_edge_that_does_not_chain_says_why(build, reason):
    env = environment(2)
    build(source(env))
    assert reasons(env) == [reason]


def test_an_operator_with_several_inputs_begins_a_chain():
    env = environment(2)
    source(env, "A").union(source(env, "B")).map(str)
    assert chains(env) == ["Source: A", "Source: B", "Map"]
    assert reasons(env) == ["'Map' has 2 inputs"] * 2


def test_a_new_chain_goes_on_behind_its_head():
    env = environment(2)
    source(env).map(str).start_new_chain().filter(len)
    assert chains(env) == ["Source: A", "Map -> Filter"]


def test_an_operator_without_chaining_stands_alone():
    env = environment(2)
    source(env).map(str).disable_chaining().filter(len)
    assert chains(env) == ["Source: A", "Map", "Filter"]


def test_chaining_can_be_switched_off_for_the_job():
    env = environment(2).disable_operator_chaining()
    source(env).map(str)
    assert chains(env) == ["Source: A", "Map"]
    assert reasons(env) == ["chaining is switched off for the whole job"]


def test_slot_sharing_groups_are_inherited_from_equal_inputs():
    env = environment(2)
    a = source(env, "A").slot_sharing_group("g")
    a.map(str).filter(len)
    a.map(str).name("m").union(source(env, "B")).filter(len).name("mixed")
    nodes = {node.name: node.slot_sharing_group for node in build_graph(env).nodes.values()}
    assert nodes == {
        "Source: A": "g",
        "Map": "g",
        "Filter": "g",
        "m": "g",
        "Source: B": "default",
        "mixed": "default",
    }


def test_different_maximum_parallelism_chains_unless_forbidden():
    key = "pipeline__operator_chaining__chain_operators_with_different_max_parallelism"
    for allowed, expected in (("true", 1), ("false", 2)):
        env = environment(2, **{key: allowed})
        source(env).map(str).set_max_parallelism(7)
        assert len(chains(env)) == expected
    assert reasons(env) == ["maximum parallelism changes from 128 to 7"]


def test_the_chains_of_a_job_as_text():
    env = environment(2)
    source(env).map(str).key_by(first).sum(0).print()
    assert job_graph_to_text(build_job_graph(build_graph(env))) == (
        "[1] Source: A -> Map (parallelism 2)\n"
        "[3] Keyed Aggregation -> Sink: Print to Std. Out (parallelism 2)\n"
        "  <- HASH [1]: the edge is partitioned by HASH"
    )
