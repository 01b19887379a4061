"""The table of waiting events against a plain list, over deltas, other workers and sweeps."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.cep.tables import EventQueueTable

KEYS = st.sampled_from("ab")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, st.integers(0, 9)),
        st.tuples(st.just("take"), KEYS, st.integers(0, 9)),
        st.tuples(st.sampled_from(["cut", "move", "sweep"]), KEYS, st.just(0)),
    ),
    max_size=40,
)


@given(OPERATIONS)
def test_the_table_does_what_a_list_does(operations: list[tuple[str, str, int]]) -> None:
    table, log = EventQueueTable(), []
    waiting: list[tuple[str, int, Any]] = []
    for number, (what, key, time) in enumerate(operations):
        if what == "add":
            earliest = min((t for k, t, _ in waiting if k == key), default=99)
            event = [number]  # a list: it is pickled where it has to wait
            assert table.add(key, time, event) == (time < earliest)
            waiting.append((key, time, event))
        elif what == "take":
            due = sorted((t, e) for k, t, e in waiting if k == key and t <= time)
            assert table.take(key, time) == due
            waiting = [each for each in waiting if each[0] != key or each[1] > time]
        else:
            log.append(pickle.dumps(table.take_delta()))
            if what == "sweep":
                log.append(pickle.dumps(table.dump(list(table.all_keys()))))
            if what != "cut":
                table = loaded(log)
        firsts = [t for k, t, _ in waiting if k == key]
        assert table.first_time(key) == min(firsts, default=None)


def loaded(log: list[bytes]) -> EventQueueTable:
    table = EventQueueTable()
    for entry in log:
        if (delta := pickle.loads(entry)) is not None:
            table.apply(delta)
    return table


def test_what_comes_and_goes_within_a_batch_is_not_written() -> None:
    table = EventQueueTable()
    table.add("a", 1, object())
    assert len(table.take("a", 5)) == 1
    assert table.take_delta() is None
