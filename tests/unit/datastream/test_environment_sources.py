from __future__ import annotations

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.core.functions import ParallelSourceFunction, SourceFunction
from penstock.datastream import FileProcessingMode
from penstock.datastream.connectors import DataGeneratorSource, NumberSequenceSource
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.formats.json import JsonLinesFormat
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, TypeMismatchError


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


def test_files_of_a_format(env, tmp_path):
    row_type = Types.ROW_NAMED(["id"], [Types.INT()])
    stream = env.read_file(JsonLinesFormat(row_type), str(tmp_path))
    operator = plan_of(env, stream)
    assert (operator.name, operator.spec.source.bounded) == ("Source: Custom File Source", True)
    assert stream.get_type() == row_type


def test_files_that_are_watched(env, tmp_path):
    lines = StreamFormat.text_line_format()
    watch = FileProcessingMode.PROCESS_CONTINUOUSLY
    operator = plan_of(env, env.read_file(lines, str(tmp_path), watch, 100))
    assert operator.spec.source.bounded is False
    with pytest.raises(ConfigurationError) as caught:
        env.read_file(lines, str(tmp_path), watch)
    assert caught.value.got == "-1 ms"


def test_a_source_tells_the_type_of_its_records(env):
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, "in").build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    assert stream.get_type() == Types.STRING()


def test_a_format_must_be_one(env):
    with pytest.raises(TypeMismatchError) as caught:
        env.read_file("in.txt", "in.txt")
    caught.value.where = "job.py:1"
    assert str(caught.value) == (
        "read_file() needs a FileFormat\n"
        "  where: job.py:1\n"
        "  got:   str 'in.txt'\n"
        "  to do: pass an object of a subclass of FileFormat"
    )


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
