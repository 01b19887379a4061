from __future__ import annotations

import pytest

from penstock.core.metrics import MetricGroup
from penstock.errors import ProgramError


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


def test_metrics_are_reported_under_their_full_names() -> None:
    group = MetricGroup(Clock(), ("map", "0"))
    group.counter("records").inc()
    group.counter("records").inc(4)
    group.counter("records").dec(2)
    group.gauge("size", lambda: 7)
    inner = group.add_group("parser", "json")
    for value in (3, 1, 2):
        inner.distribution("length").update(value)
    assert group.report() == {
        "map.0.records": 3,
        "map.0.size": 7,
        "map.0.parser.json.length": {"count": 3, "sum": 6, "min": 1, "max": 3, "mean": 2.0},
    }
    assert list(inner.report()) == ["map.0.parser.json.length"]
    assert inner.get_all_variables() == {"<parser>": "json"}
    assert inner.get_scope_components() == ["map", "0", "parser", "json"]


def test_a_meter_forgets_what_lies_outside_its_span() -> None:
    clock = Clock()
    meter = MetricGroup(clock).meter("rate", time_span_in_seconds=10)
    meter.mark_event(30)
    clock.now = 5_000
    meter.mark_event(20)
    meter.mark_event()
    assert (meter.get_count(), meter.get_rate()) == (51, 5.1)
    clock.now = 12_000
    assert (meter.get_count(), meter.get_rate()) == (51, 2.1)
    clock.now = 60_000
    assert meter.get_rate() == 0


def test_one_name_is_one_kind() -> None:
    group = MetricGroup(Clock(), ("map",))
    group.counter("n")
    with pytest.raises(ProgramError) as caught:
        group.meter("n")
    assert str(caught.value) == (
        "metric 'map.n' exists already as another kind\n"
        "  got:   asked for Meter, is Counter\n  to do: choose another name than 'n'"
    )
