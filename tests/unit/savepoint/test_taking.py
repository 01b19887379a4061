"""Taking savepoints: while the job runs, when it fails, when it is killed."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.core.state import ValueStateDescriptor
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import StateError
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.codec import Frozen
from penstock.runtime.coordinator.savepoints import dispose
from penstock.runtime.savepoint.evolution import evolve
from penstock.runtime.savepoint.folders import list_savepoints
from penstock.runtime.savepoint.format import Savepoint
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink

pytestmark = pytest.mark.usefixtures("backend")

RECORDS = [(n % 5, n) for n in range(60)]
SUMS = sorted(
    (key, sum(n for k, n in RECORDS[: i + 1] if k == key)) for i, (key, _) in enumerate(RECORDS)
)


def plan_of(sink: RecordingSink, parallelism: int = 2, **settings: str) -> ExecutionPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    stream = env.from_collection(RECORDS).key_by(lambda pair: pair[0])
    stream.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sum").sink_to(sink).uid("out")
    plan = build_plan(env)
    plan.settings.update(settings)
    return plan


def job_of(sink: RecordingSink, place: Path, **options: Any) -> LocalJob:
    return LocalJob(plan_of(sink), place, cuts=7, poll_ms=0, **options)


def test_the_job_goes_on_and_the_savepoint_stays_as_it_is(tmp_path: Path) -> None:
    sink, other = RecordingSink(), RecordingSink()
    job = job_of(sink, tmp_path / "a")
    job.step()
    path = job.savepoint(tmp_path / "savepoints")
    published = len(sink.values())
    job.run()
    assert sorted(sink.values()) == SUMS
    job_of(other, tmp_path / "b", restore=path).run()
    assert sorted(sink.values()[:published] + other.values()) == SUMS


def test_what_is_in_it_can_be_read_without_the_program(tmp_path: Path) -> None:
    job = job_of(RecordingSink(), tmp_path / "a")
    job.step()
    savepoint = Savepoint.open(job.savepoint(tmp_path / "savepoints", stop=True))
    manifest = savepoint.manifest
    assert {info.uid: info.layout for info in manifest.operators}["sum"] == "rolling"
    found = {}
    for changes in savepoint.keyed("sum"):
        kind, (keys, values, _) = changes["rolling"]
        assert kind == "value"
        found.update(zip(keys, values, strict=True))
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert manifest.size() > 0
    with pytest.raises(StateError) as caught:
        manifest.operator("none")
    assert "the savepoint has no operator of that uid" in str(caught.value)


def test_listed_and_disposed(tmp_path: Path) -> None:
    job = job_of(RecordingSink(), tmp_path / "a")
    job.step()
    first = job.savepoint(tmp_path / "savepoints")
    second = job.savepoint(tmp_path / "savepoints", stop=True)
    (tmp_path / "savepoints" / "unfinished").mkdir()
    folder = str(tmp_path / "savepoints")
    assert [found.path for found in list_savepoints(folder)] == [first, second]
    dispose(first)
    assert not Path(first).exists()
    assert [found.path for found in list_savepoints(folder)] == [second]
    with pytest.raises(StateError) as caught:
        dispose(first)
    assert str(caught.value) == (
        "there is no savepoint in that folder\n"
        f"  where: {first}\n"
        "  got:   no file _metadata\n"
        "  to do: give the folder that holds it; one without it was not completed"
    )


def test_one_that_cannot_be_written_does_not_harm_the_job(tmp_path: Path) -> None:
    sink = RecordingSink()
    job = job_of(sink, tmp_path / "a")
    job.step()
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StateError) as caught:
        job.savepoint(tmp_path / "file")
    assert "the savepoint could not be written; the job goes on" in str(caught.value)
    job.run()
    assert sorted(sink.values()) == SUMS


def test_killed_while_it_is_taken(tmp_path: Path) -> None:
    """Between any two steps: there is a savepoint that is complete, or none."""
    for step in range(4):
        place, sink, other = tmp_path / str(step), RecordingSink(), RecordingSink()
        job = job_of(sink, place / "a")
        job.step()
        job.coordinator.trigger_savepoint(str(place / "savepoints"))
        job.ask()
        for _ in range(min(step, 2)):
            job.attempt()  # its files stay behind when the process dies
        if step == 3:
            job.log_commit()
        assert list_savepoints(str(place / "savepoints")) == []
        job_of(sink, place / "a").run()
        assert sorted(sink.values()) == SUMS
        (found,) = list_savepoints(str(place / "savepoints"))
        named = {e.file for part in found.manifest.parts for e in part.extents()}
        assert {p.name for p in Path(found.path).glob("*.state")} == named
        job_of(other, place / "b", restore=found.path).run()
        until = [n for n, (key, _) in enumerate(RECORDS) if n < 14]
        assert sorted(other.values()) == sorted(_from(len(until)))


def _from(begin: int) -> list[Any]:
    return [
        (key, sum(n for k, n in RECORDS[: i + 1] if k == key))
        for i, (key, _) in enumerate(RECORDS)
        if i >= begin
    ]


def test_a_claimed_savepoint_goes_when_the_job_has_a_checkpoint(tmp_path: Path) -> None:
    job = job_of(RecordingSink(), tmp_path / "a")
    job.step()
    path = job.savepoint(tmp_path / "savepoints", stop=True)
    plan = plan_of(RecordingSink(), **{"execution.state-recovery.claim-mode": "CLAIM"})
    claiming = LocalJob(plan, tmp_path / "b", cuts=7, poll_ms=0, restore=path)
    claiming.step()
    assert Path(path).exists()
    claiming.run()
    assert not Path(path).exists()


def test_a_resumed_job_is_killed_and_started_again(tmp_path: Path) -> None:
    sink, other = RecordingSink(), RecordingSink()
    job = job_of(sink, tmp_path / "a")
    job.step()
    path = job.savepoint(tmp_path / "savepoints", stop=True)
    job.close()
    for batches in (0, 1, 2):
        resumed = job_of(other, tmp_path / "b", restore=path)
        for _ in range(batches):
            resumed.step(("one", "two"))
    job_of(other, tmp_path / "b", restore=path).run()
    assert sorted(sink.values() + other.values()) == SUMS


def test_a_version_that_is_not_known(tmp_path: Path) -> None:
    folder = tmp_path / "savepoint"
    folder.mkdir()
    (folder / "_metadata").write_text(json.dumps({"version": 99}))
    with pytest.raises(StateError) as caught:
        Savepoint.open(str(folder))
    assert "version 99; this release reads 1" in str(caught.value)


@dataclass
class Before:
    count: int = 0
    gone: int = 7


class Keeping(KeyedProcessFunction):
    """Keep an object of a class that another release of the program has changed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        held = self.held.value() or Before()
        held.count += 1
        self.held.update(held)
        yield value[0], sorted(vars(held).items())


@dataclass
class After:
    count: int = 0
    added: str = "default"


def test_a_dataclass_with_other_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that was added has its default, one that was removed is dropped."""

    def plan(sink: RecordingSink) -> ExecutionPlan:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        stream = env.from_collection(RECORDS[:20]).key_by(lambda pair: pair[0])
        stream.process(Keeping()).uid("keep").sink_to(sink).uid("out")
        return build_plan(env)

    first, second = RecordingSink(), RecordingSink()
    job = LocalJob(plan(first), tmp_path / "a", cuts=5, poll_ms=0)
    job.step()
    path = job.savepoint(tmp_path / "savepoints", stop=True)
    job.close()
    seen = len(first.values())
    After.__qualname__ = After.__name__ = "Before"
    monkeypatch.setattr(f"{__name__}.Before", After)
    LocalJob(plan(second), tmp_path / "b", cuts=5, poll_ms=0, restore=path).run()
    found = [dict(fields) for _, fields in second.values()]
    assert seen + len(found) == 20
    assert [sorted(fields) for fields in found] == [["added", "count"]] * 10
    assert {(fields["count"], fields["added"]) for fields in found} == {
        (3, "default"), (4, "default")
    }  # fmt: skip


@dataclass
class Stricter:
    count: int
    added: str


def test_an_added_field_without_a_default_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = Frozen(pickle.dumps(Before(3)))
    Stricter.__qualname__ = Stricter.__name__ = "Before"
    monkeypatch.setattr(f"{__name__}.Before", Stricter)
    with pytest.raises(StateError) as caught:
        evolve({"held": ("value", (["a"], [value], []))}, "operator 'Keep'")
    assert str(caught.value) == (
        "Before has a field that its state was written without\n"
        "  where: operator 'Keep'\n"
        "  got:   no 'added' in {'count': 3}\n"
        "  to do: give the field 'added' a default, which state from before then gets"
    )
