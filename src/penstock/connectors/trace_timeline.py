"""Draw a watermark trace: records and the watermark over event time, in the order of arrival."""

from __future__ import annotations

import importlib
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from penstock.common.watermark import MAX_WATERMARK, MIN_WATERMARK
from penstock.core.watermark_trace import TraceRow
from penstock.errors import ConfigurationError

_STEP, _HEIGHT, _MARGIN, _MIN_WIDTH = 26, 420, 70, 560
_COLOURS = ("#2166ac", "#b2182b", "#1b7837", "#762a83", "#e08214", "#01665e", "#c51b7d", "#4d4d4d")


def check_timeline(path: str) -> None:
    """Complain early about a file that cannot become a timeline.

    :raises ConfigurationError: if its name ends neither with .html nor with .png, or a PNG cannot
        be drawn here.
    """
    suffix = Path(path).suffix
    if suffix not in (".html", ".png"):
        raise ConfigurationError(
            "a timeline is written as HTML or PNG",
            where="enable_watermark_trace(timeline=...)",
            got=repr(path),
            todo="end the file's name with .html or .png",
        )
    if suffix == ".png" and find_spec("matplotlib") is None:
        raise ConfigurationError(
            "a timeline as PNG needs matplotlib",
            where="enable_watermark_trace(timeline=...)",
            got=repr(path),
            todo="pip install penstock[plot], or end the file's name with .html",
        )


def write_timeline(rows: list[TraceRow], path: Path, title: str) -> None:
    """Write a drawing of the trace; its suffix says which kind."""
    if path.suffix == ".png":
        _write_png(rows, path, title)
    else:
        page = f"<!doctype html><meta charset='utf-8'><title>{escape(title)}</title>"
        path.write_text(f"{page}\n{to_svg(rows, title)}\n", encoding="utf-8")


def _times(rows: list[TraceRow]) -> list[int]:
    times = [row.timestamp for row in rows if row.timestamp is not None]
    times += [row.watermark for row in rows if MIN_WATERMARK < row.watermark < MAX_WATERMARK]
    bounds = [time for row in rows for window in row.fired for time in window[1:]]
    return times + [time for time in bounds if time is not None]


def _colour_of(rows: list[TraceRow]) -> dict[str, str]:
    keys = dict.fromkeys(row.key for row in rows if row.is_record)
    return {key: _COLOURS[i % len(_COLOURS)] for i, key in enumerate(keys)}


class _Scale:
    """Where a row and a time stand in the drawing."""

    def __init__(self, rows: list[TraceRow]) -> None:
        times = _times(rows) or [0]
        self.low, self.high = min(times), max(times)
        self.width = max(2 * _MARGIN + _STEP * len(rows), _MIN_WIDTH)

    def ticks(self) -> range:
        """Return round distances from the first time on, six or seven at most."""
        span = self.high - self.low
        steps = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
        return range(0, span + 1, next(step for step in steps if 6 * step >= span))

    def x(self, index: float) -> float:
        return _MARGIN + _STEP * (index + 0.5)

    def y(self, time: int) -> float:
        share = (min(max(time, self.low), self.high) - self.low) / ((self.high - self.low) or 1)
        return _MARGIN / 2 + _HEIGHT * (1 - share)


def to_svg(rows: list[TraceRow], title: str) -> str:
    """Return the trace as SVG.

    Records are dots (hollow if late), the watermark is a line in steps, and a window that fired is
    a bar at the place where it did.
    """
    scale = _Scale(rows)
    colours = _colour_of(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{scale.width}" height="{_HEIGHT + 110}" '
        'style="font: 12px sans-serif">',
        f'<text x="{_MARGIN}" y="16">{escape(title)}: event time over the order of arrival</text>',
        *_svg_axis(scale),
        *(_svg_window(scale, i, window) for i, row in enumerate(rows) for window in row.fired),
        _svg_watermark(scale, rows),
        *(_svg_record(scale, colours, i, row) for i, row in enumerate(rows) if row.is_record),
        *_svg_legend(colours),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _svg_axis(scale: _Scale) -> list[str]:
    marks = [(tick, scale.y(scale.low + tick)) for tick in scale.ticks()]
    return [
        f'<line x1="{_MARGIN}" x2="{scale.width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        f'<text x="2" y="{y + 4:.1f}" fill="#666">{tick} ms</text>'
        for tick, y in marks
    ] + [f'<text x="2" y="{_HEIGHT + 62}" fill="#666">times are from {scale.low} ms on</text>']


def _svg_window(scale: _Scale, index: int, window: Any) -> str:
    if window.start is None:
        return ""
    top, bottom = scale.y(window.end), scale.y(window.start)
    label = f"window [{window.start}, {window.end}) of {window.key}"
    return (
        f'<rect x="{scale.x(index) + 5:.1f}" y="{top:.1f}" width="9" height="{bottom - top:.1f}" '
        f'fill="#fdb863" stroke="#b35806"><title>{escape(label)}</title></rect>'
    )


def _svg_watermark(scale: _Scale, rows: list[TraceRow]) -> str:
    points: list[str] = []
    for i, row in enumerate(rows):
        if row.watermark > MIN_WATERMARK:
            y = scale.y(row.watermark)
            points += [f"{scale.x(i):.1f},{y:.1f}", f"{scale.x(i + 1):.1f},{y:.1f}"]
    line = " ".join(points)
    return f'<polyline points="{line}" fill="none" stroke="#333" stroke-width="2"/>' if line else ""


def _svg_record(scale: _Scale, colours: dict[str, str], index: int, row: TraceRow) -> str:
    if row.timestamp is None:
        return ""
    colour = colours[row.key]
    label = f"{row.key} at {row.timestamp}, watermark behind it {row.watermark}"
    fill = "white" if row.late else colour
    return (
        f'<circle cx="{scale.x(index):.1f}" cy="{scale.y(row.timestamp):.1f}" r="5" '
        f'fill="{fill}" stroke="{colour}"><title>{escape(label)}</title></circle>'
    )


def _svg_legend(colours: dict[str, str]) -> list[str]:
    y = _HEIGHT + 84
    parts = [
        f'<text x="{_MARGIN}" y="{y}">line: watermark; bar: window that fired; hollow: late</text>'
    ]
    x = _MARGIN
    for key, colour in list(colours.items())[:12]:
        parts.append(f'<circle cx="{x + 5}" cy="{y + 14}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="{y + 18}">{escape(key)}</text>')
        x += 30 + 8 * len(key)
    return parts


def _write_png(rows: list[TraceRow], path: Path, title: str) -> None:
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    scale, colours = _Scale(rows), _colour_of(rows)
    figure, axes = pyplot.subplots(figsize=(max(6, len(rows) * 0.3), 5))
    for i, row in enumerate(rows):
        for window in row.fired:
            if window.start is not None and window.end is not None:
                axes.bar(i + 0.4, window.end - window.start, 0.3, window.start, color="#fdb863")
        if row.is_record and row.timestamp is not None:
            face = "white" if row.late else colours[row.key]
            axes.plot(i, row.timestamp, "o", color=colours[row.key], markerfacecolor=face)
    known = [(i, row.watermark) for i, row in enumerate(rows) if row.watermark > MIN_WATERMARK]
    if known:
        lows = [min(mark, scale.high) for _, mark in known]
        axes.step([i for i, _ in known], lows, where="post", color="#333333")
    axes.set_title(title)
    axes.set_xlabel("order of arrival")
    axes.set_ylabel("event time (ms)")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
