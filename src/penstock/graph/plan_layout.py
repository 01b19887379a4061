"""The page that a plan is drawn on: a box for each operator, one band for each level."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.layout import Edge, Node, Spacing, place
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
class Route:
    """One edge on the page, and the points it goes through."""

    edge: PlanEdge
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Layout:
    """A whole page."""

    boxes: dict[int, Box]
    bands: tuple[Band, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(plan: ExecutionPlan) -> Layout:
    """Return where everything goes."""
    columns = _columns(plan)
    labels = {operator.id: _shorten(operator.name) for operator in plan.operators}
    widths: dict[int, int] = {}
    for operator_id, column in columns.items():
        needed = max(_MIN_BOX_WIDTH, _CHAR_WIDTH * len(labels[operator_id]) + 20)
        widths[column] = max(widths.get(column, 0), needed)
    edges = tuple(edge for operator in plan.operators for edge in operator.inputs)
    page = place(
        [Node(str(op.id), widths[columns[op.id]], BOX_HEIGHT) for op in plan.operators],
        [Edge(str(edge.source), str(edge.target)) for edge in edges],
        {str(operator_id): column for operator_id, column in columns.items()},
        Spacing(_COLUMN_GAP, _ROW_GAP, _MARGIN),
    )
    boxes: dict[int, Box] = {}
    bands: dict[int, tuple[float, float]] = {}
    for operator in plan.operators:
        at = page.places[str(operator.id)]
        boxes[operator.id] = Box(operator, labels[operator.id], at.x, at.y + _BAND_TITLE, at.width)
        left, right = bands.get(operator.level, (at.x, at.x))
        bands[operator.level] = (min(left, at.x), max(right, at.x + at.width))
    return Layout(
        boxes,
        tuple(
            Band(level, left - _MARGIN / 2, right - left + _MARGIN)
            for level, (left, right) in sorted(bands.items())
        ),
        tuple(
            Route(edge, tuple((x, y + _BAND_TITLE) for x, y in points))
            for edge, points in zip(edges, page.routes, strict=True)
        ),
        page.width,
        page.height + _BAND_TITLE,
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


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"
