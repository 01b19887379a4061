"""Long sliding windows keep each element once, and nothing of what is over."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.functions import AggregateFunction
from penstock.core.windowing import EventTimeTrigger, SlidingEventTimeWindows
from penstock.graph.specs import Aggregated, WindowSpec
from penstock.testing.harness import OperatorHarness

pytestmark = pytest.mark.usefixtures("backend")

HOUR, SLIDE, MINUTE = 3_600_000, 10_000, 60_000
KEYS = 5


class Sum(AggregateFunction):
    mergeable = True

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


def lists(key: Any, window: Any, elements: Any) -> list[int]:
    return [sum(value for _, value in elements)]


@pytest.mark.parametrize("lateness", [0, 5 * MINUTE])
@pytest.mark.parametrize(
    "parts", [{"combine": Aggregated(Sum())}, {"function": lists}], ids=["combined", "elements"]
)
def test_state_does_not_grow(parts: dict[str, Any], lateness: int) -> None:
    spec = WindowSpec(
        SlidingEventTimeWindows(HOUR, SLIDE), EventTimeTrigger(), allowed_lateness=lateness, **parts
    )
    harness = OperatorHarness(spec, lambda record: record[0])
    sizes = []
    for minute in range(4 * 60):
        for key in range(KEYS):
            harness.process_element((key, 1), minute * MINUTE)
        if minute % 10 == 9:
            harness.process_watermark(minute * MINUTE)
            harness.move()
            sizes.append((harness.state_size(), harness.timer_count()))
            full = [value for value in harness.take_records() if minute >= 70]
            assert set(full) <= {60}
    # A slice for each minute of an hour and of the lateness, and one or two timers a key.
    most = KEYS * (61 + lateness // MINUTE + 10)
    assert max(size for size, _ in sizes) <= most
    assert max(timers for _, timers in sizes) <= KEYS * (2 if lateness else 1)
    harness.end_input()
    assert (harness.state_size(), harness.timer_count()) == (0, 0)


def test_many_windows_fire_at_one_watermark() -> None:
    spec = WindowSpec(SlidingEventTimeWindows(HOUR, SLIDE), EventTimeTrigger(), Aggregated(Sum()))
    harness = OperatorHarness(spec, lambda record: record[0])
    for minute in range(120):
        harness.process_element((0, 1), minute * MINUTE)
    harness.end_input()
    # The first one has the first record only, the last one the last.
    assert len(harness.take_records()) == (119 * MINUTE + HOUR) // SLIDE
