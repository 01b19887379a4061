"""Place the boxes of a plan on a page: columns from left to right, one band for each level."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator

BOX_HEIGHT = 46
_CHAR_WIDTH = 7
_MIN_BOX_WIDTH = 110
_LONGEST_LABEL = 36
_COLUMN_GAP = 90
_ROW_GAP = 26
_MARGIN = 30
_BAND_TITLE = 26


@dataclass(frozen=True)
class Box:
    """One operator on the page; x and y are its upper left corner."""

    operator: PlanOperator
    label: str
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Band:
    """The columns of one exchange level."""

    level: int
    x: float
    width: float


@dataclass(frozen=True)
class Layout:
    """A whole page."""

    boxes: dict[int, Box]
    bands: tuple[Band, ...]
    edges: tuple[PlanEdge, ...]
    width: float
    height: float


def lay_out(plan: ExecutionPlan) -> Layout:
    """Return where everything goes."""
    columns = _columns(plan)
    rows = _order_rows(plan, columns)
    boxes: dict[int, Box] = {}
    bands: dict[int, tuple[float, float]] = {}
    x: float = _MARGIN
    tallest = max(len(ids) for ids in rows.values())
    page_height = 2 * _MARGIN + _BAND_TITLE + tallest * (BOX_HEIGHT + _ROW_GAP) - _ROW_GAP
    for column in sorted(rows):
        operators = [plan.operator(operator_id) for operator_id in rows[column]]
        labels = [_shorten(operator.name) for operator in operators]
        width = max(_MIN_BOX_WIDTH, *(_CHAR_WIDTH * len(label) + 20 for label in labels))
        column_height = len(operators) * (BOX_HEIGHT + _ROW_GAP) - _ROW_GAP
        y = _BAND_TITLE + (page_height - _BAND_TITLE - column_height) / 2
        for operator, label in zip(operators, labels, strict=True):
            boxes[operator.id] = Box(operator, label, x, y, width)
            y += BOX_HEIGHT + _ROW_GAP
        level = operators[0].level
        left = bands[level][0] if level in bands else x
        bands[level] = (left, x + width)
        x += width + _COLUMN_GAP
    return Layout(
        boxes,
        tuple(
            Band(level, left - _MARGIN / 2, right - left + _MARGIN)
            for level, (left, right) in sorted(bands.items())
        ),
        tuple(edge for operator in plan.operators for edge in operator.inputs),
        x - _COLUMN_GAP + _MARGIN,
        page_height,
    )


def _columns(plan: ExecutionPlan) -> dict[int, int]:
    """Return the column of each operator: a level's columns stand right of all lower levels'."""
    depth: dict[int, int] = {}
    level_of = {operator.id: operator.level for operator in plan.operators}
    for operator in plan.operators:
        local = [
            depth[edge.source] + 1
            for edge in operator.inputs
            if level_of[edge.source] == operator.level
        ]
        depth[operator.id] = max(local, default=0)
    first = 0
    columns: dict[int, int] = {}
    for level in range(plan.levels + 1):
        ids = [operator.id for operator in plan.at_level(level)]
        columns.update({operator_id: first + depth[operator_id] for operator_id in ids})
        first += max((depth[operator_id] for operator_id in ids), default=-1) + 1
    return columns


def _order_rows(plan: ExecutionPlan, columns: dict[int, int]) -> dict[int, list[int]]:
    """Return the operators of each column, ordered by the mean row of what feeds them."""
    rows: dict[int, list[int]] = {}
    for operator in plan.operators:
        rows.setdefault(columns[operator.id], []).append(operator.id)
    row_of: dict[int, float] = {}
    for column in sorted(rows):

        def mean_row(operator_id: int) -> float:
            feeding = [row_of[edge.source] for edge in plan.operator(operator_id).inputs]
            return sum(feeding) / len(feeding) if feeding else float(operator_id)

        rows[column].sort(key=mean_row)
        row_of.update({operator_id: row for row, operator_id in enumerate(rows[column])})
    return rows


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"
