"""Connectors that tests steer, and an engine that treats a coordinator as Spark does."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.core.io import (
    BatchRead,
    Committable,
    Committer,
    CommitterContext,
    EnumeratorContext,
    Position,
    ReadLimit,
    Sink,
    SinkWriter,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
    WriterContext,
)
from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator
from penstock.graph.specs import CallSite, Forward, OperatorSpec, SinkSpec, SourceSpec
from penstock.runtime.coordinator.coordinator import Coordinator
from penstock.runtime.coordinator.offsets import Offset
from penstock.runtime.report import BatchReport

SITE = CallSite("orders_job.py", 41)


class Clock:
    """Processing time that stands still until a test moves it."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class SteeredEnumerator(SplitEnumerator):
    def __init__(self, source: SteeredSource, context: EnumeratorContext) -> None:
        self.source = source
        self.context = context
        self.limits: list[ReadLimit] = []
        self.committed_positions: list[Position] = []
        self.asked = 0
        self.begun = 0
        self.closed = 0

    def begin(self) -> None:
        self.begun += 1

    def start(self) -> None:
        if self.source.fail_at == "start":
            raise ConnectionRefusedError("nobody listens on port 9999")

    def initial(self) -> Position:
        return self.at(dict.fromkeys(self.source.available, self.source.begin))

    def at(self, counts: dict[str, int], done: bool = False) -> Position:
        splits = {
            split: {
                "at": at,
                "subtask": index % self.context.parallelism,
                "done": split in self.source.done_splits and at == self.source.available[split],
            }
            for index, (split, at) in enumerate(counts.items())
        }
        return {"splits": splits, "done": done}

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        self.asked += 1
        if self.source.fail_at == "latest":
            raise OSError("the disk is gone")
        self.limits.append(limit)
        left = limit.max_records
        counts = {}
        for split, available in self.source.available.items():
            at = start["splits"].get(split, {"at": 0})["at"]
            counts[split] = min(available, at + left)
            left -= counts[split] - at
        return self.at(counts, done=self.source.ended and counts == self.source.available)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        if self.source.fail_at == "plan":
            raise OSError("the disk is gone")
        lists: list[list[SplitRange]] = [[] for _ in range(self.context.parallelism)]
        for split, entry in end["splits"].items():
            at = start["splits"].get(split, {"at": 0})["at"]
            if entry["at"] > at:
                lists[entry["subtask"]].append(SplitRange(split, at, entry["at"]))
        return lists

    def committed(self, position: Position) -> None:
        self.committed_positions.append(position)

    def next_wakeup(self) -> int | None:
        return self.source.wakeup

    def close(self) -> None:
        self.closed += 1
        if self.source.fail_at == "close":
            raise OSError("already closed")


class SteeredSource(Source):
    """Numbered records; a test says how many each split has by now."""

    def __init__(self, **available: int) -> None:
        self.available = available
        self.begin = 0
        self.ended = False
        self.done_splits: set[str] = set()
        self.fail_at: str | None = None
        self.wakeup: int | None = None
        self.enumerator: SteeredEnumerator

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        self.enumerator = SteeredEnumerator(self, context)
        return self.enumerator

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        yield SourceBatch(list(range(split_range.start, split_range.end)))


class SteeredSink(Sink, Committer):
    """Remember what was published; the same object outlives restarts."""

    def __init__(self) -> None:
        self.published: list[tuple[int, list[bytes]]] = []
        self.contexts: list[CommitterContext] = []
        self.fail_at_batch: int | None = None
        self.fail_at = ""
        #: The batches that were published when it was told that a restart is done with them.
        self.recovered_with: list[list[int]] = []
        self.closed = 0

    def create_writer(self, context: WriterContext) -> SinkWriter:
        raise AssertionError("no task runs in these tests")

    def create_committer(self, context: CommitterContext) -> Committer:
        self.contexts.append(context)
        return self

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if batch_id == self.fail_at_batch:
            raise PermissionError("read-only database")
        self.published.append((batch_id, [c.payload for c in committables]))

    def recovered(self) -> None:
        if self.fail_at == "recover":
            raise OSError("the disk is gone")
        self.recovered_with.append([batch_id for batch_id, _ in self.published])

    def close(self) -> None:
        self.closed += 1


#: Into the sinks: it only tells them from sources.
EDGE = PlanEdge(1, 1, 90, 0, Forward(), crosses=False, name="edge")


def operator(
    number: int, spec: OperatorSpec, *, parallelism: int = 1, name: str | None = None
) -> PlanOperator:
    return PlanOperator(
        id=number,
        uid=f"uid {number}",
        name=name or type(spec).__name__,
        spec=spec,
        parallelism=parallelism,
        max_parallelism=128,
        level=0,
        site=SITE,
        inputs=() if isinstance(spec, SourceSpec) else (EDGE,),
        outputs=(),
        origin=1,
    )


def plan_of(
    *sources: SteeredSource,
    sink: SteeredSink | None = None,
    parallelism: int = 1,
) -> ExecutionPlan:
    """Return a plan: sources 1, 2 ..., a sink 90."""
    operators = [
        operator(n, SourceSpec(source), parallelism=parallelism, name=f"numbers-{n}")
        for n, source in enumerate(sources, 1)
    ]
    if sink is not None:
        operators.append(operator(90, SinkSpec(sink), name="archive"))
    return ExecutionPlan("job", tuple(operators), slots=1, levels=1)


def output(*texts: str) -> BatchReport:
    return BatchReport(committables={"uid 90": [Committable(0, text.encode()) for text in texts]})


def collect(payloads: Iterable[bytes], plan: ExecutionPlan) -> BatchReport:
    reports = [pickle.loads(payload) for payload in payloads]
    return reports[0] if reports else BatchReport()


@dataclass
class Engine:
    """Do what the engine does: ask, log the offset, plan, run, commit, log the commit.

    Its logs outlive `restart`, which stands for the death of the process.
    """

    plan: ExecutionPlan
    directory: Path
    clock: Clock = field(default_factory=Clock)
    options: dict[str, Any] = field(default_factory=dict)
    #: What the tasks of a batch report, called with the planned reads.
    work: Callable[[list[BatchRead]], BatchReport] = lambda reads: BatchReport()
    #: Wait until what is logged is published before going on.
    patient: bool = True
    offsets: list[str] = field(default_factory=list)
    committed: int = -1
    coordinator: Coordinator = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self, **options: Any) -> Coordinator:
        self.coordinator = Coordinator(
            self.plan,
            str(self.directory),
            job_id="job-1",
            last_committed=None if self.committed < 0 else self.committed,
            clock=self.clock,
            collect_report=collect,
            **{"poll_ms": 0, "settings": {}, **self.options, **options},
        )
        self.coordinator.start()
        return self.coordinator

    def start_offset(self) -> Offset:
        if self.committed < 0:
            return json.loads(json.dumps(self.coordinator.initial_offset()))
        return json.loads(self.offsets[self.committed])

    def ask(self) -> bool:
        """Ask for a new offset and log it; an offset that was logged already is kept."""
        if len(self.offsets) == self.committed + 1:
            start = self.start_offset()
            text = json.dumps(self.coordinator.latest_offset(start))
            if self.patient:
                self.coordinator.wait_until_published()
            if text == json.dumps(start):
                return False
            self.offsets.append(text)
        return True

    def end_offset(self) -> Offset:
        return json.loads(self.offsets[-1])

    def plan_batch(self) -> list[BatchRead]:
        return self.coordinator.plan_batch(self.start_offset(), self.end_offset())

    def run(self) -> list[BatchRead]:
        """Run the tasks of the logged offset and commit, but do not log the commit."""
        reads = self.plan_batch()
        self.coordinator.commit(len(self.offsets) - 1, [pickle.dumps(self.work(reads))])
        return reads

    def batch(self) -> list[BatchRead] | None:
        """Run a whole batch; None if there is nothing to do."""
        if not self.ask():
            return None
        reads = self.run()
        self.committed += 1
        return reads

    def batches(self, most: int = 100) -> int:
        """Run batches until there is nothing to do; return how many."""
        return next(n for n in range(most) if self.batch() is None)
