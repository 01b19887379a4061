"""Windows of every kind give what a plain model of Flink's rules gives, however they are cut."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.testing.harness import OperatorHarness
from tests.unit.windowing.combos import (
    COMBINED,
    EVICTORS,
    KINDS,
    TRIGGERS,
    Kind,
    fits,
    make_model,
    make_spec,
)

pytestmark = pytest.mark.usefixtures("backend")

COMBINATIONS = [
    (kind, trigger, lateness)
    for kind in KINDS
    for trigger in TRIGGERS
    for lateness in (0, 4, 30)
    if fits(kind, trigger) and (kind.event_time or not lateness)
]


def random_events(rng: random.Random, length: int) -> list[tuple]:
    """Make records, watermarks, steps of time, and cuts."""
    events: list[tuple] = []
    watermark, time = -25, 0
    for number in range(length):
        draw = rng.random()
        if draw < 0.7:
            timestamp = watermark + rng.randint(-25, 30)
            events.append(("record", rng.choice("aab"), number + 1, timestamp))
        elif draw < 0.82:
            watermark += rng.choice((0, 1, 3, 9, 25))
            events.append(("watermark", watermark))
        elif draw < 0.94:
            time += rng.choice((1, 3, 9, 25))
            events.append(("time", time))
        else:
            events.append((rng.choice(("cut", "move")),))
    return events


def run_model(model: Any, events: list[tuple]) -> tuple[list, list]:
    for event in events:
        match event[0]:
            case "record":
                model.element(*event[1:])
            case "watermark":
                model.advance_watermark(event[1])
            case "time":
                model.advance_time(event[1])
    return model.fired, model.late


def run_harness(harness: OperatorHarness, events: list[tuple]) -> tuple[list, list]:
    for event in events:
        match event[0]:
            case "record":
                _, key, value, timestamp = event
                harness.process_element((key, value), timestamp)
            case "watermark":
                harness.process_watermark(event[1])
            case "time":
                harness.set_processing_time(event[1])
            case "cut":
                harness.cut()
            case "move":
                harness.move()
    late = [record.value for record in harness.take_side_output("late")]
    return harness.take_records(), late


def by_key(fired: list[tuple]) -> dict[Any, list[tuple]]:
    result: dict[Any, list[tuple]] = {}
    for record in fired:
        result.setdefault(record[0], []).append(record[1:])
    return result


def check(kind: Kind, trigger: tuple, lateness: int, evictor: Any, how: str, events: Any) -> None:
    harness = OperatorHarness(
        make_spec(kind, trigger, lateness, evictor, how),
        key_selector=lambda record: record[0],
        side_outputs=["late"],
    )
    fired, late = run_harness(harness, events)
    expected, expected_late = run_model(make_model(kind, trigger, lateness, evictor), events)
    combined = COMBINED[how][2]
    expected = [(key, window, combined(values)) for key, window, values in expected]
    if how == "reduce":  # its result carries the key, which the model leaves out
        fired = [(key, window, ("*", value[1])) for key, window, value in fired]
    assert by_key(fired) == by_key(expected)
    assert late == expected_late


@pytest.mark.parametrize(
    ("kind", "trigger", "lateness"),
    COMBINATIONS,
    ids=lambda part: part.name if isinstance(part, Kind) else str(part),
)
def test_every_combination(kind: Kind, trigger: tuple, lateness: int) -> None:
    for seed in range(3):
        events = random_events(random.Random(f"{kind.name}{trigger}{lateness}{seed}"), 60)
        for how in ("elements", "reduce", "aggregate"):
            check(kind, trigger, lateness, None, how, events)


@pytest.mark.parametrize("evictor", EVICTORS[1:], ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_evictors(kind: Kind, evictor: tuple) -> None:
    for trigger in (trigger for trigger in TRIGGERS if fits(kind, trigger)):
        events = random_events(random.Random(f"{kind.name}{trigger}{evictor}"), 60)
        for how in ("elements", "reduce"):
            check(kind, trigger, 4 if kind.event_time else 0, evictor, how, events)


EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("record"), st.sampled_from("ab"), st.integers(1, 99), st.integers(-30, 60)
        ),
        st.tuples(st.just("watermark"), st.integers(-30, 60)),
        st.tuples(st.just("time"), st.integers(0, 60)),
        st.sampled_from([("cut",), ("move",)]),
    ),
    max_size=25,
)


@settings(max_examples=300, deadline=None)
@given(
    combination=st.sampled_from(COMBINATIONS),
    evictor=st.sampled_from(EVICTORS),
    how=st.sampled_from(["elements", "reduce", "aggregate", "fold"]),
    events=EVENTS,
)
def test_any_events(combination: tuple, evictor: Any, how: str, events: list[tuple]) -> None:
    kind, trigger, lateness = combination
    if how == "fold" and kind.merging:
        how = "elements"
    if how == "aggregate" and evictor is not None:
        how = "elements"  # an aggregate of nothing is a result too: the model has no such case
    time = 0
    kept = []
    for event in events:  # time never falls
        if event[0] == "time":
            if event[1] <= time:
                continue
            time = event[1]
        kept.append(event)
    check(kind, trigger, lateness, evictor, how, kept)
