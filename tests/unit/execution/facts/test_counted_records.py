"""What a job counts is what there was: records, late ones, firings, bytes, by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.core.time import MAX_WATERMARK
from penstock.datastream import (
    DataStream,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution.facts.job_facts import JobFacts
from penstock.execution.facts.metric_values import task_flow
from penstock.execution.facts.snapshot import JobSnapshot, OperatorFacts
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.task import Task
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment

LATE = OutputTag("late")
#: Key and time. The last two come late, in whatever batch but the first.
RECORDS = [(i % 5, i * 100) for i in range(500)] + [(1, 5), (2, 7)]


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def stamped(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    records = env.from_collection(RECORDS).set_parallelism(1)
    return records.assign_timestamps_and_watermarks(strategy).set_parallelism(1)


def plan_of(build: Callable[[StreamExecutionEnvironment], Any]) -> ExecutionPlan:
    env = environment(parallelism=2)
    build(env)
    return build_plan(env)


def facts_of(plan: ExecutionPlan, folder: Path, cuts: int = 50, **options: Any) -> JobSnapshot:
    """Run a job to its end and return what is known of it."""
    facts = JobFacts(plan, job_id="a" * 32, name="job", configuration={}, now=0)
    LocalJob(plan, folder, cuts=cuts, facts=facts).run(**options)
    return facts.snapshot(now=10**13)


def operator(job: JobSnapshot, name: str) -> OperatorFacts:
    (found,) = [op for v in job.vertices for op in v.operators if op.name == name]
    return found


def flow(job: JobSnapshot, name: str) -> tuple[int, int]:
    """Return how many records an operator took and gave."""
    subtasks = operator(job, name).subtasks
    return sum(one.records_in for one in subtasks), sum(one.records_out for one in subtasks)


def windows(env: StreamExecutionEnvironment, *, side: bool) -> None:
    kept = stamped(env).filter(lambda pair: pair[0] != 3).name("kept")
    twice = kept.flat_map(lambda pair: [pair, pair]).name("twice")
    windowed = twice.key_by(lambda pair: pair[0]).window(
        TumblingEventTimeWindows.of(Time.seconds(10))
    )
    if side:
        windowed = windowed.side_output_late_data(LATE)
    sums = windowed.reduce(lambda a, b: (a[0], b[1])).name("windows")
    sums.map(lambda pair: pair).name("same").filter(lambda pair: pair[0] > 0).name("some").print()
    if side:
        sums.get_side_output(LATE).map(lambda pair: pair).name("late").print()


TRUTH = {"kept": (502, 402), "twice": (402, 804), "same": (20, 20), "some": (20, 15)}


@pytest.mark.parametrize("cuts", [7, 100])
@pytest.mark.parametrize("side", [False, True], ids=["dropped", "side output"])
def test_numbers_are_true_in_chains_and_behind_exchanges(
    side: bool, cuts: int, tmp_path: Path
) -> None:
    job = facts_of(plan_of(lambda env: windows(env, side=side)), tmp_path, cuts)
    assert {name: flow(job, name) for name in TRUTH} == TRUTH
    late = 4
    assert flow(job, "windows") == (804, 20 + (late if side else 0))
    assert sum(one.late_dropped for one in operator(job, "windows").subtasks) == late * (not side)
    assert sum(one.fired for one in operator(job, "windows").subtasks) == 20
    if side:
        assert flow(job, "late") == (late, late)
    assert flow(job, "Source: Collection Source") == (502, 502)
    assert sum(batch.records_in for batch in job.batches) == 502
    assert sum(batch.records_out for batch in job.batches) == 15 + (late if side else 0)
    assert operator(job, "windows").subtasks[0].output_watermark == MAX_WATERMARK


def test_what_is_sent_is_what_arrives_in_bytes(tmp_path: Path) -> None:
    job = facts_of(plan_of(lambda env: windows(env, side=False)), tmp_path)
    sent = sum(one.bytes_out for one in operator(job, "twice").subtasks)
    came = sum(one.bytes_in for one in operator(job, "windows").subtasks)
    assert sent == came > 1000


@pytest.mark.parametrize("attempts", [("a", "b"), ("a", "a", "b")])
def test_a_batch_that_is_run_again_counts_once(attempts: tuple[str, ...], tmp_path: Path) -> None:
    job = facts_of(plan_of(lambda env: windows(env, side=True)), tmp_path, attempts=attempts)
    assert {name: flow(job, name) for name in TRUTH} == TRUTH
    assert job.batch_count == len(job.batches) == 11
    assert [batch.number for batch in job.batches] == list(range(11))


class Sides(ProcessFunction):
    """Even numbers go on, others to the side, tens to both."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[Any]:
        if value % 2 or value % 10 == 0:
            yield LATE, value
        if value % 2 == 0:
            yield value


def branches(env: StreamExecutionEnvironment) -> None:
    """One output with two takers, a union of both outputs, a broadcast, and nobody at an end."""
    numbers = env.from_sequence(0, 99).set_parallelism(1)
    split = numbers.process(Sides()).name("split").set_parallelism(1)
    odd = split.get_side_output(LATE).filter(lambda n: n > 50).name("odd").set_parallelism(1)
    split.map(lambda n: n).name("all").set_parallelism(1)
    united = split.union(odd).map(lambda n: n).name("united").set_parallelism(1)
    united.broadcast().map(lambda n: n).name("everywhere").set_parallelism(3).print()
    united.process(Sides()).name("end").set_parallelism(1)


def test_branches_unions_broadcasts_and_ends(tmp_path: Path) -> None:
    job = facts_of(plan_of(branches), tmp_path)
    odd = [n for n in range(100) if (n % 2 or n % 10 == 0) and n > 50]
    assert flow(job, "split") == (100, 50 + 60)
    assert flow(job, "odd") == (60, len(odd))
    assert flow(job, "all") == (50, 50)
    assert flow(job, "united") == (50 + len(odd), 50 + len(odd))
    assert flow(job, "everywhere") == (3 * (50 + len(odd)),) * 2
    even = 50 + sum(n % 2 == 0 for n in odd)
    assert flow(job, "end") == (50 + len(odd), even)


def test_a_chain_tells_all_that_leaves_it_once_for_each_edge(tmp_path: Path) -> None:
    job = facts_of(plan_of(branches), tmp_path)
    odd = [n for n in range(100) if (n % 2 or n % 10 == 0) and n > 50]
    chains = {vertex.operators[0].name: vertex for vertex in job.vertices}
    source = next(v for v in job.vertices if v.operators[0].kind == "source")
    # Two of its operators go on in a chain of the same task; two have nobody behind them.
    assert task_flow(source, 0)["numRecordsOut"] == 50 + len(odd)
    assert task_flow(source, 0)["numRecordsIn"] == 100
    everywhere = chains["everywhere"]
    flows = [task_flow(everywhere, index) for index in range(3)]
    assert [f["numRecordsOut"] for f in flows] == [50 + len(odd)] * 3
    # What all subtasks hear counts once in records, and as often as it is sent in bytes.
    united = task_flow(chains["united"], 0)
    assert united["numRecordsOut"] == 50 + len(odd)
    assert united["numBytesOut"] == sum(f["numBytesIn"] for f in flows) > 0


def test_a_chain_that_goes_on_at_two_places(tmp_path: Path) -> None:
    def two_exits(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_sequence(1, 30).set_parallelism(1)
        first = numbers.map(lambda n: n).name("first").set_parallelism(1)
        last = first.filter(lambda n: n % 3 == 0).name("last").set_parallelism(1)
        first.key_by(lambda n: n).map(lambda n: n).name("all").print()
        last.key_by(lambda n: n).map(lambda n: n).name("thirds").print()

    job = facts_of(plan_of(two_exits), tmp_path)
    source = next(v for v in job.vertices if v.operators[0].kind == "source")
    assert [op.name for op in source.operators][1:] == ["first", "last"]
    assert task_flow(source, 0)["numRecordsOut"] == 30 + 10


def test_what_each_subtask_adds_to_a_checkpoint(tmp_path: Path) -> None:
    job = facts_of(plan_of(lambda env: windows(env, side=False)), tmp_path, cuts=200)
    entry = job.checkpoints.history[0]
    (uid,) = [op.uid for v in job.vertices for op in v.operators if op.name == "windows"]
    # Keys 0, 1, 2 and 4: those of one subtask are not as many as those of the other.
    assert len(entry.written[uid]) == len(entry.state[uid]) == 2
    assert entry.written[uid][0] != entry.written[uid][1]
    assert min(entry.state[uid]) > 0
    assert sum(map(sum, entry.written.values())) <= entry.bytes_written
    assert sum(map(sum, entry.state.values())) <= entry.state_size


def test_bytes_that_a_file_source_has_read(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"line {n}\n" for n in range(1000)))

    def read(env: StreamExecutionEnvironment) -> None:
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(lines))
        stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines")
        stream.print()

    job = facts_of(plan_of(read), tmp_path / "job")
    subtasks = operator(job, "Source: lines").subtasks
    assert sum(one.bytes_in for one in subtasks) == lines.stat().st_size
    assert sum(one.records_in for one in subtasks) == 1000


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counter = runtime_context.get_metrics_group().add_group("mine").counter("records")
        self.seen = runtime_context.get_int_counter("seen")

    def map(self, value: int) -> int:
        self.counter.inc()
        self.seen.add(1)
        return value


def alike(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(0, 9).set_parallelism(1)
    stream = stream.map(Counting()).name("same").uid("first").set_parallelism(1)
    stream = stream.filter(lambda n: n % 2 == 0).set_parallelism(1)
    stream.map(Counting()).name("same").uid("second").set_parallelism(1).print()


def test_metrics_of_operators_of_one_name_do_not_collide(tmp_path: Path) -> None:
    plan = plan_of(alike)
    job = LocalJob(plan, tmp_path).run()
    metrics = job.coordinator.metrics()
    assert metrics["first.same.0.mine.records"] == 10
    assert metrics["second.same.0.mine.records"] == 5


def test_readings_stand_with_their_subtasks(tmp_path: Path) -> None:
    job = facts_of(plan_of(alike), tmp_path)
    first, second = (
        next(op for v in job.vertices for op in v.operators if op.uid == uid).subtasks[0]
        for uid in ("first", "second")
    )
    assert [(m.name, m.kind, m.value) for m in first.metrics] == [("mine.records", "counter", 10)]
    assert [m.value for m in second.metrics] == [5]
    assert [(a.name, a.type, a.value) for a in second.accumulators] == [("seen", "IntCounter", 5)]
    assert [(a.name, a.value) for a in job.accumulators] == [("seen", 15)]


@pytest.mark.parametrize(
    ("build", "counted"),
    [
        (lambda s: s.map(id).key_by(id).map(id).print(), set()),
        (lambda s: s.filter(id).map(id).key_by(id).map(id).print(), set()),
        (lambda s: s.filter(id).filter(id).print(), {"Filter"}),
        (lambda s: s.map(id).print(), set()),
    ],
)
def test_records_are_counted_only_where_nothing_else_tells(
    build: Callable[[DataStream], Any], counted: set[str], tmp_path: Path
) -> None:
    plan = plan_of(lambda env: build(env.from_sequence(1, 2)))
    made = _counters(plan)
    assert {name for name, _ in made} == counted


def _counters(plan: ExecutionPlan) -> list[tuple[str, Any]]:
    tasks = [
        Task(plan, plan.at_level(level), level, 0, (level, 0)) for level in range(plan.levels + 1)
    ]
    return [
        (op.plan.name, tag) for task in tasks for op in task.operators for tag in op.output.counters
    ]


def test_readings_are_there_at_once_when_a_job_goes_on(tmp_path: Path) -> None:
    plan = plan_of(alike)
    first = LocalJob(plan, tmp_path, cuts=3)
    first.step()
    first.step()  # the process ends behind the second batch
    facts = JobFacts(plan, job_id="a" * 32, name="job", configuration={}, now=0)
    LocalJob(plan, tmp_path, cuts=3, facts=facts)
    job = facts.snapshot(now=1)
    one = next(op for v in job.vertices for op in v.operators if op.uid == "first").subtasks[0]
    assert [metric.value for metric in one.metrics] == [6]
    assert [(held.name, held.value) for held in one.accumulators] == [("seen", 6)]
    assert job.checkpoints.restored == 1
    assert job.checkpoints.restored_from is not None
    assert job.checkpoints.restored_from.number == 1
