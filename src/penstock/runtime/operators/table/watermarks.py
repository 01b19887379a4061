"""WATERMARK FOR: watermarks from an expression over each row."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from penstock.common.flink_options import AUTO_WATERMARK_INTERVAL
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.errors import MissingTimestampError, show_value
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.operators.table.timed import row_time

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)


class RowWatermarkOperator(Operator):
    """Send rows on, and a watermark behind each that raises it by more than the interval.

    What is left is sent at the end of the batch. Watermarks from upstream end here.
    """

    def open(self) -> None:
        """Load the expression."""
        self._calc = load_program(self, self.spec.program)["calc"]
        interval = self.context.setting(AUTO_WATERMARK_INTERVAL)
        self._interval = 200 if interval is None else interval.to_millis()
        self._highest = MIN_WATERMARK
        super().open()

    def process(self, value: Any) -> None:
        """Take one row."""
        self.process_all([value])

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many rows."""
        rows = values if type(values) is list else list(values)
        marks = [mark for (mark,) in self._calc(rows)]
        time, start, due = self.spec.time, 0, self._due(marks)
        for i, (mark, row) in enumerate(zip(marks, rows, strict=True)):
            if row[time] is None:
                raise self._missing(row)
            if due is not None and mark is not None and mark >= due:
                self.emit_all(rows[start : i + 1])
                start = i + 1
                self._highest = row_time(mark)
                self._send(self._highest)
                due = self._due(marks)
        if start < len(rows):
            self.emit_all(rows[start:] if start else rows)
        highest = max((mark for mark in marks if mark is not None), default=None)
        if highest is not None:
            self._highest = max(self._highest, row_time(highest))

    def _due(self, marks: list[Any]) -> datetime.datetime | None:
        """Return from which mark on a watermark is sent, None if none of these is high enough.

        Rows are compared with it as they are: to count the milliseconds of each takes longer.
        """
        some = next((mark for mark in marks if mark is not None), None)
        if self.batch_mode or some is None:
            return None
        epoch = _EPOCH if some.tzinfo is None else _UTC_EPOCH
        try:
            return epoch + (self.watermark + self._interval + 1) * _MS
        except OverflowError:  # no watermark yet, or the last one
            return None if self.watermark > 0 else datetime.datetime.min.replace(tzinfo=some.tzinfo)

    def _send(self, watermark: int) -> None:
        self.watermark = watermark
        self.output.watermark(watermark)

    def end_batch(self) -> None:
        """Send the watermark of the last rows."""
        if self._highest > self.watermark and not self.batch_mode and not self.finished:
            self._send(self._highest)

    def advance_watermark(self, watermark: int) -> None:
        """Let only the end of all time pass."""
        if watermark == MAX_WATERMARK:
            self._send(watermark)

    def _missing(self, row: Any) -> MissingTimestampError:
        return MissingTimestampError(
            "a rowtime column is NULL",
            where=self.plan.describe(),
            got=show_value(row),
            todo="filter such rows out in front, or give the column a value",
        )

    def snapshot(self) -> dict[str, Any]:
        """Return what the next batch must know."""
        return {**super().snapshot(), "highest": self._highest}

    def restore(self, state: dict[str, Any]) -> None:
        """Undo `snapshot`."""
        super().restore(state)
        # A subtask that is new at another parallelism has nothing of its own.
        self._highest = state.get("highest", MIN_WATERMARK)
