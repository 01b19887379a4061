"""Run one batch of one stateful slot: open what is bound for it, pass the rest on."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

from penstock.common.options import CACHE_BYTES
from penstock.graph.specs import Broadcast
from penstock.runtime.cache import TASKS, TaskCache, discard
from penstock.runtime.codec import PROTOCOL
from penstock.runtime.context import job_id_of
from penstock.runtime.envelope import (
    SAVEPOINT,
    Header,
    body_of,
    header_of,
    unpack_chunk,
)
from penstock.runtime.job import Job
from penstock.runtime.savepoint.format import Part
from penstock.runtime.savepoint.program import describe_program
from penstock.runtime.savepoint.restore import restore_task, savepoint_of
from penstock.runtime.savepoint.snapshot import write_parts
from penstock.runtime.state.backends import is_on_disk
from penstock.runtime.state.log import SlotLog, SlotStore
from penstock.runtime.task import Task

#: What a task takes in memory whose keyed state has a budget of its own.
_WEIGHT_ON_DISK = 1 << 20


class _Slot:
    """A task together with the log that keeps its state."""

    def __init__(self, job: Job, level: int, slot: int) -> None:
        operators = [op for op in job.plan.at_level(level) if slot < op.parallelism]
        self.task = Task(job.plan, operators, level, slot, (level, slot))
        self.log = SlotLog()
        self._on_disk = is_on_disk(job.plan.settings)

    @property
    def weight(self) -> int:
        """Return about how many bytes of memory it takes between batches."""
        return _WEIGHT_ON_DISK if self._on_disk else self.log.weight

    def close(self) -> None:
        """Close the user's functions, and drop what they hold."""
        try:
            self.task.close()
        finally:
            self.task.drop_state()


def run_slot(
    job: Job,
    level: int,
    slot: int,
    payloads: Iterable[bytes],
    store: SlotStore,
    cache: TaskCache = TASKS,
) -> list[tuple[int, bytes]]:
    """Work through a batch's envelopes of one slot; return rows `(slot of next hop, payload)`.

    The order of the payloads does not matter: they are sorted into the order that every run of
    this batch has.
    """
    cached_as = (job.token, level, slot)
    cache.enter(job_id_of(job.plan), job.token)
    instance: _Slot | None = cache.take(cached_as)
    if instance is None:
        instance = _Slot(job, level, slot)
    try:
        instance.task.meter.begin()
        if not instance.log.catch_up(store, instance.task):
            discard(instance)
            instance = _Slot(job, level, slot)
            instance.log.catch_up(store, instance.task)
        _resume(job, instance, store)
        savepoint = _run_batch(instance.task, payloads, _broadcast_edges(job, level))
        written = instance.log.append(store, instance.task)
        instance.task.report_counts(written or None, instance.log.weight)
        if savepoint is not None:
            _save(job, level, instance.task, savepoint)
        rows = instance.task.outbox.rows
        instance.task.close_if_finished()
    except BaseException:
        discard(instance)  # what it did half-way goes with it
        raise
    budget = CACHE_BYTES.read(job.plan.settings)
    cache.put(cached_as, instance, instance.weight, budget)
    return rows


def _resume(job: Job, instance: _Slot, store: SlotStore) -> None:
    """Give a slot that has never run its share of the savepoint that the job goes on from."""
    if instance.log.is_empty and (savepoint := savepoint_of(job.plan)) is not None:
        restore_task(instance.task, savepoint)
        instance.log.begin_with(store, instance.task)


def _save(job: Job, level: int, task: Task, folder: str) -> None:
    """Write the task's state to a savepoint, and tell the coordinator what was written."""
    infos = {info.uid: info for info in describe_program(job.plan)}
    report: list[Part] | str
    try:
        report = write_parts(task, infos, task.subtask, folder)
    except Exception as error:
        # The job is not to suffer from it.
        report = f"{type(error).__name__}: {error}"
    task.outbox.send_to_sink(SAVEPOINT, level, task.subtask, pickle.dumps(report, PROTOCOL))


def _run_batch(task: Task, payloads: Iterable[bytes], broadcast: set[int]) -> str | None:
    """Do a batch; return the folder of the savepoint that it is to write, if there is one."""
    savepoint = None
    level = task.outbox.level
    mine: list[tuple[Header, bytes]] = []
    others: list[bytes] = []
    end = 0
    for payload in payloads:
        header = header_of(payload)
        end = max(end, header.time)
        if header.level == level and header.kind == SAVEPOINT:
            savepoint = bytes(body_of(payload)).decode()
        elif header.level == level:
            mine.append((header, payload))
        else:
            others.append(payload)
    first = [item for item in mine if item[0].node in broadcast]
    then = [item for item in mine if item[0].node not in broadcast]
    first.sort(key=lambda item: _turn(item[0]))
    then.sort(key=lambda item: (item[0].time, *_turn(item[0])))
    # A batch ends at its time, and begins when the first of its records arrived.
    task.begin_batch(then[0][0].time if then else end)
    for payload in others:
        task.outbox.pass_on(payload)
    for header, payload in first + then:
        if header.node not in broadcast:
            task.reach_time(header.time)
        task.feed(header.node, header.channel, unpack_chunk(payload))
    task.reach_time(end)
    task.end_batch()
    return savepoint


def _turn(header: Header) -> tuple[int, int, int]:
    return header.seq, header.node, header.channel


def _broadcast_edges(job: Job, level: int) -> set[int]:
    """Edges whose records every slot gets come first in a batch: they set the scene."""
    return {
        edge.id
        for op in job.plan.at_level(level)
        for edge in op.inputs
        if isinstance(edge.partitioner, Broadcast)
    }
