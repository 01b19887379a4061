"""Run a plan batch by batch in workers that a test chooses, as Spark would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

from penstock.core.io import BatchRead, SourceBatch, SplitRange
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.cache import TaskCache
from penstock.runtime.job import Job, dump_job, load_job
from penstock.runtime.report import BatchReport, SubtaskId
from penstock.runtime.slot import run_slot
from penstock.runtime.source_task import run_source


class Store:
    """A dictionary in the place of Spark's state store; it counts what is asked of it."""

    def __init__(self, meta: bytes | None = None, entries: dict[int, bytes] | None = None) -> None:
        self.meta = meta
        self.entries = dict(entries or {})
        self.reads = 0
        self.written = 0
        self.removals = 0

    def read_meta(self) -> bytes | None:
        return self.meta

    def write_meta(self, data: bytes) -> None:
        self.written += len(data)
        self.meta = data

    def read(self, number: int) -> bytes | None:
        self.reads += 1
        return self.entries.get(number)

    def write(self, number: int, data: bytes) -> None:
        self.written += len(data)
        self.entries[number] = data

    def remove(self, number: int) -> None:
        self.removals += 1
        del self.entries[number]

    def copy(self) -> Store:
        return Store(self.meta, self.entries)


class Worker:
    """A process of its own, as far as jobs and caches go."""

    count = 0

    def __init__(self, plan: ExecutionPlan) -> None:
        Worker.count += 1
        self.job: Job = load_job(f"worker-{Worker.count}", dump_job(plan))
        self.cache = TaskCache()


def batch(
    values: Iterable[Any] = (), timestamps: list[Any] | None = None, marks: Any = ()
) -> SourceBatch:
    """Return what a source reads in one go."""
    return SourceBatch(list(values), timestamps, marks)


class Runner:
    """The engine: it keeps what outlives a worker.

    `run({0: [1, 2]})` reads 1 and 2 from the source of id 0. What is read may be a list of values,
    a `SourceBatch`, or a dictionary of either by subtask.
    """

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan = plan
        self.workers: dict[Any, Worker] = {}
        self.stores: dict[tuple[int, int], Store] = {}
        self.level0: dict[SubtaskId, bytes] = {}
        self.timers: dict[SubtaskId, int | None] = {}
        self.accumulators: dict[SubtaskId, Any] = {}
        self.time = 1000
        #: Everything that reached a sink up to now: (subtask, value, timestamp) by name.
        self.written: dict[str, list[tuple[int, Any, int | None]]] = {}

    def worker(self, name: Any) -> Worker:
        if name not in self.workers:
            self.workers[name] = Worker(self.plan)
        return self.workers[name]

    def run(
        self,
        reads: dict[int, Any] | None = None,
        *,
        ended: bool | Iterable[int] = False,
        time: int | None = None,
        worker: Any = "first",
        shuffle: Callable[[list[bytes]], None] = lambda payloads: None,
        commit: bool = True,
    ) -> BatchReport:
        """Run one batch; `worker` is a name, or a function of level and subtask that tells it."""
        self.time = self.time if time is None else time
        name_of = worker if callable(worker) else lambda level, subtask: worker
        rows: list[tuple[int, bytes]] = []
        for read in self._reads(reads or {}, ended):
            place = self.worker(name_of(0, read.subtask))
            rows += run_source(place.job, read, place.cache)
        stores = {place: store.copy() for place, store in self.stores.items()}
        for level in range(1, self.plan.levels + 1):
            by_slot: dict[int, list[bytes]] = {}
            for slot, payload in rows:
                by_slot.setdefault(slot % self.plan.slots, []).append(payload)
            rows = []
            for slot, payloads in sorted(by_slot.items()):
                shuffle(payloads)
                place = self.worker(name_of(level, slot))
                store = stores.setdefault((level, slot), Store())
                rows += run_slot(place.job, level, slot, payloads, store, place.cache)
        report = BatchReport.collect((payload for _, payload in rows), self.plan)
        if commit:
            self._commit(report, stores)
        return report

    def _reads(self, reads: dict[int, Any], ended: bool | Iterable[int]) -> Iterable[BatchRead]:
        for source in self.plan.sources():
            shares = reads.get(source.id, {})
            shares = shares if isinstance(shares, dict) else {0: shares}
            over = ended if isinstance(ended, bool) else source.id in ended
            for subtask in range(source.parallelism):
                share = shares.get(subtask)
                share = batch(share) if isinstance(share, (list, range, tuple)) else share
                split = f"split-{subtask}"
                ranges = []
                if share is not None:
                    ranges.append(SplitRange(split, 0, 0, pickle.dumps([share]), last=over))
                splits = () if over else (split,)
                state = self.level0.get((source.uid, subtask))
                yield BatchRead(source.id, subtask, ranges, self.time, over, splits, state=state)

    def _commit(self, report: BatchReport, stores: dict[tuple[int, int], Store]) -> None:
        self.stores = stores
        self.level0.update(report.level0)
        self.timers.update(report.timers)
        self.accumulators.update(report.accumulators)
        for sink, output in outputs(self.plan, report).items():
            self.written.setdefault(sink, []).extend(output)

    def values(self, sink: str = "sink") -> list[Any]:
        """Return all that was written to a sink, without subtask and timestamp."""
        return [value for _, value, _ in self.written.get(sink, [])]


def outputs(
    plan: ExecutionPlan, report: BatchReport
) -> dict[str, list[tuple[int, Any, int | None]]]:
    """Return what a batch writes to each sink, as (subtask, value, timestamp)."""
    names = {op.uid: op.name for op in plan.operators}
    return {
        names[sink]: [(each.subtask, *pickle.loads(each.payload)) for each in committables]
        for sink, committables in report.committables.items()
    }
