"""assign_timestamps_and_watermarks: event time begins here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.options import WATERMARK_RECORDS
from penstock.core.time import MAX_WATERMARK
from penstock.runtime.operators.base import Operator
from penstock.runtime.watermarks import WatermarkSource


class TimestampsOperator(Operator):
    """Give records timestamps and make watermarks. Watermarks from upstream end here."""

    one_to_one = True

    def open(self) -> None:
        """Make the generator."""
        super().open()
        interval = self.context.setting(WATERMARK_RECORDS)
        self._marks = WatermarkSource(
            self.plan, self.spec.strategy, self.scope, interval, self._changed, self.context.metrics
        )
        self._idle = False

    def begin_batch(self) -> None:
        """Prepare for a batch."""
        self._marks.begin_batch()

    def process(self, value: Any) -> None:
        """Take one record."""
        self.process_all((value,))

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        before = self.scope.timestamp
        self.emit_all(self._marks.stamp(values))
        self.scope.timestamp = before

    def end_batch(self) -> None:
        """Ask the generator at the end of the batch."""
        if not self.finished:
            self._marks.end_batch()

    def next_processing_time(self) -> int | None:
        """Return when the stream becomes idle if nothing comes."""
        return None if self.finished else self._marks.idle_at()

    def _changed(self) -> None:
        if self._marks.idle is not self._idle:
            self._idle = self._marks.idle
            self.output.set_idle(self._idle)
        if self._marks.watermark > self.watermark and not self.batch_mode:
            self.watermark = self._marks.watermark
            self.output.watermark(self.watermark)

    def advance_watermark(self, watermark: int) -> None:
        """Let only the end of all time pass."""
        if watermark == MAX_WATERMARK:
            self.watermark = watermark
            self.output.watermark(watermark)

    def change_idle(self, idle: bool) -> None:
        """Idleness is decided here, by records."""

    def snapshot(self) -> dict[str, Any]:
        """Return what the next batch must know."""
        return {**super().snapshot(), "marks": self._marks.snapshot(), "idle": self._idle}

    def restore(self, state: dict[str, Any]) -> None:
        """Undo `snapshot`."""
        super().restore(state)
        self._marks.restore(state["marks"])
        self._idle = state["idle"]
