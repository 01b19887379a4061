"""Sink writers that ask for a batch at some time, wherever they stand."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.core.io import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from penstock.core.time import MIN_WATERMARK
from penstock.graph.specs import Rebalance, SinkSpec
from tests.unit.runtime.plans import Input, Planner
from tests.unit.runtime.runner import Runner


class Patient(SinkWriter):
    """Hold records back for 100 ms after the first of them."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._held, self._due = context.restored or ([], None)
        self._ready: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        if self._due is None:
            self._due = self._context.now() + 100
        self._held.append(value)

    def next_wakeup(self) -> int | None:
        return self._due

    def wake_up(self, time: int) -> None:
        self._ready = [*self._ready, (time, tuple(self._held))]
        self._held, self._due = [], None

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        ready, self._ready = self._ready, []
        if end_of_input and self._held:
            ready.append(("end", tuple(self._held)))
            self._held = []
        return [pickle.dumps((each, None)) for each in ready]

    def snapshot_state(self) -> Any:
        return list(self._held), self._due


class PatientSink(Sink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Patient(context)

    def create_committer(self, context: CommitterContext) -> Committer:
        raise AssertionError("nobody publishes")


SEEN: list[WriterContext] = []


class Curious(PatientSink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        SEEN.append(context)
        return Patient(context)


@pytest.mark.parametrize("place", ["at the source", "in a slot"])
def test_a_writer_is_woken_before_the_first_record(place: str) -> None:
    plan = Planner()
    source = plan.source()
    sink = Input(source, Rebalance()) if place == "in a slot" else source
    plan.add(SinkSpec(PatientSink()), sink, name="sink")
    job = Runner(plan.build())
    known = ("level 1", 0) if place == "in a slot" else ("uid-0", 0)
    job.run({0: ["a"]}, time=1000, worker="x")
    assert job.timers == {known: 1100}
    job.run({0: ["b"]}, time=1099, worker="y")
    assert job.values("sink") == []
    job.run({0: ["c"]}, time=1100, worker="x")
    assert job.values("sink") == [(1100, ("a", "b"))]
    assert job.timers == {known: 1200}
    job.run(time=1250, worker="y")
    assert job.values("sink")[1:] == [(1250, ("c",))]
    assert job.timers == {known: None}
    job.run({0: ["d"]}, time=1300, worker="x")
    job.run(ended=True, time=1301, worker="y")
    assert job.values("sink")[2:] == [("end", ("d",))]
    assert job.timers == {known: None}, "what has ended asks for nothing"


def test_a_writer_knows_its_job_and_its_watermark() -> None:
    plan = Planner()
    plan.add(SinkSpec(Curious()), plan.source(), name="sink")
    settings = {"execution.checkpointing.interval": "5 s", "penstock.job-id": "job 7"}
    job = Runner(plan.build(**settings))
    job.run({0: [1]}, time=1000)
    context = SEEN[-1]
    assert (context.job_id, context.checkpoints.interval) == ("job 7", 5000)
    assert context.uid == job.plan.operators[-1].uid
    assert context.watermark() == MIN_WATERMARK
