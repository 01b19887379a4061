"""State that expires against a model that looks at everything, with cuts and changes of worker."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Time
from penstock.core.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.runtime.state.backends import make_backend

pytestmark = pytest.mark.usefixtures("backend")

TTL = 20
KEYS = st.sampled_from("ab")
NAMES = st.sampled_from("xy")

OPERATIONS = st.one_of(
    st.tuples(st.just("put"), KEYS, NAMES),
    st.tuples(st.just("remove"), KEYS, NAMES),
    st.tuples(st.just("clear"), KEYS, NAMES),
    st.tuples(st.just("read"), KEYS, NAMES),
    st.tuples(st.just("cut"), st.integers(0, 15), st.booleans()),
)


class Model:
    """Maps, lists and values whose entries know when they were renewed."""

    def __init__(self, by_reading: bool) -> None:
        self.now = 0
        self.by_reading = by_reading
        self.value: dict[str, tuple[str, int]] = {}
        self.list: dict[str, list[tuple[str, int]]] = {}
        self.map: dict[str, dict[str, int]] = {}

    def alive(self, renewed: int) -> bool:
        return renewed + TTL > self.now

    def put(self, key: str, name: str) -> None:
        self.value[key] = (name, self.now)
        self.list.setdefault(key, []).append((name, self.now))
        self.map.setdefault(key, {})[name] = self.now

    def remove(self, key: str, name: str) -> None:
        self.map.get(key, {}).pop(name, None)

    def clear(self, key: str) -> None:
        for state in (self.value, self.list, self.map):
            state.pop(key, None)  # type: ignore[attr-defined]

    def read(self, key: str) -> Any:
        value = self.value.get(key)
        elements = [e for e in self.list.get(key, []) if self.alive(e[1])]
        entries = {n: t for n, t in self.map.get(key, {}).items() if self.alive(t)}
        if value is not None and not self.alive(value[1]):
            value = None
        self.clear(key)
        now = self.now
        if value is not None:
            self.value[key] = (value[0], now if self.by_reading else value[1])
        self.list[key] = [(name, now if self.by_reading else at) for name, at in elements]
        self.map[key] = {name: now if self.by_reading else at for name, at in entries.items()}
        return value and value[0], [name for name, _ in elements], sorted(entries)


class Real:
    """The same in a backend; every cut takes a delta, and a move starts from all of them."""

    def __init__(self, by_reading: bool, cleaned: bool) -> None:
        self.now = 0
        self.by_reading = by_reading
        self.cleaned = cleaned
        self.deltas: list[Any] = []
        self.load()

    def load(self) -> None:
        self.backend = make_backend("operator", lambda: self.now, {})
        # Half of the deltas before the handles exist, as in a job that asks for state late.
        half = len(self.deltas) // 2
        for delta in self.deltas[:half]:
            self.backend.apply(delta)
        self.value = self.backend.get_state(self.described(ValueStateDescriptor("value")))
        self.list = self.backend.get_list_state(self.described(ListStateDescriptor("list")))
        self.map = self.backend.get_map_state(self.described(MapStateDescriptor("map")))
        self.backend.flush()
        for delta in self.deltas[half:]:
            self.backend.apply(delta)
        self.backend.settle()

    def described(self, descriptor: Any) -> Any:
        config = StateTtlConfig.new_builder(Time.milliseconds(TTL))
        if self.by_reading:
            config.update_ttl_on_read_and_write()
        if not self.cleaned:
            config.disable_cleanup_in_background()
        descriptor.enable_time_to_live(config.build())
        return descriptor

    def put(self, key: str, name: str) -> None:
        self.backend.context.key = key
        self.value.update(name)
        self.list.add(name)
        self.map.put(name, name)

    def remove(self, key: str, name: str) -> None:
        self.backend.context.key = key
        self.map.remove(name)

    def clear(self, key: str) -> None:
        self.backend.context.key = key
        self.value.clear()
        self.list.clear()
        self.map.clear()

    def read(self, key: str) -> Any:
        self.backend.context.key = key
        empty = self.map.is_empty()
        entries = sorted(self.map.items())
        assert empty is not bool(entries)
        return self.value.value(), list(self.list.get()), [name for name, _ in entries]

    def cut(self, later: int, moved: bool) -> None:
        self.deltas.append(self.backend.take_delta())
        self.backend.flush()
        self.now += later
        if moved:
            self.load()
        self.backend.expire()

    def held(self, model: Model) -> None:
        """Check that nothing is held which has expired, if it is to be cleaned up."""
        for key in "ab":
            self.backend.context.key = key
            stamped = self.backend.tables["map\0ttl"].data.get(key, {})
            assert all(model.alive(time) for time in stamped.values())


@settings(deadline=None)
@given(st.lists(OPERATIONS, max_size=40), st.booleans(), st.booleans())
def test_as_the_model_says(operations: list[Any], by_reading: bool, cleaned: bool) -> None:
    model, real = Model(by_reading), Real(by_reading, cleaned)
    for kind, first, second in operations:
        if kind == "cut":
            real.cut(first, second)
            model.now = real.now
            if cleaned:
                real.held(model)
        elif kind == "read":
            assert real.read(first) == model.read(first)
        elif kind == "clear":
            model.clear(first)
            real.clear(first)
        else:
            getattr(model, kind)(first, second)
            getattr(real, kind)(first, second)
    for key in "ab":
        assert real.read(key) == model.read(key)
