"""Random chains of stages on random events: the automaton finds what trying everything finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.cep.testing import match
from tests.unit.cep.model import Chain, Stage, build, matches

pytestmark = pytest.mark.usefixtures("backend")

WORDS = ("next", "followed_by", "followed_by_any")


@st.composite
def chains(draw: Callable[[Any], Any]) -> Chain:
    stages = []
    for number in range(draw(st.integers(1, 4))):
        least, most = draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 2), (2, 3), (1, None)]))
        # In Flink an event that must not come ends a loop in front as well: not for the model.
        before = stages[-1] if stages else None
        allowed = before is not None and before.most == 1 and not before.optional
        # Nor may it come before a stage with an upper bound is complete (tests/cases/cep/not.txt).
        allowed = allowed and (most is None or least == most)
        forbids = allowed and draw(st.integers(0, 3)) == 0
        stages.append(
            Stage(
                "abcd"[number],
                draw(st.sampled_from(["A", "B", "C", "AB", "BC"])),
                draw(st.sampled_from(WORDS)),
                least,
                most,
                draw(st.sampled_from(WORDS)),
                # What must not come before a stage that may be left out is another story.
                optional=not forbids and draw(st.integers(0, 4)) == 0,
                forbidden="D" if forbids else "",
                forbidden_word=draw(st.sampled_from(["not_next", "not_followed_by"])),
            )
        )
    return Chain(tuple(stages), draw(st.sampled_from([None, None, 3, 6])))


def streams() -> st.SearchStrategy[list[tuple[str, int]]]:
    letters = st.lists(st.tuples(st.sampled_from("ABCD"), st.integers(0, 2)), max_size=8)

    def timed(drawn: list[tuple[str, int]]) -> list[tuple[str, int]]:
        time, events = 1, []
        for number, (letter, pause) in enumerate(drawn):
            time += pause
            events.append((f"{letter}{number}", time))
        return events

    return letters.map(timed)


@settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chains(), streams())
def test_the_automaton_finds_what_trying_everything_finds(
    chain: Chain, events: list[tuple[str, int]]
) -> None:
    found = match(build(chain), events)
    taken = {
        tuple((stage, int(event[1:])) for stage, own in each.items() for event in own)
        for each in found
    }
    assert taken == matches(chain, events)
