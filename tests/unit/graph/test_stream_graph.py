from __future__ import annotations

import pytest

from penstock.common import Configuration
from penstock.core.functions import CoMapFunction
from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_graph, build_plan
from penstock.errors import GraphError
from tests.unit.graph.programs import NamedSource, environment, first, source


class Pair(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


def text_of(caught):
    """Return an error's text without the folder of this file."""
    return str(caught.value).replace(__file__, "job.py")


def parallelisms(env):
    return {node.name: node.parallelism for node in build_graph(env).nodes.values()}


def test_names_say_what_is_a_source_and_what_a_sink():
    env = environment()
    source(env, "in").map(str).name("middle").print().name("out")
    assert list(parallelisms(env)) == ["Source: in", "middle", "Sink: out"]


def test_an_operator_has_the_environments_parallelism_of_when_it_was_built():
    env = environment(2)
    stream = source(env).map(str).name("before")
    env.set_parallelism(3)
    stream.map(str).name("after")
    stream.map(str).name("own").set_parallelism(4)
    assert parallelisms(env) == {"Source: A": 2, "before": 2, "after": 3, "own": 4}


def test_a_union_may_change_parallelism():
    env = environment(2)
    a, b = source(env, "A"), source(env, "B").set_parallelism(3)
    a.union(b).map(str)
    edges = build_graph(env).nodes[3].in_edges
    assert [type(edge.partitioner).__name__ for edge in edges] == ["Forward", "Rebalance"]


def test_a_stream_can_be_united_with_itself():
    env = environment(2)
    a = source(env)
    a.union(a).map(str)
    assert [edge.source for edge in build_graph(env).nodes[2].in_edges] == [1, 1]


def test_both_inputs_of_a_connected_operator_are_numbered():
    env = environment(2)
    source(env, "A").connect(source(env, "B")).map(Pair())
    assert [edge.input_index for edge in build_graph(env).nodes[3].in_edges] == [0, 1]


def test_the_last_partitioning_wins():
    env = environment(2)
    source(env).rebalance().broadcast().map(str)
    assert type(build_graph(env).nodes[2].in_edges[0].partitioner).__name__ == "Broadcast"


def test_key_groups_come_from_the_operator_the_environment_or_flinks_rule():
    env = environment(100).set_max_parallelism(500)
    source(env).map(str).set_max_parallelism(600)
    assert [node.max_parallelism for node in build_graph(env).nodes.values()] == [500, 600]
    env = environment(100)
    source(env).map(str)
    assert [node.max_parallelism for node in build_graph(env).nodes.values()] == [256, 256]


@pytest.mark.parametrize(
    ("mode", "bounded", "batch"),
    [
        (None, True, False),
        (RuntimeExecutionMode.STREAMING, True, False),
        (RuntimeExecutionMode.BATCH, True, True),
        (RuntimeExecutionMode.AUTOMATIC, True, True),
        (RuntimeExecutionMode.AUTOMATIC, False, False),
    ],
)
def test_the_runtime_mode_is_resolved_by_the_sources(mode, bounded, batch):
    env = environment(1)
    if mode is not None:
        env.set_runtime_mode(mode)
    source(env, bounded=bounded).print()
    assert build_plan(env).batch_mode is batch


def test_batch_mode_refuses_an_unbounded_source():
    env = environment(1, execution__runtime_mode="BATCH")
    source(env, "endless", bounded=False).print()
    with pytest.raises(GraphError) as caught:
        build_plan(env)
    assert caught.value.where.startswith("'Source: endless', built at ")
    caught.value.where = "'Source: endless', built at job.py:1"
    assert str(caught.value) == (
        "runtime mode BATCH needs sources that end, and this one does not\n"
        "  where: 'Source: endless', built at job.py:1\n"
        "  to do: set the mode to STREAMING or AUTOMATIC, or read from a bounded source"
    )


def test_a_program_without_operators_cannot_be_executed():
    env = environment(1)
    source(env)
    with pytest.raises(GraphError) as caught:
        env.execute()
    assert str(caught.value) == (
        "No operators defined in streaming topology. Cannot execute.\n"
        "  to do: add at least one operator or sink, for instance stream.print(), before execute()"
    )


def test_forward_does_not_allow_a_change_of_parallelism():
    env = environment(2)
    source(env).forward().map(str).set_parallelism(3)
    with pytest.raises(GraphError) as caught:
        build_graph(env)
    line = caught.value.where.rpartition(":")[2]
    assert text_of(caught) == (
        "forward partitioning does not allow a change of parallelism\n"
        f"  where: 'Map', built at job.py:{line}\n"
        "  got:   'Source: A' with parallelism 2 in front of 'Map' with parallelism 3\n"
        "  to do: give both the same parallelism, or use rebalance(), rescale(), shuffle(), "
        "broadcast() or global_() instead of forward()"
    )


def test_two_operators_with_one_uid_are_an_error():
    env = environment(1)
    source(env).map(str).uid("same").filter(len).uid("same")
    with pytest.raises(GraphError) as caught:
        build_graph(env)
    line = caught.value.where.rpartition(":")[2]
    assert text_of(caught) == (
        "two operators have the same uid\n"
        f"  where: 'Filter', built at job.py:{line}\n"
        f"  got:   uid 'same', also used by 'Map', built at job.py:{line}\n"
        "  to do: give each operator a uid of its own"
    )


def test_parallelism_must_fit_into_the_maximum_of_the_operator():
    env = environment(1)
    mapped = source(env).map(str).set_max_parallelism(4)
    with pytest.raises(GraphError) as caught:
        mapped.set_parallelism(5)
    line = caught.value.where.rpartition(":")[2]
    assert text_of(caught) == (
        "the parallelism of an operator must not exceed its maximum parallelism\n"
        f"  where: 'Map', built at job.py:{line}\n"
        "  got:   parallelism 5, maximum parallelism 4\n"
        "  to do: lower the parallelism, or call set_max_parallelism with a larger number"
    )


def test_parallelism_must_fit_into_the_maximum_of_the_environment():
    env = environment(5).set_max_parallelism(4)
    source(env).map(str)
    with pytest.raises(GraphError) as caught:
        build_graph(env)
    assert caught.value.got == "parallelism 5, maximum parallelism 4"


def test_a_non_parallel_source_refuses_more_than_one_subtask():
    env = environment(4)
    stream = env.add_source(NamedSource(parallel=False), "single")
    stream.print()
    assert parallelisms(env)["Source: single"] == 1
    with pytest.raises(GraphError) as caught:
        stream.set_parallelism(2)
    line = caught.value.where.rpartition(":")[2]
    assert text_of(caught) == (
        "the parallelism of a non-parallel operator must be 1\n"
        f"  where: 'single', built at job.py:{line}\n"
        "  got:   set_parallelism(2)\n"
        "  to do: leave it at 1, and call rebalance() behind the operator to spread the work"
    )


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_a_parallelism_is_a_positive_number(wrong):
    mapped = source(environment(1)).map(str)
    with pytest.raises(GraphError) as caught:
        mapped.set_parallelism(wrong)
    assert (
        caught.value.what == "the parallelism of an operator must be a whole number of at least 1"
    )
    assert caught.value.got == repr(wrong)


def test_settings_need_an_operator():
    env = environment(1)
    with pytest.raises(GraphError) as caught:
        source(env).rebalance().name("x")
    caught.value.where = "job.py:1"
    assert str(caught.value) == (
        "name() has nothing to work on: a partition stream is not an operator\n"
        "  where: job.py:1\n"
        "  to do: call name() on the operator in front of it or behind it"
    )


def test_uids_must_be_given_if_generated_ones_are_switched_off():
    env = environment(1)
    env.get_config().disable_auto_generated_uids()
    source(env).uid("in").map(str)
    with pytest.raises(GraphError) as caught:
        build_graph(env)
    assert caught.value.what == (
        "generated uids are switched off and this operator has no uid of its own"
    )


def test_generated_uids_are_hashes_of_what_an_operator_is_and_of_what_feeds_it():
    def uids(*, extra: bool = False, uid: str | None = None, keyed: bool = False):
        env = environment(2)
        stream = source(env)
        if extra:
            stream = stream.map(str).filter(len)
        if keyed:
            stream = stream.key_by(first).reduce(max)
        reduced = stream.key_by(first).reduce(min)
        if uid:
            reduced.uid(uid)
        reduced.print()
        return [node.uid for node in build_graph(env).nodes.values()]

    plain = uids()
    assert all(len(uid) == 32 for uid in plain)
    assert uids() == plain
    assert [uids(extra=True)[i] for i in (0, 3, 4)] == plain, "nobody is moved by a map"
    assert uids(keyed=True)[-2:] != plain[-2:], "what is fed by another operator is another one"
    assert uids(keyed=True)[0] == plain[0]
    assert uids(uid="totals")[1] == "totals"


def test_a_uid_hash_is_used_as_it_is():
    env = environment(1)
    source(env).map(str).set_uid_hash("0123456789abcdef0123456789abcdef")
    assert build_graph(env).nodes[2].uid == "0123456789abcdef0123456789abcdef"
    with pytest.raises(GraphError) as caught:
        source(env).set_uid_hash("short")
    assert str(caught.value) == (
        "a uid hash must be 32 hexadecimal digits\n"
        "  got:   'short'\n"
        "  to do: pass a hash that an earlier run printed, or use uid('...') for a name"
    )


def test_settings_reach_the_workers():
    configuration = Configuration().set_string("execution.checkpointing.interval", "5 s")
    env = StreamExecutionEnvironment(configuration)
    env.get_config().set_global_job_parameters({"limit": 3})
    source(env).print()
    settings = build_plan(env).settings
    assert settings["execution.checkpointing.interval"] == "5 s"
    assert settings["pipeline.global-job-parameters"] == {"limit": "3"}
    assert settings["pipeline.auto-watermark-interval"] == "200 ms"
