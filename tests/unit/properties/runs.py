"""Run a program in some way, and look at everything that it left behind."""

from __future__ import annotations

import pickle
import random
import tempfile
from collections.abc import Callable
from typing import Any

from penstock.graph.plan import ExecutionPlan
from penstock.runtime.codec import Frozen
from penstock.runtime.report import BatchReport
from penstock.runtime.state.log import SlotLog
from penstock.runtime.task import Task
from penstock.testing.local_executor import Attempt, DictSlotStore, LocalJob

#: Processing time moves on by so much with every batch: a replay sees the same.
BATCH_MS = 10
Cuts = Callable[[int, str], int]


def make_cuts(seed: int, most: int = 4) -> Cuts:
    """Return random cuts; the same seed gives the same ones."""
    return lambda batch, uid: random.Random(f"{seed}/{batch}/{uid}").randint(1, most)


def run_plainly(plan: ExecutionPlan, cuts: Cuts | None) -> Any:
    """Run in one worker without any trouble; return the state at the end."""
    with tempfile.TemporaryDirectory() as directory:
        job = _job(plan, directory, cuts)
        while not job.coordinator.finished.is_set():
            job.step()
        return _finish(job)


def run_with_trouble(plan: ExecutionPlan, cuts: Cuts, chance: random.Random) -> Any:
    """Run every batch several times, on workers new and old, dying now and then.

    All attempts at a batch must be equal. Returns the state at the end.
    """
    with tempfile.TemporaryDirectory() as directory:
        job = _job(plan, directory, cuts, chance)
        while not job.coordinator.finished.is_set():
            if not job.ask():
                continue
            attempts = [job.attempt(_placement(chance)) for _ in range(chance.randint(1, 3))]
            seen = [result_of(plan, attempt) for attempt in attempts]
            assert all(other == seen[0] for other in seen[1:])
            if chance.random() < 0.2:
                job = _job(plan, directory, cuts, chance)
                continue
            job.log_commit()
            if chance.random() < 0.2:
                job = _job(plan, directory, cuts, chance)
        return _finish(job)


def _job(
    plan: ExecutionPlan, directory: str, cuts: Cuts | None, chance: random.Random | None = None
) -> LocalJob:
    job: LocalJob | None = None

    def clock() -> int:
        return 1_000_000 + (BATCH_MS * job.batch_id if job else 0)

    job = LocalJob(plan, directory, cuts=cuts, clock=clock, shuffle=chance, poll_ms=0)
    return job


def _placement(chance: random.Random) -> Any:
    """Choose a worker for each task: one of three that may be behind, or a new one."""
    return lambda level, subtask: chance.choice([1, 2, 3, object()])


def _finish(job: LocalJob) -> Any:
    job.close()
    assert job.coordinator.failure is None, job.coordinator.failure
    return state_of(job.plan, job.stores), job.coordinator.accumulators(), job.batch_id


def result_of(plan: ExecutionPlan, attempt: Attempt) -> Any:
    """Return all that an attempt gave, in a form that can be compared."""
    report = BatchReport.collect(attempt.payloads, plan)
    level0 = {place: pickle.loads(state)[1] for place, state in report.level0.items()}
    outputs = (
        report.committables, level0, report.timers, report.accumulators, report.metrics,
    )  # fmt: skip
    return canonical(outputs), state_of(plan, attempt.stores)


def state_of(plan: ExecutionPlan, stores: dict[tuple[int, int], DictSlotStore]) -> Any:
    """Return the state of all slots, read back as a worker would that has never seen them."""
    return {place: _slot_state(plan, *place, store) for place, store in sorted(stores.items())}


def _slot_state(plan: ExecutionPlan, level: int, slot: int, store: DictSlotStore) -> Any:
    operators = [op for op in plan.at_level(level) if slot < op.parallelism]
    task = Task(plan, operators, level, slot, (level, slot))
    assert SlotLog().catch_up(store.copy(), task)
    by_key = {
        (uid, place, key): dump([key])
        for uid, place, _, keys, dump in task.inventory()
        for key in keys
    }
    return canonical((by_key, task.full_plain_state()))


def canonical(value: Any) -> Any:
    """Open everything that is pickled inside a value: equal values may pickle to other bytes."""
    if isinstance(value, Frozen):
        return canonical(value.thaw())
    if isinstance(value, bytes) and value[:1] == b"\x80":
        return canonical(pickle.loads(value))
    if isinstance(value, dict):
        return {canonical(key): canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(map(canonical, value))
    if hasattr(value, "__dict__"):
        return type(value).__name__, canonical(vars(value))
    return value
