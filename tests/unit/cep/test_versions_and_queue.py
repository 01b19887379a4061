"""Sparse versions against plain lists of digits, and the heap against its own order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.cep import dewey
from penstock.runtime.cep.match_queue import PartialMatch, pop, push, remove_if

#: Zero adds a digit, another number raises the last one by so much.
STEPS = st.lists(st.integers(0, 2), max_size=7)


def both(steps: list[int]) -> tuple[dewey.Version, list[int]]:
    version, digits = dewey.FIRST, [1]
    for step in steps:
        if step:
            version = dewey.increase(version, step)
            digits[-1] += step
        else:
            version = dewey.add_stage(version)
            digits.append(0)
    return version, digits


def compatible(digits: list[int], edge: list[int]) -> bool:
    if len(digits) > len(edge):
        return digits[: len(edge)] == edge
    return len(digits) == len(edge) and digits[:-1] == edge[:-1] and digits[-1] >= edge[-1]


@given(STEPS, STEPS, STEPS)
def test_versions(shared: list[int], one: list[int], other: list[int]) -> None:
    (version, digits), (edge, edge_digits) = both(shared + one), both(shared + other)
    assert dewey.show(version) == ".".join(map(str, digits))
    assert dewey.run_of(version) == digits[0]
    assert dewey.is_compatible(version, edge) == compatible(digits, edge_digits)
    if dewey.is_compatible(version, edge) and len(digits) > 1:
        assert digits[0] == edge_digits[0]


def item(number: int, name: str = "") -> PartialMatch:
    return (number, 0), name, dewey.FIRST, None


@given(st.lists(st.integers(0, 9)), st.integers(0, 9))
def test_the_queue(numbers: list[int], limit: int) -> None:
    heap: list[PartialMatch] = []
    for number in numbers:
        push(heap, item(number))
    remove_if(heap, lambda each: each[0][0] < limit)
    popped = [pop(heap)[0][0] for _ in range(len(heap))]
    assert popped == sorted(number for number in numbers if number >= limit)


def test_which_of_equal_items_comes_first() -> None:
    """As java.util.PriorityQueue has it: the last one takes the place of the first."""
    heap: list[PartialMatch] = []
    for name in "abcd":
        push(heap, item(1, name))
    assert [pop(heap)[1] for _ in range(4)] == ["a", "d", "c", "b"]
