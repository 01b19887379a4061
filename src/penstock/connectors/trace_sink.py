"""Show a watermark trace: as a table while the job runs, and as a timeline when it ends."""

from __future__ import annotations

import pickle
import sys
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.status_line import STATUS
from penstock.common.watermark import MAX_WATERMARK, MIN_WATERMARK
from penstock.connectors.journal import LastBatch
from penstock.connectors.trace_timeline import write_timeline
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.core.watermark_trace import FiredWindow, TraceRow

_HEADINGS = ("key", "event time", "current maximum", "watermark", "window start", "window end", "")
_WIDTHS = (10, 33, 23, 23, 24, 24, 0)
#: A timestamp below this is shown as a number only: it is no time of today.
_FIRST_DATE = 86_400_000 * 365
#: Rows that a timeline shows at most; later ones are left out of it.
_LONGEST_TIMELINE = 2000


class TraceSink(Sink):
    """Print the trace of one operator.

    :param operator: its name, shown above the table.
    :param timeline: file for a drawing, `.html` or `.png`, or None.
    :param zone: time zone that times are shown in; that of the user's process if left out.
    """

    def __init__(self, operator: str, timeline: str | None = None, zone: str | None = None) -> None:
        self._operator = operator
        self._timeline = timeline
        self._zone = zone

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer()

    def create_committer(self, context: CommitterContext) -> Committer:
        zone = None if self._zone is None else ZoneInfo(self._zone)
        return _Committer(context, self._operator, self._timeline, zone)


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        # The user's keys stay here: his process may not be able to load them.
        fired = tuple(window._replace(key=str(window.key)) for window in value.fired)
        key = str(value.key) if value.is_record else ""
        self._rows.append(tuple(value._replace(key=key, fired=fired)))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        rows, self._rows = self._rows, []
        return [pickle.dumps(rows)] if rows else []


class _Committer(Committer):
    def __init__(
        self,
        context: CommitterContext,
        operator: str,
        timeline: str | None,
        zone: tzinfo | None,
    ) -> None:
        self._published = LastBatch(context.directory, fresh=not context.restored)
        self._operator = operator
        self._timeline = timeline
        self._shown: list[TraceRow] = []
        self._several = context.parallelism > 1
        self._zone = zone
        self._started = False

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        rows = [
            TraceRow(*row)
            for committable in sorted(committables, key=lambda each: each.subtask)
            for row in pickle.loads(committable.payload)
        ]
        if rows and not self._started:
            self._started = True
            STATUS.clear()
            sys.stdout.write(f"watermark trace of {self._operator}\n{table_head()}\n")
        for row in rows:
            lines = table_lines(row, self._several, self._zone)
            STATUS.clear()
            sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._shown += rows[: _LONGEST_TIMELINE - len(self._shown)]
        self._published.advance(batch_id)

    def close(self) -> None:
        if self._timeline is not None and self._shown:
            write_timeline(self._shown, Path(self._timeline), self._operator)


def table_head() -> str:
    """Return the first two lines of the table."""
    heading = _line(_HEADINGS)
    return f"{heading}\n{'-' * len(heading)}"


def table_lines(row: TraceRow, several: bool = False, zone: tzinfo | None = None) -> list[str]:
    """Return a row of the trace as lines: one, or one for each window that fired.

    :param several: whether rows of several subtasks are shown.
    :param zone: time zone of dates; the local one if left out.
    """
    note = "late" if row.late else ""
    if several:
        note = f"subtask {row.subtask + 1} {note}".rstrip()
    event_time = show_time(row.timestamp, zone)
    if row.timestamp is not None and event_time != str(row.timestamp):
        event_time = f"{row.timestamp} {event_time}"
    times = (event_time, show_time(row.maximum, zone), show_time(row.watermark, zone))
    first, *others = row.fired or (None,)
    lines = [_line((row.key or "", *times, *_bounds(first, zone), note))]
    lines += [_line(("", "", "", "", *_bounds(window, zone), "")) for window in others]
    return lines


def _bounds(window: FiredWindow | None, zone: tzinfo | None) -> tuple[str, str]:
    if window is None:
        return "", ""
    if window.start is None:
        return "(fired)", ""
    return f"[{show_time(window.start, zone)}", f"{show_time(window.end, zone)})"


def _line(cells: tuple[str, ...]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)]
    return " | ".join(padded).rstrip()


def show_time(time: int | None, zone: tzinfo | None = None) -> str:
    """Return a time as the trace shows it: a date, or else milliseconds.

    >>> show_time(10000)
    '10000'
    """
    if time is None or time == MIN_WATERMARK:
        return "-"
    if time == MAX_WATERMARK:
        return "end"
    if not _FIRST_DATE < time < MAX_WATERMARK >> 10:
        return str(time)
    moment = datetime.fromtimestamp(time // 1000, zone)
    milliseconds = f".{time % 1000:03}" if time % 1000 else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{milliseconds}"
