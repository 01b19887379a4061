"""Place a graph on a page, in columns from left to right, with edges that go around the boxes.

The steps are those of Sugiyama: columns by the longest path, places for edges that pass a column,
an order within each column that crosses few edges, heights that keep edges straight. The same
graph always gets the same picture.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SWEEPS = 8
_STRAIGHTENING = 6
#: An edge that passes a column is pulled straight harder than a box is pulled to its neighbours.
_PASS_WEIGHT = 4.0
_PASS_HEIGHT = 8.0


@dataclass(frozen=True)
class Node:
    """A box to place."""

    id: str
    width: float
    height: float


@dataclass(frozen=True)
class Edge:
    """An arrow to route; two boxes may have several between them."""

    source: str
    target: str


@dataclass(frozen=True)
class Spacing:
    """What is left free, in the unit of the boxes."""

    columns: float = 90
    rows: float = 26
    margin: float = 30


@dataclass(frozen=True)
class Place:
    """Where a box stands; x and y are its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Placement:
    """A whole page. `routes` has the points of each edge, in the order the edges were given."""

    places: dict[str, Place]
    routes: tuple[tuple[tuple[float, float], ...], ...]
    columns: dict[str, int]
    width: float
    height: float


@dataclass
class _Cell:
    """A place in a column: a box, or an edge that passes."""

    order: int  # in the input: breaks ties, always in the same way
    column: int
    width: float
    height: float
    before: list[_Cell] = field(default_factory=list)
    after: list[_Cell] = field(default_factory=list)
    row: int = 0
    middle: float = 0.0
    passing: bool = False


def place(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    columns: Mapping[str, int] | None = None,
    spacing: Spacing | None = None,
) -> Placement:
    """Return where everything goes.

    :param nodes: in topological order: an edge leads from an earlier box to a later one.
    :param columns: the column of each box, where the caller knows better than the longest path.
    :raises ValueError: if an edge does not lead forward.

    >>> page = place([Node("a", 50, 20), Node("b", 50, 20)], [Edge("a", "b")])
    >>> page.places["a"].x < page.places["b"].x
    True
    """
    spacing = spacing or Spacing()
    chosen = dict(columns) if columns is not None else longest_path_columns(nodes, edges)
    cells, chains = _cells(nodes, edges, chosen)
    rows = _order(cells)
    _set_heights(rows, spacing)
    lefts, width = _set_columns(rows, spacing)
    places = {
        node.id: Place(lefts[cell.column], cell.middle - node.height / 2, node.width, node.height)
        for node, cell in zip(nodes, cells, strict=False)
    }
    height = max((p.y + p.height for p in places.values()), default=0.0) + spacing.margin
    passed = [cell.middle for column in rows for cell in column if cell.passing]
    height = max([height, *(middle + spacing.margin for middle in passed)])
    return Placement(places, _route(edges, chains, places, rows, lefts), chosen, width, height)


def longest_path_columns(nodes: Sequence[Node], edges: Sequence[Edge]) -> dict[str, int]:
    """Return a column for each box: right of all that feed it; a source just left of its target."""
    known = {node.id: index for index, node in enumerate(nodes)}
    for edge in edges:
        if known[edge.source] >= known[edge.target]:
            raise ValueError(f"the edge {edge.source} -> {edge.target} does not lead forward")
    columns: dict[str, int] = {}
    for node in nodes:
        feeding = [columns[edge.source] + 1 for edge in edges if edge.target == node.id]
        columns[node.id] = max(feeding, default=0)
    targets = {edge.target for edge in edges}
    for node in nodes:
        fed = [columns[edge.target] for edge in edges if edge.source == node.id]
        if fed and node.id not in targets:
            columns[node.id] = min(fed) - 1
    return columns


def _cells(
    nodes: Sequence[Node], edges: Sequence[Edge], columns: Mapping[str, int]
) -> tuple[list[_Cell], list[list[_Cell]]]:
    """Return all cells, boxes first, and for each edge the cells it goes through, ends included."""
    boxes = {
        node.id: _Cell(order, columns[node.id], node.width, node.height)
        for order, node in enumerate(nodes)
    }
    cells = list(boxes.values())
    chains: list[list[_Cell]] = []
    for edge in edges:
        source, target = boxes[edge.source], boxes[edge.target]
        if source.column >= target.column:
            raise ValueError(f"the edge {edge.source} -> {edge.target} does not lead forward")
        chain = [source]
        for column in range(source.column + 1, target.column):
            chain.append(_Cell(len(cells), column, 0.0, _PASS_HEIGHT, passing=True))
            cells.append(chain[-1])
        chain.append(target)
        for left, right in itertools.pairwise(chain):
            left.after.append(right)
            right.before.append(left)
        chains.append(chain)
    return cells, chains


def _order(cells: list[_Cell]) -> list[list[_Cell]]:
    """Return the cells of each column from top to bottom, with few crossings between columns."""
    last = max((cell.column for cell in cells), default=-1)
    rows = [[cell for cell in cells if cell.column == column] for column in range(last + 1)]
    _number(rows)
    best, fewest = [list(column) for column in rows], _crossings(rows)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        for column in rows if forward else reversed(rows):
            column.sort(key=lambda cell: (_barycentre(cell, forward), cell.row))
            for row, cell in enumerate(column):
                cell.row = row
        crossings = _crossings(rows)
        if crossings < fewest:
            best, fewest = [list(column) for column in rows], crossings
    _number(best)
    return best


def _number(rows: list[list[_Cell]]) -> None:
    for column in rows:
        for row, cell in enumerate(column):
            cell.row = row


def _barycentre(cell: _Cell, forward: bool) -> float:
    """Return the mean row of a cell's neighbours on one side; a cell without any stays."""
    near = cell.before if forward else cell.after
    return sum(other.row for other in near) / len(near) if near else float(cell.row)


def _crossings(rows: list[list[_Cell]]) -> int:
    crossings = 0
    for column in rows:
        lines = [(cell.row, other.row) for cell in column for other in cell.after]
        crossings += sum(
            (one[0] - two[0]) * (one[1] - two[1]) < 0
            for index, one in enumerate(lines)
            for two in lines[index + 1 :]
        )
    return crossings


def _set_heights(rows: list[list[_Cell]], spacing: Spacing) -> None:
    """Give each cell its middle: near its neighbours, in order, nothing on top of another."""
    for column in rows:
        top = 0.0
        for cell in column:
            cell.middle = top + cell.height / 2
            top += cell.height + spacing.rows
    for turn in range(_STRAIGHTENING):
        forward = turn % 2 == 0
        for column in rows if forward else list(reversed(rows)):
            _settle(column, [_wish(cell, forward) for cell in column], spacing.rows)
    top = min((cell.middle - cell.height / 2 for column in rows for cell in column), default=0.0)
    for column in rows:
        for cell in column:
            cell.middle += spacing.margin - top


def _wish(cell: _Cell, forward: bool) -> float:
    near = (cell.before or cell.after) if forward else (cell.after or cell.before)
    return sum(other.middle for other in near) / len(near) if near else cell.middle


def _settle(column: list[_Cell], wishes: list[float], gap: float) -> None:
    """Move the cells of a column as near to their wishes as order and gaps allow.

    That is least squares under an order, which merging blocks of cells that push each other
    solves exactly.
    """
    offsets = [0.0]
    for above, below in itertools.pairwise(column):
        offsets.append(offsets[-1] + (above.height + below.height) / 2 + gap)
    blocks: list[tuple[float, float, int]] = []  # mean wish, weight, number of cells
    for cell, wish, offset in zip(column, wishes, offsets, strict=True):
        mean, weight, count = wish - offset, _PASS_WEIGHT if cell.passing else 1.0, 1
        while blocks and blocks[-1][0] > mean:
            other, other_weight, other_count = blocks.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight += other_weight
            count += other_count
        blocks.append((mean, weight, count))
    settled = [mean for mean, _, count in blocks for _ in range(count)]
    for cell, mean, offset in zip(column, settled, offsets, strict=True):
        cell.middle = mean + offset


def _set_columns(rows: list[list[_Cell]], spacing: Spacing) -> tuple[list[float], float]:
    """Return the left side of each column, and the width of the page."""
    lefts: list[float] = []
    x = spacing.margin
    for column in rows:
        lefts.append(x)
        x += max((cell.width for cell in column), default=0.0) + spacing.columns
    return lefts, x - spacing.columns + spacing.margin if rows else 2 * spacing.margin


def _route(
    edges: Sequence[Edge],
    chains: list[list[_Cell]],
    places: Mapping[str, Place],
    rows: list[list[_Cell]],
    lefts: list[float],
) -> tuple[tuple[tuple[float, float], ...], ...]:
    """Return the points of each edge: it leaves on the right, arrives on the left, and passes a
    column at one height all the way.
    """
    leaving = _ports([(e.source, chain[1]) for e, chain in zip(edges, chains, strict=True)])
    arriving = _ports([(e.target, chain[-2]) for e, chain in zip(edges, chains, strict=True)])
    widths = [max((cell.width for cell in column), default=0.0) for column in rows]
    routes = []
    for index, (edge, chain) in enumerate(zip(edges, chains, strict=True)):
        source, target = places[edge.source], places[edge.target]
        points = [(source.x + source.width, source.y + source.height * leaving[index])]
        for cell in chain[1:-1]:
            left = lefts[cell.column]
            points += [(left, cell.middle), (left + widths[cell.column], cell.middle)]
        points.append((target.x, target.y + target.height * arriving[index]))
        routes.append(tuple(points))
    return tuple(routes)


def _ports(ends: list[tuple[str, _Cell]]) -> list[float]:
    """Return for each edge where on its box's side it stands, as a share of the side's length.

    Edges of one box stand in the order of what they lead to, so that they do not cross there.
    """
    shares = [0.5] * len(ends)
    by_box: dict[str, list[int]] = {}
    for index, (box, _) in enumerate(ends):
        by_box.setdefault(box, []).append(index)
    for indices in by_box.values():
        indices.sort(key=lambda index: (ends[index][1].middle, index))
        for rank, index in enumerate(indices):
            shares[index] = (rank + 1) / (len(indices) + 1)
    return shares


#: Size of a chain's card in the dashboard, and of the line for each further operator.
CARD_WIDTH, CARD_HEIGHT, CARD_LINE = 264, 136, 20


@dataclass(frozen=True)
class Card:
    """A vertex of a job's graph, with id and name of each operator chained in it."""

    id: str
    name: str
    operators: Sequence[tuple[str, str]] = ()


def graph_layout(cards: Sequence[Card], edges: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Return a job's graph as the dashboard draws it, in plain JSON values.

    A card has its first operator's name on top, and a line for each one behind it.

    :param cards: in topological order.
    :param edges: ids of source and target, and how records travel (`HASH`, `FORWARD` ...).

    >>> graph_layout([Card("a", "Source"), Card("b", "Sink")], [("a", "b", "HASH")])["width"]
    672
    """
    boxes = [
        Node(card.id, CARD_WIDTH, CARD_HEIGHT + CARD_LINE * max(0, len(card.operators) - 1))
        for card in cards
    ]
    page = place(
        boxes,
        [Edge(source, target) for source, target, _ in edges],
        spacing=Spacing(columns=96, rows=28, margin=24),
    )
    return {
        "nodes": [
            {
                "id": card.id,
                "name": card.name,
                **vars(page.places[card.id]),
                "operators": [{"id": each, "name": name} for each, name in card.operators],
            }
            for card in cards
        ],
        "edges": [
            {"source": source, "target": target, "ship": ship, "points": [list(p) for p in route]}
            for (source, target, ship), route in zip(edges, page.routes, strict=True)
        ],
        "width": page.width,
        "height": page.height,
    }
