"""A key may be of any kind that can be pickled: without a hash it counts by its value."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, RowKind
from penstock.core.key_groups import key_group
from penstock.core.value_keys import ValueKey, unwrapped, wrapped
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.stream_execution_environment import build_plan
from penstock.datastream.window import CountTumblingWindowAssigner
from penstock.testing.local_executor import LocalJob
from tests.unit.testing.recording import RecordingSink


@dataclass
class Point:
    x: int
    y: list[int]


@dataclass(frozen=True)
class Path_:
    points: tuple[Any, ...]


class Plain:
    """Equal by its attributes, and therefore without a hash."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.name == other.name


#: Pairs of keys of equal value.
SAME = [
    ([1, [2, 3]], [1, [2, 3]]),
    ({"a": [1], "b": 2}, {"b": 2, "a": [1]}),
    ({1, 2, 3}, {3, 2, 1}),
    (bytearray(b"ab"), bytearray(b"ab")),
    (("a", [1]), ("a", [1])),
    (Point(1, [2]), Point(1, [2])),
    (Path_(([1], 2)), Path_(([1], 2))),
    (Row(a=1, b=[2]), Row(a=1, b=[2])),
    (Plain("a"), Plain("a")),
]
OTHERS = [
    [1, [2, 4]], {"a": [1], "b": 3}, {1, 2}, bytearray(b"ac"), ("a", [2]), Point(1, [3]),
    Path_(([1], 3)), Row(a=1, c=[2]), Plain("b"), [1, (2, 3)],
    Row.of_kind(RowKind.DELETE, a=1, b=[2]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), SAME, ids=[type(one).__name__ for one, _ in SAME])
def test_equal_values_are_one_key(one: Any, two: Any) -> None:
    key, again = wrapped(one), pickle.loads(pickle.dumps(wrapped(two)))
    assert key == again
    assert hash(key) == hash(again)
    assert key_group(key, 128) == key_group(again, 128)
    assert unwrapped(again) == two
    assert repr(key) == repr(one)


def test_other_values_are_other_keys() -> None:
    keys = {wrapped(one) for one, _ in SAME} | {wrapped(other) for other in OTHERS}
    assert len(keys) == len(SAME) + len(OTHERS)


def test_a_key_with_a_hash_stays_what_it_is() -> None:
    key = ("a", 1)
    assert wrapped(key) is key
    assert unwrapped(key) is key
    assert isinstance(wrapped([1]), ValueKey)


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield list(ctx.get_current_key()), self.count.value()
        ctx.get_current_key().append("changed")  # it is the function's own


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, list(elements)


def run(build: Any, folder: Path) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sink = RecordingSink()
    stream: DataStream = build(env.from_collection([1, 2, 3, 4, 5, 6]))
    stream.sink_to(sink)
    LocalJob(build_plan(env), folder, cuts=2).run(["a", "b"])
    return sink.values()


def test_state_and_functions_of_a_key_that_is_a_list(tmp_path: Path) -> None:
    found = run(lambda stream: stream.key_by(lambda n: [n % 2]).process(Count()), tmp_path)
    assert sorted(found) == [([0], 1), ([0], 2), ([0], 3), ([1], 1), ([1], 2), ([1], 3)]


def test_windows_of_a_key_that_is_a_dict(tmp_path: Path) -> None:
    def build(stream: DataStream) -> DataStream:
        keyed = stream.key_by(lambda n: {"odd": n % 2})
        return keyed.window(CountTumblingWindowAssigner.of(3)).process(Listed())

    assert sorted(run(build, tmp_path), key=str) == [
        ({"odd": 0}, [2, 4, 6]),
        ({"odd": 1}, [1, 3, 5]),
    ]
