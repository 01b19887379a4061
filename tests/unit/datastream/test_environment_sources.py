from __future__ import annotations

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.core.functions import ParallelSourceFunction, SourceFunction
from penstock.datastream.connectors import DataGeneratorSource, NumberSequenceSource
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import TypeMismatchError


class Once(SourceFunction):
    def run(self, ctx):
        ctx.collect(1)

    def cancel(self):
        pass


class Many(ParallelSourceFunction):
    def run(self, ctx):
        ctx.collect(1)

    def cancel(self):
        pass


def plan_of(env, stream):
    stream.map(str)
    return build_plan(env).operators[0]


@pytest.mark.parametrize(
    ("make", "name", "parallelism"),
    [
        (lambda e: e.from_collection([1]), "Source: Collection Source", 1),
        (lambda e: e.from_elements(1, 2), "Source: Collection Source", 1),
        (lambda e: e.from_parallel_collection([1]), "Source: Parallel Collection Source", 2),
        (lambda e: e.generate_sequence(1, 9), "Source: Sequence Source", 2),
        (lambda e: e.from_sequence(1, 9), "Source: Sequence Source", 2),
        (lambda e: e.socket_text_stream("localhost", 1), "Source: Socket Stream", 1),
        (lambda e: e.add_source(Once()), "Source: Custom Source", 1),
        (lambda e: e.add_source(Many(), "many"), "Source: many", 2),
        (lambda e: e.create_input(NumberSequenceSource(1, 2)), "Source: Custom File Source", 2),
        (
            lambda e: e.from_source(
                NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), "seq"
            ),
            "Source: seq",
            2,
        ),
    ],
)
def test_sources_have_names_and_a_parallelism(env, make, name, parallelism):
    operator = plan_of(env, make(env))
    assert (operator.name, operator.parallelism) == (name, parallelism)


def test_a_strategy_belongs_to_the_source(env):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(DataGeneratorSource(str, count=1), strategy, "gen")
    assert plan_of(env, stream).spec.strategy is strategy


def test_lines_of_a_file(env, tmp_path):
    (tmp_path / "in.txt").write_text("a\n")
    stream = env.read_text_file(str(tmp_path / "in.txt"))
    assert plan_of(env, stream).name == "Source: Text File Source"
    assert stream.get_type() == Types.STRING()


def test_a_source_must_be_one(env):
    with pytest.raises(TypeMismatchError) as caught:
        env.add_source([1, 2])
    caught.value.where = "job.py:1"
    assert str(caught.value) == (
        "add_source() needs a SourceFunction or Source\n"
        "  where: job.py:1\n"
        "  got:   list [1, 2]\n"
        "  to do: pass an object of a subclass of SourceFunction or Source"
    )


def test_a_wrong_element_of_a_row_type_is_an_error_when_the_stream_is_made(env):
    row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    with pytest.raises(TypeMismatchError) as caught:
        env.from_collection([(1, "a"), (2,)], row_type)
    assert caught.value.got == "tuple (2,)"


def test_elements_of_a_row_type_are_rows(local):
    row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    for make in (local.from_collection, local.from_parallel_collection):
        records = list(make([(1, "a"), Row(2, "b")], row_type).execute_and_collect())
        assert records == [Row(id=1, name="a"), Row(id=2, name="b")]
