"""Run one batch of one source's subtask: read, and do everything that is chained to the source."""

from __future__ import annotations

import os
import pickle
from typing import Any

from penstock.common.options import CACHE_BYTES
from penstock.core.io import BatchRead
from penstock.runtime.cache import TASKS, TaskCache, discard
from penstock.runtime.codec import PROTOCOL
from penstock.runtime.context import job_id_of
from penstock.runtime.envelope import LEVEL0_STATE, SAVEPOINT
from penstock.runtime.failure import describe
from penstock.runtime.job import Job
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.report import SOURCE_ADDRESSES
from penstock.runtime.savepoint.restore import restore_task, savepoint_of
from penstock.runtime.task import Task

#: How many states back a task may be to be brought up to date rather than made anew.
_REMEMBERED = 32


class _SourceTask:
    """A level-0 task, and the tokens of the states that it has been in, the last one first."""

    def __init__(self, job: Job, source_id: int, subtask: int) -> None:
        level0 = job.plan.at_level(0)
        operators = [op for op in level0 if source_id in (op.id, op.origin)]
        address = (SOURCE_ADDRESSES + source_id, subtask)
        self.task = Task(job.plan, operators, 0, subtask, address)
        self.tokens: tuple[bytes, ...] = ()
        self.size = 0

    def can_go_on_from(self, tokens: tuple[bytes, ...]) -> bool:
        """Tell whether a state with that past can be laid over the one that the task is in.

        Else the task is on a branch that was left. What is written entry by entry cannot be
        overlaid: there may be too much of it.
        """
        if self.tokens[:1] == tokens[:1] or not self.tokens:
            return True
        return self.tokens[0] in tokens and not any(self.task.inventory())

    def load(self, tokens: tuple[bytes, ...], state: dict[Any, Any]) -> None:
        """Bring the task into the state that another one left."""
        if tokens[:1] != self.tokens[:1]:
            self.tokens = tokens
            self.task.apply(state)
            self.task.settle()

    def save(self) -> bytes | None:
        """Return the state under a token of its own, None if it is what it was."""
        if not self.task.take_delta():
            return None
        self.tokens = (os.urandom(12), *self.tokens[: _REMEMBERED - 1])
        state = pickle.dumps((self.tokens, self.task.full_state()), PROTOCOL)
        self.size = len(state)
        return state

    def close(self) -> None:
        """Close the user's functions."""
        self.task.close()


def run_source(job: Job, read: BatchRead, cache: TaskCache = TASKS) -> list[tuple[int, bytes]]:
    """Work through a subtask's share of a batch; return rows `(slot of next hop, payload)`."""
    cached_as = (job.token, "source", read.source_id, read.subtask)
    cache.enter(job_id_of(job.plan), job.token)
    instance: _SourceTask | None = cache.take(cached_as)
    tokens, state = ((), {}) if read.state is None else pickle.loads(read.state)
    if instance is not None and not instance.can_go_on_from(tokens):
        discard(instance)
        instance = None
    if instance is None:
        instance = _SourceTask(job, read.source_id, read.subtask)
    try:
        instance.task.meter.begin()
        instance.load(tokens, state)
        if not tokens and (savepoint := savepoint_of(job.plan)) is not None:
            restore_task(instance.task, savepoint)
        rows = _run_batch(instance.task, read)
        if read.savepoint is not None:
            _tell_slots(job, instance.task, read.savepoint)
        if (saved := instance.save()) is not None:
            instance.task.outbox.send_to_sink(LEVEL0_STATE, read.source_id, read.subtask, saved)
        instance.task.report_counts(weight=instance.size)
        instance.task.close_if_finished()
    except BaseException:
        discard(instance)  # what it did half-way goes with it
        raise
    budget = CACHE_BYTES.read(job.plan.settings)
    cache.put(cached_as, instance, instance.size, budget)
    return rows


def _tell_slots(job: Job, task: Task, savepoint: str) -> None:
    """Pass the word to all slots that have something to do."""
    slots = {(op.level, i) for op in job.plan.operators if op.level for i in range(op.parallelism)}
    for level, slot in sorted(slots):
        task.outbox.send_control(SAVEPOINT, level, slot, savepoint.encode())


def _run_batch(task: Task, read: BatchRead) -> list[tuple[int, bytes]]:
    source = task.operators[0]
    assert isinstance(source, SourceOperator)
    task.begin_batch(read.time_before if source.receives else read.time)
    try:
        source.run(read)
    except Exception as error:
        raise describe(error) from error
    return task.end_batch()
