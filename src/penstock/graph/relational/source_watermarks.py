"""WATERMARK FOR in a source that has several splits: each of them has a watermark of its own."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from penstock.common.watermark import MIN_WATERMARK, Watermark, WatermarkOutput
from penstock.common.watermark_generators import WatermarkGenerator
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.graph.relational import algebra as a
from penstock.graph.relational import physical as p
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.expressions import Expr
from penstock.graph.relational.planner.merge_projections import is_pure, substitute

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)


class RowWatermarks(WatermarkGenerator[Any]):
    """The highest value of an expression over the rows so far; NULL does not count.

    :param eager: tell it behind every row, not only now and then.
    """

    def __init__(self, program: Program, eager: bool) -> None:
        self._calc = program.load()["calc"]
        self._eager = eager
        self._rows: list[Any] = []
        self._highest = MIN_WATERMARK

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        # All rows since the last watermark go through the generated code at once.
        self._rows.append(event)
        if self._eager:
            self.on_periodic_emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        rows, self._rows = self._rows, []
        times = [mark for (mark,) in self._calc(rows) if mark is not None]
        if times:
            highest = max(times)
            epoch = _EPOCH if highest.tzinfo is None else _UTC_EPOCH
            self._highest = max(self._highest, (highest - epoch) // _MS)
        if self._highest > MIN_WATERMARK:
            output.emit_watermark(Watermark(self._highest))


def row_watermarks(program: Program, eager: bool) -> WatermarkStrategy:
    """Return the strategy that asks generated code for the watermark of each row."""
    return WatermarkStrategy(partial(RowWatermarks, program, eager))


def split_watermark(node: a.Watermark) -> tuple[a.Scan, Expr] | None:
    """Return the scan that can make a node's watermarks, and the expression over its columns."""
    expr, below = node.expr, node.input
    while is_pure(expr):
        if isinstance(below, a.Scan):
            return (below, expr) if getattr(below.table, "split_watermarks", False) else None
        if isinstance(below, a.Project) or (isinstance(below, p.Calc) and below.condition is None):
            expr = substitute(expr, below.exprs)
        elif not isinstance(below, p.ChangelogNormalize):
            return None
        below = below.input
    return None
