"""Run one batch of one source's subtask: read, and do everything that is chained to the source."""

from __future__ import annotations

import os
import pickle

from penstock.core.io import BatchRead
from penstock.runtime.cache import BUDGET_SETTING, DEFAULT_BUDGET, TASKS, TaskCache, discard
from penstock.runtime.codec import PROTOCOL
from penstock.runtime.envelope import LEVEL0_STATE
from penstock.runtime.failure import describe
from penstock.runtime.job import Job
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.task import Task

#: Distinguishes level-0 places from the levels of slots in what is reported about timers.
_LEVEL0_PLACES = 256


class _SourceTask:
    """A level-0 task, and the token of the state that it is in."""

    def __init__(self, job: Job, source_id: int, subtask: int) -> None:
        level0 = job.plan.at_level(0)
        operators = [op for op in level0 if source_id in (op.id, op.origin)]
        place = (_LEVEL0_PLACES + source_id, subtask)
        self.task = Task(job.plan, operators, 0, subtask, place)
        self.token = b""
        self.size = 0

    def load(self, state: bytes | None) -> None:
        """Bring a new task into the state that another one left."""
        if state is not None:
            self.token, plain = pickle.loads(state)
            self.task.apply(plain)
            self.task.settle()

    def save(self) -> bytes | None:
        """Return the state under a token of its own, None if it is what it was."""
        if not self.task.take_delta():
            return None
        self.token = os.urandom(12)
        state = pickle.dumps((self.token, self.task.full_state()), PROTOCOL)
        self.size = len(state)
        return state

    def close(self) -> None:
        """Close the user's functions."""
        self.task.close()


def run_source(job: Job, read: BatchRead, cache: TaskCache = TASKS) -> list[tuple[int, bytes]]:
    """Work through a subtask's share of a batch; return rows `(slot of next hop, payload)`."""
    place = (job.token, "source", read.source_id, read.subtask)
    instance: _SourceTask | None = cache.take(place)
    token = b"" if read.state is None else pickle.loads(read.state)[0]
    if instance is not None and instance.token != token:
        discard(instance)
        instance = None
    if instance is None:
        instance = _SourceTask(job, read.source_id, read.subtask)
    try:
        if instance.token != token:
            instance.load(read.state)
        rows = _run_batch(instance.task, read)
        if (state := instance.save()) is not None:
            instance.task.outbox.send_to_sink(LEVEL0_STATE, read.source_id, read.subtask, state)
        instance.task.close_if_finished()
    except BaseException:
        discard(instance)  # what it did half-way goes with it
        raise
    budget = int(job.plan.settings.get(BUDGET_SETTING, DEFAULT_BUDGET))
    cache.put(place, instance, instance.size, budget)
    return rows


def _run_batch(task: Task, read: BatchRead) -> list[tuple[int, bytes]]:
    task.begin_batch(read.time)
    source = task.operators[0]
    assert isinstance(source, SourceOperator)
    try:
        source.run(read)
    except Exception as error:
        raise describe(error) from error
    return task.end_batch()
