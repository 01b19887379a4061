"""Groups on their way: what arrives is what was sent, to the type of each field."""

from __future__ import annotations

from collections import defaultdict, namedtuple
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row
from penstock.core.pickling import dumps, loads
from penstock.dataset import ExecutionEnvironment, Order
from penstock.errors import TypeMismatchError
from penstock.graph.dataset.keys import Key, make_key
from penstock.runtime.dataset.carrier import COLUMNS, GROUPED
from penstock.runtime.dataset.context import Place, Surroundings
from penstock.runtime.dataset.groups import GroupTable, SendGroups
from penstock.runtime.dataset.local import MemoryTools
from penstock.runtime.dataset.routes import HashRoute
from penstock.runtime.dataset.run import Reports

Pair = namedtuple("Pair", ["key", "value"])
FIRST = make_key("", [0])


class _Pickling(MemoryTools):
    """Chunks as bytes, as they are on Spark."""

    def pack(self, tag: int, content: Any) -> Any:
        return dumps((tag, content))

    def unpack(self, chunk: Any) -> tuple[int, Any]:
        tag, content = loads(chunk)
        return tag, content

    def size(self, chunk: Any) -> int:
        return len(chunk)


def _send(records: list[Any], key: Key, targets: int = 2) -> list[tuple[int, Any]]:
    place = Place(1, "group", None, targets, Surroundings("", Reports()))
    sender = SendGroups(place, key, HashRoute(targets), targets, _Pickling())
    return [(target, loads(chunk)) for target, chunk in sender.run(0, iter(records))]


def _receive(sent: list[tuple[int, Any]], key: Key) -> list[tuple[Any, list[Any]]]:
    tables: dict[int, GroupTable] = defaultdict(lambda: GroupTable(key))
    for target, chunk in sent:
        tables[target].add(*chunk)
    return [group for table in tables.values() for group in table.take()]


def _exact(record: Any) -> str:
    return f"{type(record).__name__} {record!r}"


_keys = st.one_of(
    st.integers(0, 3), st.booleans(), st.sampled_from([0.0, -0.0, 1.0]), st.sampled_from("ab")
)
_records = st.lists(
    st.one_of(
        st.tuples(_keys, st.integers()),
        st.tuples(_keys, st.integers(), st.text(max_size=2)),
        st.tuples(_keys),
        st.builds(Pair, _keys, st.integers()),
        st.builds(lambda *fields: list(fields), _keys, st.integers()),
        st.builds(Row, _keys, st.integers()),
    ),
    max_size=30,
)


@given(parts=st.lists(_records, max_size=4))
@settings(max_examples=300, deadline=None)
def test_records_arrive_as_they_were(parts: list[list[Any]]) -> None:
    sent = [chunk for part in parts for chunk in _send(part, FIRST)]
    received = _receive(sent, FIRST)
    everything = [record for part in parts for record in part]
    expected: dict[Any, list[Any]] = defaultdict(list)
    for record in everything:
        expected[record[0]].append(_exact(record))
    assert {key: sorted(map(_exact, group)) for key, group in received} == {
        key: sorted(group) for key, group in expected.items()
    }
    assert len(received) == len(expected)


def test_like_tuples_travel_as_columns_without_their_key() -> None:
    sent = _send([("a", n, n / 2) for n in range(4)] + [("b", 9, 0.5)], FIRST, targets=1)
    assert sent == [(0, (COLUMNS, (["a", "b"], [[[0, 1, 2, 3], [9]], [[0, 0.5, 1, 1.5], [0.5]]])))]
    (unlike,) = _send([("a", 1), ("a", 1, 2)], FIRST, targets=1)
    assert unlike[1][0] == GROUPED


def test_keys_that_hardly_come_twice_are_not_grouped_for_long() -> None:
    records = [(n, n) for n in range(300_000)]
    sent = _send(records, FIRST)
    kinds = [tag for _, (tag, _) in sent]
    assert kinds[0] == COLUMNS and kinds[-1] == 0
    assert sorted(record for _, group in _receive(sent, FIRST) for record in group) == records


def test_few_keys_stay_grouped() -> None:
    records = [(n % 1000, n) for n in range(300_000)]
    sent = _send(records, FIRST)
    assert {tag for _, (tag, _) in sent} == {COLUMNS}
    assert len(sent) < 20
    groups = dict(_receive(sent, FIRST))
    assert groups[7] == records[7::1000]


def test_the_key_may_be_any_field() -> None:
    env = ExecutionEnvironment.create_collections_environment().set_parallelism(3)
    data = env.from_collection([(n, f"k{n % 2}", -n) for n in range(6)])
    groups = data.group_by(1).sort_group(2, Order.ASCENDING).reduce_group(lambda rs: [list(rs)])
    assert sorted(groups.collect()) == [
        [(4, "k0", -4), (2, "k0", -2), (0, "k0", 0)],
        [(5, "k1", -5), (3, "k1", -3), (1, "k1", -1)],
    ]


@pytest.mark.parametrize("beside", [None, True, ("t",), Decimal(1), b"x"])
def test_a_key_has_one_place_whatever_is_sent_with_it(beside: Any) -> None:
    keys = ["a", 7, -3, 2.5, 1 << 70, b"bytes", True, 1, 1.0, Decimal(7), (1, "a"), None]
    route = HashRoute(3)
    alone = [route([key])[0] for key in keys]
    assert [route([key, beside])[0] for key in keys] == alone
    assert len(set(alone)) == 3
    assert route([1]) == route([True]) == route([1.0]) == route([Decimal(1)])


@pytest.mark.parametrize("call", ["reduce_group", "reduce", "distinct", "join"])
def test_a_key_that_cannot_be_hashed(call: str) -> None:
    env = ExecutionEnvironment.create_collections_environment()
    data = env.from_elements(([1], 2)).map(lambda record: record)
    ways = {
        "reduce_group": lambda: data.group_by(0).reduce_group(lambda values: values),
        "reduce": lambda: data.group_by(0).reduce(lambda a, b: a),
        "distinct": lambda: data.distinct(0),
        "join": lambda: data.join(data).where(0).equal_to(0),
    }
    with pytest.raises(TypeMismatchError) as caught:
        ways[call]().name("the groups").collect()
    assert caught.value.what == "a key must be a value that never changes"
    assert str(caught.value.where).startswith("operator 'the groups', built at ")
    assert caught.value.got == "unhashable type: 'list'"
    assert caught.value.todo == "make the key a number, a string or a tuple of such"
