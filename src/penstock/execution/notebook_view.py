"""What a notebook shows of a job: a small table, which follows the job until it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from html import escape
from importlib import import_module
from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.execution.facts.metric_values import task_values
from penstock.execution.facts.snapshot import JobSnapshot, VertexFacts

#: How often the view is drawn anew.
_SECONDS = 1.0
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Colours that can be read on light and on dark ground.
_COLOURS = {"RUNNING": "#2e8b57", "FINISHED": "#4682b4", "FAILED": "#c0392b", "FAILING": "#c0392b",
            "RESTARTING": "#c77700"}  # fmt: skip
_CELL = "padding:2px 10px 2px 0;text-align:{};white-space:nowrap"


def to_html(job: JobSnapshot) -> str:
    """Return a job as a piece of HTML, which brings no styles or scripts into the page."""
    colour = _COLOURS.get(job.state, "#777777")
    end = job.end_time if job.end_time >= 0 else job.at
    seconds = max(end - job.start_time, 0) // 1000
    facts = [f"{seconds // 60}:{seconds % 60:02}", f"{job.batch_count:,} batches"]
    if job.attempt:
        facts.append(f"{job.attempt} restarts")
    if job.checkpoints.history:
        facts.append(f"state {_bytes(job.checkpoints.history[-1].state_size)}")
    rows = "".join(_row(vertex) for vertex in job.vertices)
    head = "".join(
        f'<th style="{_CELL.format(side)}">{text}</th>'
        for text, side in (("task", "left"), ("subtasks", "right"), ("in", "right"),
                           ("out", "right"), ("in /s", "right"), ("busy", "right"),
                           ("watermark", "left"))
    )  # fmt: skip
    return (
        f'<div class="penstock-job"><div><b>{escape(job.name)}</b> '
        f'<span style="color:#fff;background:{colour};border-radius:3px;padding:0 6px">'
        f"{escape(job.state)}</span> {escape(', '.join(facts))} "
        f'<span style="opacity:.6">{escape(job.job_id)}</span></div>'
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{_failure(job)}</div>"
    )


def show_live(ask: Callable[[], JobSnapshot | None]) -> bool:
    """Show a job in the cell that is running, and follow it; return whether that was possible.

    :param ask: returns what is known of the job.
    """
    first = ask()
    try:
        ipython: Any = import_module("IPython.display")
    except ImportError:
        return False
    if first is None:
        return False
    shown = ipython.display(ipython.HTML(to_html(first)), display_id=True)
    if shown is not None and first.end_time < 0:
        threading.Thread(
            target=_follow, args=(shown, ipython.HTML, ask), name="penstock-view", daemon=True
        ).start()
    return True


def _follow(shown: Any, html: Callable[[str], Any], ask: Callable[[], JobSnapshot | None]) -> None:
    pause = threading.Event()
    running = True
    while running:
        pause.wait(_SECONDS)
        job = ask()
        if job is None:
            return
        running = job.end_time < 0
        shown.update(html(to_html(job)))


def _row(vertex: VertexFacts) -> str:
    readings = [task_values(vertex, index) for index in range(vertex.parallelism)]
    busy = max((one["busyTimeMsPerSecond"] for one in readings), default=0.0)
    cells = [
        (vertex.name if len(vertex.name) <= 60 else f"{vertex.name[:59]}\u2026", "left"),
        (str(vertex.parallelism), "right"),
        (f"{sum(one['numRecordsIn'] for one in readings):,.0f}", "right"),
        (f"{sum(one['numRecordsOut'] for one in readings):,.0f}", "right"),
        (f"{sum(one['numRecordsInPerSecond'] for one in readings):,.0f}", "right"),
        (f"{busy / 10:.0f} %", "right"),
        (_watermark(vertex), "left"),
    ]
    return "<tr>" + "".join(
        f'<td style="{_CELL.format(side)}">{escape(text)}</td>' for text, side in cells
    ) + "</tr>"  # fmt: skip


def _watermark(vertex: VertexFacts) -> str:
    marks = [one.output_watermark for one in vertex.operators[-1].subtasks]
    known = [mark for mark in marks if mark is not None]
    if len(known) < len(marks) or not known:
        return "\u2013"
    if min(known) == MAX_WATERMARK:
        return "ended"
    try:
        return (_EPOCH + timedelta(milliseconds=min(known))).strftime("%Y-%m-%d %H:%M:%S")
    except OverflowError:
        return str(min(known))


def _failure(job: JobSnapshot) -> str:
    if not job.failures:
        return ""
    last = job.failures[-1]
    where = f" in {last.operator_name}" if last.operator_name else ""
    place = f", {last.file}:{last.line}" if last.file else ""
    text = f"{last.root_type}: {last.root_message}{where}{place}"
    return f'<div style="color:#c0392b">{escape(text)}</div>'


def _bytes(size: int) -> str:
    """Return a size for people.

    >>> _bytes(900), _bytes(5_300_000)
    ('900 B', '5.3 MB')
    """
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1000, 0
    while value >= 1000 and unit < 3:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {('KB', 'MB', 'GB', 'TB')[unit]}"
