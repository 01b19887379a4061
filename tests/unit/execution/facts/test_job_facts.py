"""The read model: what it makes of what it is told."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.core.time import MAX_WATERMARK
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import JobFailedError, UserFunctionError
from penstock.execution.facts.events import BatchReport, OperatorReport, TaskReport
from penstock.execution.facts.job_facts import JobFacts
from penstock.execution.facts.json_form import from_json, to_json
from penstock.execution.facts.merging import merged, since_of
from penstock.execution.facts.plan_facts import operator_id
from penstock.execution.facts.rates import RateWindow
from penstock.execution.facts.snapshot import CheckpointEntry, RestoredFrom
from penstock.graph.plan import ExecutionPlan
from tests.unit.process.jobs import environment

BEGIN = 1_000_000


@pytest.fixture
def plan() -> ExecutionPlan:
    env = environment(parallelism=1)
    numbers = env.from_sequence(0, 9).uid("numbers")
    keyed = numbers.key_by(lambda n: n).reduce(max).uid("largest").name("Largest")
    keyed.print().uid("out")
    return build_plan(env)


@pytest.fixture
def facts(plan: ExecutionPlan) -> JobFacts:
    return JobFacts(
        plan,
        job_id="ab" * 16,
        name="job",
        configuration={"a": 1, "s3.secret-key": "x"},
        now=BEGIN,
    )


def batch(number: int, begin: int, records: int = 100, levels: tuple[float, float] = (0.2, 0.3)):  # type: ignore[no-untyped-def]
    """A batch of 600 ms: 10 of planning, 550 of work, 40 to write it down."""

    def one(uid: str, seconds: float) -> OperatorReport:
        return OperatorReport(
            uid, 0, records, records, records, 10 * records, 10 * records, None, begin, 0, 0, 5, 50,
            seconds, False,
        )  # fmt: skip

    tasks = [
        TaskReport(0, levels[0], "here", 7, 1000, [one("numbers", 0.0)]),
        TaskReport(1, levels[1], "here", 8, 2000, [one("largest", 0.3), one("out", 0.0)]),
    ]
    return BatchReport(number, begin, begin + 10, begin + 560, begin + 600, tasks)


def test_vertices_are_flinks_chains(facts: JobFacts) -> None:
    job = facts.snapshot(BEGIN)
    assert [(v.name, v.level, v.parallelism) for v in job.vertices] == [
        ("Source: Sequence Source", 0, 1),
        ("Largest -> Sink: Print to Std. Out", 1, 1),
    ]
    source, largest = job.vertices
    assert source.id == operator_id("numbers")
    assert [(i.vertex, i.ship_strategy, i.from_uid, i.to_uid) for i in largest.inputs] == [
        (source.id, "HASH", "numbers", "largest")
    ]
    assert [(o.kind, o.keyed, o.chained_to) for o in largest.operators] == [
        ("operator", True, []),
        ("sink", False, ["largest"]),
    ]
    assert largest.operators[0].file.endswith("test_job_facts.py")


def test_states_have_their_times(facts: JobFacts) -> None:
    facts.state_changed("RUNNING", BEGIN + 5)
    facts.state_changed("RESTARTING", BEGIN + 7)
    facts.state_changed("RUNNING", BEGIN + 9)
    job = facts.snapshot(BEGIN + 10)
    assert (job.state, job.start_time, job.end_time) == ("RUNNING", BEGIN, -1)
    assert {state: at - BEGIN for state, at in job.timestamps.items() if at} == {
        "INITIALIZING": 0,
        "RUNNING": 9,
        "RESTARTING": 7,
    }
    facts.state_changed("FINISHED", BEGIN + 20)
    job = facts.snapshot(BEGIN + 1000)
    assert (job.end_time, job.at) == (BEGIN + 20, BEGIN + 20)
    assert {task.state for vertex in job.vertices for task in vertex.subtasks} == {"FINISHED"}


def test_phases_of_a_batch_add_up_to_its_time(facts: JobFacts) -> None:
    facts.batch_recorded(batch(0, BEGIN))
    facts.batch_logged(0, BEGIN + 650)
    facts.batch_logged(0, BEGIN + 900)  # asked again: the engine polls
    (only,) = facts.snapshot(BEGIN + 700).batches
    assert only.phases == {
        "plan": 10.0,
        "level 0": 200.0,
        "level 1": 300.0,
        "engine": 50.0,
        "record": 40.0,
        "log": 50.0,
    }
    assert sum(only.phases.values()) == only.duration == 650
    assert (only.records_in, only.records_out, only.watermark) == (100, 100, BEGIN)


def test_a_task_is_busy_back_pressured_or_idle(facts: JobFacts) -> None:
    for number in range(10):
        facts.batch_recorded(batch(number, BEGIN + 1000 * number + 400))
    source, largest = facts.snapshot(BEGIN + 10_000).vertices
    (first,), (second,) = source.subtasks, largest.subtasks
    assert (first.busy_ms, first.backpressured_ms, first.idle_ms) == (2000, 3000, 5000)
    assert (second.busy_ms, second.backpressured_ms, second.idle_ms) == (3000, 0, 7000)
    assert first.busy_per_second == pytest.approx(200)
    assert first.backpressured_per_second == pytest.approx(300)
    assert first.idle_per_second == pytest.approx(500)


def test_rates_follow_the_last_seconds(facts: JobFacts) -> None:
    for number in range(30):
        facts.batch_recorded(batch(number, BEGIN + 1000 * number, records=100 + 10 * number))
    one = facts.snapshot(BEGIN + 30_000).vertices[0].operators[0].subtasks[0]
    assert one.records_in == sum(100 + 10 * number for number in range(30))
    assert 300 <= one.records_in_per_second <= 390
    assert one.bytes_in_per_second == pytest.approx(10 * one.records_in_per_second)
    silent = facts.snapshot(BEGIN + 90_000).vertices[0].operators[0].subtasks[0]
    assert silent.records_in_per_second == 0


def test_a_long_batch_under_way_does_not_look_like_silence() -> None:
    window = RateWindow(0, (0,))
    window.add(30_000, (3000,))
    assert window.rates(50_000) == (100.0,)
    assert window.rates(100_000) == (0.0,)


def test_points_are_a_second_apart_and_ten_minutes_long(facts: JobFacts) -> None:
    for number in range(4000):
        facts.batch_recorded(batch(number, BEGIN + 200 * number))
    job = facts.snapshot(BEGIN + 800_000)
    points = job.vertices[1].operators[0].points
    assert points.at[-1] == BEGIN + 200 * 3999 + 600
    assert points.at[-1] - points.at[0] <= 600_000
    assert all(after - before >= 1000 for before, after in pairwise(points.at[:-1]))
    assert points.records_in[-1] == 400_000
    assert points.state_rows[-1] == 5
    assert len(job.batches) == 600
    assert job.batch_count == 4000


def test_only_what_is_new_is_asked_for(facts: JobFacts) -> None:
    for number in range(10):
        facts.batch_recorded(batch(number, BEGIN + 1000 * number))
    since = BEGIN + 8000
    job = facts.snapshot(BEGIN + 10_000, since)
    assert [one.number for one in job.batches] == [8, 9]
    assert all(at >= since for at in job.vertices[0].operators[0].points.at)
    assert job.vertices[0].operators[0].subtasks[0].records_in == 1000


def test_workers_are_known_by_what_they_did(facts: JobFacts) -> None:
    facts.batch_recorded(batch(0, BEGIN))
    job = facts.snapshot(BEGIN + 700)
    assert [(w.id, w.memory, w.tasks) for w in job.workers] == [
        ("here:7", 1000, [f"{job.vertices[0].id}:0"]),
        ("here:8", 2000, [f"{job.vertices[1].id}:0"]),
    ]
    assert job.vertices[1].subtasks[0].worker == "here:8"


def test_checkpoints_are_counted_and_kept(facts: JobFacts) -> None:
    entry = CheckpointEntry(1, "CHECKPOINT", "COMPLETED", BEGIN, 5, 100, 10)
    for _ in range(60):
        facts.checkpoint_ended(entry)
    facts.restored(RestoredFrom(1, BEGIN, "file:///x"))
    found = facts.snapshot(BEGIN).checkpoints
    assert (found.completed, found.failed, found.restored, len(found.history)) == (60, 0, 1, 50)
    assert found.restored_from == RestoredFrom(1, BEGIN, "file:///x")


def divide(value: int) -> float:
    return 1 / value


def test_a_failure_shows_the_users_line(facts: JobFacts) -> None:
    try:
        divide(0)
    except ZeroDivisionError as error:
        told = UserFunctionError.from_exception(error, operator="Largest", record=0)
    told.uid, told.subtask, told.worker = "largest", 0, "here:8"
    facts.attempt_began(1, BEGIN)
    facts.failed(told, BEGIN + 3)
    (failure,) = facts.snapshot(BEGIN + 4).failures
    assert (failure.attempt, failure.at) == (1, BEGIN + 3)
    assert (failure.root_type, failure.root_message) == ("ZeroDivisionError", "division by zero")
    assert (failure.operator_uid, failure.operator_name, failure.subtask) == (
        "largest",
        "Largest",
        0,
    )
    assert failure.worker == "here:8"
    assert Path(failure.file).name == "test_job_facts.py"
    assert failure.source[failure.line - failure.first_line] == "    return 1 / value"


def test_a_failure_without_code_of_the_users_shows_where_the_operator_was_made(
    facts: JobFacts,
) -> None:
    facts.failed(JobFailedError("gone", where=f"operator 'Sink: x', built at {__file__}:1"), 1)
    (failure,) = facts.snapshot(BEGIN).failures
    assert (failure.root_type, failure.root_message) == ("JobFailedError", "gone")
    assert (failure.operator_name, failure.file, failure.line) == ("Sink: x", __file__, 1)
    assert failure.source[0] == '"""The read model: what it makes of what it is told."""'


def test_secrets_are_hidden_in_names_and_failures() -> None:
    env = environment(parallelism=1)
    stream = env.from_sequence(0, 9).name("read hunter2")
    stream.map(lambda n: n).uid("m").name("at db://me:pass@host").print()
    settings = {"db.password": "hunter2"}
    facts = JobFacts(build_plan(env), job_id="a" * 32, name="job", configuration=settings, now=0)

    def connect() -> None:
        raise ConnectionError("no access with hunter2, password='abc'")

    try:
        connect()
    except ConnectionError as error:
        told = UserFunctionError.from_exception(error, operator="m", record="hunter2")
    facts.failed(told, 1)
    shown = json.dumps(to_json(facts.snapshot(2)))
    assert "hunter2" not in shown and "pass@" not in shown and "'abc'" not in shown
    assert "no access with ******, password=******" in shown


def test_all_of_it_goes_through_json(facts: JobFacts) -> None:
    facts.batch_recorded(batch(0, BEGIN))
    facts.failed(ValueError("x"), BEGIN)
    job = facts.snapshot(BEGIN + 1000)
    assert from_json(json.loads(json.dumps(to_json(job)))) == job
    assert job.configuration == {"a": "1", "s3.secret-key": "******"}


def test_a_task_whose_operators_have_all_ended_is_finished(facts: JobFacts) -> None:
    facts.state_changed("RUNNING", BEGIN)
    ended = OperatorReport("numbers", 0, 1, 1, 1, 0, 0, None, MAX_WATERMARK, 0, 0, 0, 0, 0.0, True)
    task = TaskReport(0, 0.1, "here", 7, 0, [ended])
    facts.batch_recorded(BatchReport(0, BEGIN, BEGIN, BEGIN + 200, BEGIN + 200, [task]))
    job = facts.snapshot(BEGIN + 500)
    assert [vertex.subtasks[0].state for vertex in job.vertices] == ["FINISHED", "RUNNING"]
    assert job.vertices[0].subtasks[0].end_time == BEGIN + 200
    assert job.batches[0].watermark == MAX_WATERMARK


def test_who_follows_a_job_knows_as_much_as_who_asks_for_all_of_it(facts: JobFacts) -> None:
    entry = CheckpointEntry(0, "CHECKPOINT", "COMPLETED", BEGIN, 5, 100, 10)
    known = facts.snapshot(BEGIN)
    for number in range(897):
        begin = BEGIN + 900 * number
        facts.batch_recorded(batch(number, begin))
        facts.batch_logged(number, begin + 700)
        facts.checkpoint_ended(replace(entry, number=number, begin=begin))
        if number % 7 == 0:
            since = since_of(known)
            now = begin + 800
            known = merged(known, facts.snapshot(now, since), since)
    assert known == facts.snapshot(now)
