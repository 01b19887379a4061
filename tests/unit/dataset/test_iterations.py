"""The iterations of the examples, on random input: what plain Python computes in its own way."""

from __future__ import annotations

import heapq
import math
import random
from collections import defaultdict

import pytest
from examples.dataset import connected_components, k_means, page_rank, pi, shortest_paths
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dataset import ExecutionEnvironment

_VERTICES = range(1, 9)
_vertex = st.sampled_from(_VERTICES)
_edges = st.lists(st.tuples(_vertex, _vertex), max_size=12)
_roads = st.lists(st.tuples(_vertex, _vertex, st.integers(0, 20).map(float)), max_size=16)
_links = st.lists(st.lists(_vertex, max_size=4, unique=True), min_size=8, max_size=8)
_coordinate = st.integers(-50, 50).map(float)
_points = st.lists(st.tuples(_coordinate, _coordinate), min_size=3, max_size=15)


def _env(parallelism: int = 2) -> ExecutionEnvironment:
    return ExecutionEnvironment.create_collections_environment().set_parallelism(parallelism)


def components(edges: list[tuple[int, int]], vertices: range = _VERTICES) -> dict[int, int]:
    """Join sets of vertices, an edge at a time."""
    sets = {vertex: {vertex} for vertex in vertices}
    for one, other in edges:
        together = sets[one] | sets[other]
        for vertex in together:
            sets[vertex] = together
    return {vertex: min(members) for vertex, members in sets.items()}


def distances(roads: list[tuple[int, int, float]], start: int) -> dict[int, float]:
    """Dijkstra's algorithm."""
    known = dict.fromkeys(_VERTICES, math.inf)
    heap = [(0.0, start)]
    while heap:
        so_far, vertex = heapq.heappop(heap)
        if so_far < known[vertex]:
            known[vertex] = so_far
            for one, other, length in roads:
                if one == vertex:
                    heapq.heappush(heap, (so_far + length, other))
    return known


def ranks(links: dict[int, list[int]], steps: int, still: float) -> dict[int, float]:
    """Power iteration, until nothing moves."""
    count = len(links)
    current = dict.fromkeys(links, 1 / count)
    for _ in range(steps):
        after = dict.fromkeys(links, (1 - page_rank.DAMPING) / count)
        for page, targets in links.items():
            for target in targets:
                after[target] += page_rank.DAMPING * current[page] / len(targets)
        moved = max(abs(after[page] - current[page]) for page in links)
        current = after
        if moved <= still:
            break
    return current


def means(
    points: list[tuple[float, float]], centroids: list[tuple[int, float, float]], steps: int
) -> dict[int, tuple[float, float]]:
    """Lloyd's algorithm; a centroid without points vanishes."""
    current = {number: (x, y) for number, x, y in centroids}
    for _ in range(steps):
        near: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for x, y in points:
            nearest = min((cx - x) ** 2 + (cy - y) ** 2 for cx, cy in current.values())
            number = min(
                n for n, (cx, cy) in current.items() if (cx - x) ** 2 + (cy - y) ** 2 == nearest
            )
            near[number].append((x, y))
        current = {
            number: (
                math.fsum(x for x, _ in members) / len(members),
                math.fsum(y for _, y in members) / len(members),
            )
            for number, members in near.items()
        }
    return current


@given(edges=_edges)
@settings(max_examples=60, deadline=None)
def test_connected_components(edges: list[tuple[int, int]]) -> None:
    env = _env()
    vertices = env.from_collection([(n, n) for n in _VERTICES])
    result = connected_components.components(vertices, env.from_collection(edges))
    assert dict(result.collect()) == components(edges)


@given(roads=_roads, start=_vertex)
@settings(max_examples=60, deadline=None)
def test_shortest_paths(roads: list[tuple[int, int, float]], start: int) -> None:
    env = _env()
    known = [(n, 0.0 if n == start else math.inf) for n in _VERTICES]
    result = shortest_paths.shortest_paths(env.from_collection(known), env.from_collection(roads))
    assert dict(result.collect()) == distances(roads, start)


@given(targets=_links)
@settings(max_examples=40, deadline=None)
def test_page_rank(targets: list[list[int]]) -> None:
    env = _env()
    links = dict(zip(_VERTICES, targets, strict=True))
    first = env.from_collection([(page, 1 / len(links)) for page in links])
    result = page_rank.page_ranks(first, env.from_collection(list(links.items())), len(links))
    assert dict(result.collect()) == pytest.approx(ranks(links, 60, 1e-4), abs=1e-9)


@given(points=_points)
@settings(max_examples=40, deadline=None)
def test_k_means(points: list[tuple[float, float]]) -> None:
    env = _env()
    first = [(0, -25.0, 0.5), (1, 25.0, 1.5), (2, 0.25, 40.0)]
    # Few steps: a tie that falls the other way by the last digit of a mean would go on growing.
    result = k_means.centroids(env.from_collection(points), env.from_collection(first), 2)
    found = {number: (x, y) for number, x, y in result.collect()}
    expected = means(points, first, 2)
    assert found.keys() == expected.keys()
    for number, centre in expected.items():
        assert found[number] == pytest.approx(centre)


def test_pi() -> None:
    hits = 0
    for throw in range(pi.THROWS):
        chance = random.Random(throw)
        x, y = chance.random(), chance.random()
        hits += x * x + y * y <= 1
    assert pi.darts(_env(1)).collect() == [(pi.THROWS, hits)]
    assert abs(4 * hits / pi.THROWS - math.pi) < 0.05
