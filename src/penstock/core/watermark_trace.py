"""The watermark trace: what an operator notes of each record, and where it sends it.

A traced operator has a side output of its own for its trace; a sink on it shows the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.common.watermark import MIN_WATERMARK

#: Tag id of the side output that a trace leaves by.
TRACE_TAG = "\0watermark-trace"


class FiredWindow(NamedTuple):
    """A window that fired. Windows that are not of time have no start and end."""

    key: Any
    start: int | None
    end: int | None


class TraceRow(NamedTuple):
    """One record, and how time stood behind it: in front of the record that follows."""

    #: What happened: a record (True), or only time passed.
    is_record: bool
    key: Any = None
    timestamp: int | None = None
    #: The largest timestamp up to now.
    maximum: int | None = None
    watermark: int = MIN_WATERMARK
    #: Windows that fired because of the record, or of the watermark that followed it.
    fired: tuple[FiredWindow, ...] = ()
    #: Whether the record was too late for all its windows.
    late: bool = False
    subtask: int = 0
