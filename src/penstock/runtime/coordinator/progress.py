"""How far a job is, for people who wait: made of what the coordinator has recorded anyway."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import SourceSpec, TimestampsSpec
from penstock.runtime.coordinator.offsets import Offset, ended_sources
from penstock.runtime.coordinator.records import BatchRecord, JobState
from penstock.runtime.coordinator.sources import HostedSource

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_BAR = 10


@dataclass(frozen=True)
class JobProgress:
    """Facts as of the last recorded batch."""

    #: Read by all sources; with a source whose position is no number of records (files, Kafka),
    #: since this attempt began. None if nothing is known.
    records: int | None = None
    #: Of all that will be read, from 0 to 1; None if one of the sources does not know its size.
    share: float | None = None
    #: The lowest watermark of the sources that have not ended; None if there is none yet.
    watermark: int | None = None

    def describe(self, batches: int, seconds: int) -> str:
        """Say it in one line that fits on 80 columns: the bar takes the place of the clock.

        :param batches: how many have ended.
        :param seconds: how long the job has been running.

        >>> JobProgress(records=1200, share=0.25, watermark=1_700_000_000_000).describe(3, 75)
        '[##--------] batch 3, 1,200 records, watermark 2023-11-14 22:13:20, 16/s'
        """
        facts = [f"batch {batches}" if batches else "the first batch"]
        if self.records is not None:
            facts.append(f"{self.records:,} records")
        if self.watermark is not None:
            facts.append(f"watermark {_as_time(self.watermark)}")
        if self.records is not None and seconds:
            # The last: a narrow terminal cuts it off first.
            facts.append(f"{self.records // seconds:,}/s")
        if self.share is not None:
            return f"{_bar(self.share)} {', '.join(facts)}"
        return ", ".join([*facts, f"{seconds // 60}:{seconds % 60:02}"])


def progress_of(
    plan: ExecutionPlan,
    sources: Mapping[str, HostedSource],
    initial: Offset | None,
    record: BatchRecord | None,
    read: int = 0,
) -> JobProgress:
    """Return how far a job is.

    :param read: records that the tasks have counted since this attempt began.
    """
    if initial is None or record is None or any(op.uid not in sources for op in plan.sources()):
        return JobProgress()
    found = [
        source.progress(initial["sources"][uid], record.end["sources"][uid])
        for uid, source in sources.items()
    ]
    records = [each.records for each in found if each.records is not None]
    shares = [each.share for each in found if each.share is not None]
    marks = list(_watermarks(plan, record))
    return JobProgress(
        sum(records) if len(records) == len(found) else read or None,
        sum(shares) / len(shares) if len(shares) == len(found) and _is_bounded(plan) else None,
        min(marks) if marks and MIN_WATERMARK < min(marks) < MAX_WATERMARK else None,
    )


def _is_bounded(plan: ExecutionPlan) -> bool:
    specs = [operator.spec for operator in plan.sources()]
    return all(isinstance(spec, SourceSpec) and spec.source.bounded for spec in specs)


def _watermarks(plan: ExecutionPlan, record: BatchRecord) -> Iterator[int]:
    ended = ended_sources(record.end)
    for source in plan.sources():
        # Where event time begins: in operators behind the source, else in the source itself.
        level0 = [op for op in plan.at_level(0) if op.origin == source.id]
        begin = [op for op in level0 if isinstance(op.spec, TimestampsSpec)]
        if not begin and isinstance(source.spec, SourceSpec) and source.spec.strategy is not None:
            begin = [source]
        if source.uid not in ended:
            for subtask in range(source.parallelism):
                yield from _marks(record.state, source, subtask, begin)


def _marks(
    state: JobState, source: PlanOperator, subtask: int, operators: list[PlanOperator]
) -> Iterator[int]:
    data = state.level0.get((source.uid, subtask))
    _, plain = ((), {}) if data is None else pickle.loads(data)
    for operator in operators:
        saved = plain.get((operator.uid,))
        own = {} if saved is None else pickle.loads(saved)[0]
        if not own.get("idle"):
            yield own.get("time", (MIN_WATERMARK, False))[0]


def _as_time(millis: int) -> str:
    """Return a time in UTC; as it is if no calendar has it."""
    try:
        time = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return str(millis)
    return time.strftime("%Y-%m-%d %H:%M:%S")


def _bar(share: float) -> str:
    filled = int(min(max(share, 0.0), 1.0) * _BAR)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}]"
