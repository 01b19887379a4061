"""The source's own part of a level-0 task: read ranges, stamp records, merge splits' watermarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.options import TIME_CHARACTERISTIC, WATERMARK_RECORDS
from penstock.core.io import BatchRead, ReaderContext, SourceBatch, SourceReader, SplitRange
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.operators.base import Operator
from penstock.runtime.watermarks import WatermarkSource

#: Stands among the splits of a subtask that has none.
_NO_SPLIT = ""


class SourceOperator(Operator):
    """Feed a subtask's share of a batch into the task."""

    one_to_one = True
    _read_records = 0
    _read_bytes = 0

    def open(self) -> None:
        """Prepare to read."""
        super().open()
        self._reader: SourceReader | None = None
        self._splits: dict[str, WatermarkSource] = {}
        self._interval = self.context.setting(WATERMARK_RECORDS)
        self._ingestion = self.context.setting(TIME_CHARACTERISTIC) == "IngestionTime"
        self._idle = False

    @property
    def receives(self) -> bool:
        """Tell whether records have processing times of their own."""
        return bool(self.spec.source.receives)

    def take_read(self) -> tuple[int, int]:
        """Return how many records and bytes have been read since the last call."""
        read = self._read_records, self._read_bytes
        self._read_records = self._read_bytes = 0
        return read

    def alignment(self) -> int | None:
        """Return how far the source is, for those that are aligned with it; None if it is not.

        The largest watermark of all if nobody must wait for it.
        """
        if getattr(self.spec.strategy, "alignment", None) is None:
            return None
        return MAX_WATERMARK if self._idle or self.finished else self.watermark

    def run(self, read: BatchRead) -> None:
        """Read the ranges of a batch and send their records on."""
        if self.finished:
            self.reach_time(read.time)
            return
        if self.spec.strategy is not None:
            self._take_splits([part.split for part in read.ranges], read.splits)
        if read.ranges:
            self._read(read.ranges, read.time)
        self.reach_time(read.time)
        if not read.ended:  # at the end the last watermark follows, as in Flink, unasked
            for marks in self._splits.values():
                marks.end_batch()
        if self.spec.strategy is None and read.idle is not self._idle:
            self._idle = read.idle
            self.output.set_idle(self._idle)
        if self._ingestion:
            self._advance(self.scope.time - 1)  # the next batch may have the same time
        if read.ended:
            self.watermark = MAX_WATERMARK
            self.output.watermark(MAX_WATERMARK)
            self.finish_input()

    def _read(self, ranges: list[SplitRange], until: int) -> None:
        reader = self._open_reader()
        reader.prepare(ranges)
        for number, part in enumerate(ranges):
            for batch in reader.read(part):
                if batch.time is not None:
                    self.reach_time(min(batch.time, until))
                self._feed(part, batch)
            if part.last and all(part.split != rest.split for rest in ranges[number + 1 :]):
                self._splits.pop(part.split, None)
                self._changed()

    def _open_reader(self) -> SourceReader:
        if self._reader is None:
            context = ReaderContext(
                self.subtask,
                self.plan.parallelism,
                uid=self.plan.uid,
                job_id=self.context.get_job_id(),
                operator=self.plan.name,
                metrics=self.context.get_metrics_group(),
            )
            reader = self.spec.source.create_reader(context)
            reader.open()
            self._reader = reader
        return self._reader

    def close(self) -> None:
        """Close the reader."""
        super().close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _take_splits(self, read: list[str], going_on: tuple[str, ...]) -> None:
        """Have a generator for every split of this subtask: a silent one holds it back.

        With no split at all the subtask itself stands in for one, so that it can go idle.
        """
        wanted = dict.fromkeys([*read, *going_on]) or {_NO_SPLIT: None}
        if wanted.keys() != self._splits.keys():
            self._splits = {split: self._marks_of(split) for split in wanted}
            self._changed()
        for marks in self._splits.values():
            marks.begin_batch()

    def _feed(self, part: SplitRange, batch: SourceBatch) -> None:
        self._read_bytes += batch.size
        start = 0
        for position, watermark in batch.marks:
            self._send(part, batch, start, position)
            self._advance(watermark)
            start = position
        self._send(part, batch, start, len(batch.values))

    def _send(self, part: SplitRange, batch: SourceBatch, start: int, end: int) -> None:
        if start == end:
            return
        self._read_records += end - start
        values: Any = batch.values if end - start == len(batch.values) else batch.values[start:end]
        if batch.timestamps is None:
            self.scope.timestamp = self.scope.time if self._ingestion else None
        else:
            values = self._timed(values, batch.timestamps[start:end])
        if self.spec.strategy is not None:
            values = self._marks_of(part.split).stamp(values)
        self.emit_all(values)

    def _timed(self, values: list[Any], timestamps: list[Any]) -> Iterator[Any]:
        scope = self.scope
        for value, scope.timestamp in zip(values, timestamps, strict=True):
            yield value

    def _marks_of(self, split: str) -> WatermarkSource:
        marks = self._splits.get(split)
        if marks is None:
            strategy = self.spec.strategy
            marks = WatermarkSource(
                self.plan, strategy, self.scope, self._interval, self._changed, self.context.metrics
            )
            self._splits[split] = marks
        return marks

    def _changed(self) -> None:
        if not self._splits:
            return
        live = [marks for marks in self._splits.values() if not marks.idle]
        idle = not live
        if idle is not self._idle:
            self._idle = idle
            self.output.set_idle(idle)
        self._advance(min((marks.watermark for marks in live), default=MIN_WATERMARK))

    def _advance(self, watermark: int) -> None:
        if watermark > self.watermark and not self.batch_mode:
            self.watermark = watermark
            self.output.watermark(watermark)

    def next_processing_time(self) -> int | None:
        """Return when the next split becomes idle if nothing comes."""
        if self.finished:
            return None
        due = (marks.idle_at() for marks in self._splits.values())
        return min((time for time in due if time is not None), default=None)

    def snapshot(self) -> dict[str, Any]:
        """Return what the next batch must know."""
        splits = {split: marks.snapshot() for split, marks in self._splits.items()}
        return {**super().snapshot(), "splits": splits, "idle": self._idle}

    def restore(self, state: dict[str, Any]) -> None:
        """Undo `snapshot`."""
        super().restore(state)
        self._splits = {split: self._marks_of(split) for split in state["splits"]}
        for split, saved in state["splits"].items():
            self._splits[split].restore(saved)
        self._idle = state["idle"]
