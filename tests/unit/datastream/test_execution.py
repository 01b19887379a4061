from __future__ import annotations

import threading

import pytest

from penstock.common import JobClient, JobStatus, Row, Time, Types, WatermarkStrategy
from penstock.core.functions import (
    FoldFunction,
    MapFunction,
    OutputSelector,
    ProcessFunction,
    SinkFunction,
    SourceFunction,
)
from penstock.core.output_tag import OutputTag
from penstock.datastream import CloseableIterator, RuntimeExecutionMode, WriteMode
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import GraphError, JobError

PAIRS = [("a", 3), ("b", 1), ("a", 1), ("a", 3)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


class Endless(SourceFunction):
    def __init__(self):
        self.running = True

    def run(self, ctx):
        number = 0
        while self.running:
            ctx.collect(number)
            number += 1

    def cancel(self):
        self.running = False


def test_execute_runs_what_was_built_and_forgets_it(local, capsys):
    local.from_collection([1, 2]).print()
    result = local.execute("first")
    assert capsys.readouterr().out == "1\n2\n"
    assert result.get_net_runtime() >= 0
    assert len(str(result.get_job_id())) == 32
    with pytest.raises(GraphError, match=r"No operators defined in streaming topology"):
        local.execute()
    local.from_collection([3]).print("again")
    local.execute("second")
    assert capsys.readouterr().out == "again> 3\n"


def test_a_stream_can_be_used_in_a_second_job(local, capsys):
    stream = local.from_collection([1, 2]).map(lambda n: n * 10)
    assert list(stream.execute_and_collect()) == [10, 20]
    stream.print()
    local.execute()
    assert capsys.readouterr().out == "10\n20\n"


def test_execute_async_returns_a_client(local, capsys):
    local.from_collection([1]).print()
    client = local.execute_async("job")
    assert isinstance(client, JobClient)
    result = client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert str(result.get_job_id()) == str(client.get_job_id())
    assert capsys.readouterr().out == "1\n"


def test_results_are_collected_by_iterating(local):
    with local.from_collection([1, 2, 3]).execute_and_collect("job") as results:
        assert isinstance(results, CloseableIterator)
        assert results.next() == 1
        assert next(results) == 2
    assert list(results) == []


def test_a_limit_gives_a_list_and_ends_an_endless_job(local):
    before = threading.active_count()
    assert local.add_source(Endless()).execute_and_collect(limit=3) == [0, 1, 2]
    assert local.from_collection([1]).execute_and_collect(limit=3) == [1]
    assert threading.active_count() < before + 20


def test_a_job_that_fails_raises_behind_the_results(local):
    stream = local.from_collection([1]).map(lambda n: n / 0)
    with pytest.raises(JobError, match="ZeroDivisionError"):
        list(stream.execute_and_collect())


def test_rolling_aggregations(local):
    keyed = local.from_collection(PAIRS).key_by(lambda p: p[0])
    for stream, expected in (
        (keyed.sum(1), [("a", 3), ("b", 1), ("a", 4), ("a", 7)]),
        (keyed.min(1), [("a", 3), ("b", 1), ("a", 1), ("a", 1)]),
        (keyed.max("f1"), [("a", 3), ("b", 1), ("a", 3), ("a", 3)]),
        (keyed.reduce(lambda x, y: y), PAIRS),
        (keyed.fold(0, lambda acc, p: acc + p[1]), [3, 1, 4, 7]),
    ):
        assert list(stream.execute_and_collect()) == expected


def test_batch_mode_gives_one_result_a_key(local):
    local.set_runtime_mode(RuntimeExecutionMode.BATCH)
    totals = local.from_collection(PAIRS).key_by(0).sum(1)
    assert sorted(totals.execute_and_collect()) == [("a", 7), ("b", 1)]


def test_a_fold_function_object(local):
    class Join(FoldFunction):
        def fold(self, accumulator, value):
            return accumulator + value[0]

    stream = local.from_collection(PAIRS).key_by(lambda p: 0).fold("", Join())
    assert list(stream.execute_and_collect())[-1] == "abaa"


def test_split_and_select(local):
    class Sign(OutputSelector):
        def open(self, runtime_context):
            self.names = ["negative", "positive"]

        def select(self, value):
            return [self.names[value > 0]]

    numbers = local.from_collection([1, -2, 3])
    split = numbers.split(Sign())
    assert list(split.select("positive").execute_and_collect()) == [1, 3]
    assert list(split.select("positive", "negative").execute_and_collect()) == [1, -2, 3]
    bare = numbers.split(lambda n: "odd" if n % 2 else "even")
    assert list(bare.select("even").execute_and_collect()) == [-2]
    with pytest.raises(GraphError) as caught:
        bare.select()
    assert caught.value.what == "select() needs the name of at least one output"


def test_side_outputs_and_project(local):
    late = OutputTag("late")

    class Route(ProcessFunction):
        def process_element(self, value, ctx):
            if value[1] > 1:
                yield value
            else:
                yield late, value

    main = local.from_collection(PAIRS).process(Route())
    assert list(main.project(1).execute_and_collect()) == [(3,), (3,)]
    assert list(main.get_side_output(late).execute_and_collect()) == [("b", 1), ("a", 1)]


def test_declared_types_print_as_in_flink(local, capsys):
    row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    local.from_collection([("a", 1)], PAIR).print()
    local.from_collection([("a", 1)]).print()
    local.from_collection([(1, "a")], row_type).print()
    local.from_collection([True], Types.BOOLEAN()).print_to_err("flag")
    local.execute()
    captured = capsys.readouterr()
    assert sorted(captured.out.splitlines()) == ["('a', 1)", "(a,1)", "+I[1,a]"]
    assert captured.err == "flag> true\n"


def test_a_parallel_print_says_which_subtask(local, capsys):
    local.from_collection(["x"]).key_by(lambda v: 0).map(str).set_parallelism(2).print(
        "words"
    ).set_parallelism(2)
    local.execute()
    assert capsys.readouterr().out in ("words:1> x\n", "words:2> x\n")


def test_files(local, tmp_path):
    stream = local.from_collection(PAIRS[:2])
    stream.write_as_text(str(tmp_path / "text"))
    stream.write_as_csv(str(tmp_path / "csv"), WriteMode.OVERWRITE, "\n", ";")
    local.execute()
    assert (tmp_path / "text").read_text() == "('a', 3)\n('b', 1)\n"
    assert (tmp_path / "csv").read_text() == "a;3\nb;1\n"


def test_a_sink_function_is_called_for_every_record(local, tmp_path):
    class Append(SinkFunction):
        def __init__(self, path):
            self.path = path

        def invoke(self, value, context):
            with open(self.path, "a") as file:
                file.write(f"{value}\n")

    local.from_collection([1, 2]).add_sink(Append(str(tmp_path / "out"))).name("append")
    local.execute()
    assert (tmp_path / "out").read_text() == "1\n2\n"


def test_functions_read_the_job_parameters(local):
    class Limit(MapFunction):
        def open(self, runtime_context):
            self.limit = int(runtime_context.get_job_parameter("limit", "0"))

        def map(self, value):
            return value + self.limit

    local.get_config().set_global_job_parameters({"limit": 5})
    assert list(local.from_collection([1]).map(Limit()).execute_and_collect()) == [6]


def test_records_of_a_declared_row_type_have_names_behind_the_operator(local):
    row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])
    stream = local.from_collection(["a"]).map(lambda w: Row(w, 1), row_type)
    assert list(stream.map(lambda r: r.word).execute_and_collect()) == ["a"]


def test_windows_and_their_late_records(local):
    late = OutputTag("late")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[2]
    )
    stream = local.from_collection([("a", 1, 1000), ("a", 2, 4999), ("b", 3, 7000)])
    counts = (
        stream.assign_timestamps_and_watermarks(strategy)
        .key_by(0)
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .side_output_late_data(late)
        .sum(1)
    )
    assert list(counts.execute_and_collect()) == [("a", 3, 1000), ("b", 3, 7000)]
    assert list(counts.get_side_output(late).execute_and_collect()) == []


def test_count_windows_tumble_and_slide(local):
    numbers = local.from_collection(list(range(1, 7))).key_by(lambda n: 0)
    assert list(numbers.count_window(2).sum().execute_and_collect()) == [3, 7, 11]
    assert list(numbers.count_window(4, 2).sum().execute_and_collect()) == [3, 10, 18]
