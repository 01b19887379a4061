from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.graph.layout import (
    CARD_HEIGHT,
    CARD_LINE,
    CARD_WIDTH,
    Card,
    Edge,
    Node,
    Placement,
    graph_layout,
    place,
)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Node], list[Edge]]:
    """Return graphs of any shape, parallel edges and edges over several columns among them."""
    count = draw(st.integers(1, 14))
    sizes = st.tuples(st.integers(20, 200), st.integers(20, 120))
    nodes = [Node(f"n{i}", *draw(sizes)) for i in range(count)]
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    chosen = draw(st.lists(pairs, max_size=3 * count))
    return nodes, [Edge(f"n{min(p)}", f"n{max(p)}") for p in chosen if p[0] != p[1]]


def crossings(page: Placement) -> int:
    lines = [(a, b) for route in page.routes for a, b in itertools.pairwise(route)]
    return sum(
        a[0] == c[0] and b[0] == d[0] and (a[1] - c[1]) * (b[1] - d[1]) < 0
        for i, (a, b) in enumerate(lines)
        for c, d in lines[i + 1 :]
    )


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_boxes_do_not_overlap_and_stand_on_the_page(graph):
    page = place(*graph)
    boxes = list(page.places.values())
    for i, one in enumerate(boxes):
        assert one.x >= 0 and one.x + one.width <= page.width
        assert one.y >= 0 and one.y + one.height <= page.height
        for two in boxes[i + 1 :]:
            apart = (
                one.x + one.width <= two.x
                or two.x + two.width <= one.x
                or one.y + one.height <= two.y
                or two.y + two.height <= one.y
            )
            assert apart, (one, two)


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_edges_go_forward_from_box_to_box_on_the_page(graph):
    nodes, edges = graph
    page = place(nodes, edges)
    for edge, route in zip(edges, page.routes, strict=True):
        source, target = page.places[edge.source], page.places[edge.target]
        assert page.columns[edge.source] < page.columns[edge.target]
        assert route[0][0] == source.x + source.width
        assert source.y < route[0][1] < source.y + source.height
        assert route[-1][0] == target.x
        assert target.y < route[-1][1] < target.y + target.height
        xs = [x for x, _ in route]
        assert xs == sorted(xs)
        assert all(0 <= y <= page.height for _, y in route)


@given(graphs())
@settings(max_examples=200, deadline=None)
def test_edges_pass_columns_beside_the_boxes(graph):
    nodes, edges = graph
    page = place(nodes, edges)
    for route in page.routes:
        for (x1, y1), (x2, y2) in zip(route[1:-1:2], route[2:-1:2], strict=True):
            assert y1 == y2
            for box in page.places.values():
                beside = box.x + box.width <= x1 or x2 <= box.x
                assert beside or y1 <= box.y or box.y + box.height <= y1


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_the_same_graph_gets_the_same_picture(graph):
    nodes, edges = graph
    assert place(nodes, edges) == place(list(nodes), list(edges))


def test_columns_follow_the_longest_path_and_a_source_stands_beside_its_target():
    nodes = [Node(name, 10, 10) for name in "abcde"]
    edges = [Edge("a", "b"), Edge("b", "c"), Edge("a", "c"), Edge("d", "e"), Edge("c", "e")]
    assert place(nodes, edges).columns == {"a": 0, "b": 1, "c": 2, "d": 2, "e": 3}


def test_lines_that_need_not_cross_do_not():
    nodes = [Node(name, 10, 10) for name in ("a", "b", "c", "x", "y", "z")]
    page = place(nodes, [Edge("a", "z"), Edge("b", "y"), Edge("c", "x")])
    assert crossings(page) == 0


def test_edges_of_one_box_leave_in_the_order_of_their_targets():
    nodes = [Node(name, 10, 40) for name in ("a", "x", "y", "z")]
    page = place(nodes, [Edge("a", "z"), Edge("a", "x"), Edge("a", "y")])
    starts = sorted(page.routes, key=lambda route: route[-1][1])
    assert [r[0][1] for r in starts] == sorted({r[0][1] for r in page.routes})


def test_a_chain_is_a_straight_line():
    nodes = [Node(str(i), 10, 10 + i) for i in range(5)]
    page = place(nodes, [Edge(str(i), str(i + 1)) for i in range(4)])
    assert len({y for route in page.routes for _, y in route}) == 1


def test_an_edge_backward_is_refused():
    nodes = [Node("a", 1, 1), Node("b", 1, 1)]
    with pytest.raises(ValueError, match="the edge b -> a does not lead forward"):
        place(nodes, [Edge("b", "a")])
    with pytest.raises(ValueError, match="the edge a -> b does not lead forward"):
        place(nodes, [Edge("a", "b")], columns={"a": 1, "b": 1})


def test_an_empty_graph_is_an_empty_page():
    page = place([], [])
    assert (page.places, page.routes) == ({}, ())


def test_the_dashboards_layout_is_plain_json_with_a_line_for_each_further_operator():
    chain = Card("s", "Source: clicks -> Map", [("s", "Source: clicks"), ("m", "Map")])
    layout = graph_layout([chain, Card("w", "Window", [("w", "Window")])], [("s", "w", "HASH")])
    source, window = json.loads(json.dumps(layout["nodes"]))
    assert source == {
        "id": "s",
        "name": "Source: clicks -> Map",
        "x": 24,
        "y": 24,
        "width": CARD_WIDTH,
        "height": CARD_HEIGHT + CARD_LINE,
        "operators": [{"id": "s", "name": "Source: clicks"}, {"id": "m", "name": "Map"}],
    }
    assert (window["height"], window["y"]) == (CARD_HEIGHT, 24 + CARD_LINE / 2)
    middle = 24 + source["height"] / 2
    points = [[24 + CARD_WIDTH, middle], [window["x"], middle]]
    assert layout["edges"] == [{"source": "s", "target": "w", "ship": "HASH", "points": points}]
    assert layout["height"] == source["height"] + 48
