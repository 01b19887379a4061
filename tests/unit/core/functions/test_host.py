"""What a function keeps in attributes goes with it into any worker, and nothing else does."""

from __future__ import annotations

import functools
import pickle
import threading
import warnings
from typing import Any

import pytest

from penstock.common.types import Row
from penstock.core.functions import IntCounter, MapFunction, RuntimeContext
from penstock.core.functions.host import FunctionHost
from penstock.core.state import ValueStateDescriptor
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import CallSite, MapSpec
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.scope import Scope
from penstock.runtime.state.keyed_backend import KeyedBackend


def make_context() -> OperatorRuntimeContext:
    plan = PlanOperator(
        id=1, uid="uid", name="map", spec=MapSpec(None), parallelism=1, max_parallelism=128,
        level=1, site=CallSite("job.py", 1), inputs=(), outputs=(),
    )  # fmt: skip
    return OperatorRuntimeContext(plan, 0, KeyedBackend("map"), Scope(), {}, False)


def opened(function: Any) -> FunctionHost:
    host = FunctionHost(function, make_context())
    host.open()
    return host


class Worker(MapFunction[Any, Any]):
    """Has attributes of all kinds."""

    def __init__(self, given: int = 1) -> None:
        self.given = given

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = getattr(self, "opened", 0) + 1
        self.state = runtime_context.get_state(ValueStateDescriptor("value"))
        self.counter = IntCounter()
        runtime_context.add_accumulator("records", self.counter)
        self.metric = runtime_context.get_metrics_group().counter("seen")
        self.lock = threading.Lock()
        self.seen: dict[str, int] = {}

    def map(self, value: Any) -> Any:
        self.seen[value] = self.seen.get(value, 0) + 1
        self.counter.add(1)
        return value


def test_a_function_that_changed_nothing_has_nothing_to_save() -> None:
    host = opened(Worker())
    assert host.function.opened == 1
    assert host.snapshot() is None


def test_attributes_go_along() -> None:
    host = opened(Worker(given=7))
    host.function.map("a")
    host.function.given = 8
    other = opened(Worker(given=7))
    saved = host.snapshot()
    assert saved is not None
    other.restore(saved)
    assert (other.function.seen, other.function.given) == ({"a": 1}, 8)
    assert other.snapshot() == saved


def contents(saved: bytes) -> dict[str, Any]:
    attributes: dict[str, Any] = pickle.loads(pickle.loads(saved)[0])
    return attributes


def test_what_the_program_gives_and_nobody_changes_is_the_programs() -> None:
    host = opened(Worker(given=1))
    host.function.map("a")
    saved = host.snapshot()
    assert saved is not None
    other = opened(Worker(given=2))
    other.restore(saved)
    assert (other.function.seen, other.function.given) == ({"a": 1}, 2)
    other.function.map("b")
    again = other.snapshot()
    assert again is not None
    host.restore(again)
    assert (host.function.seen, host.function.given) == ({"a": 1, "b": 1}, 1)


def test_what_belongs_to_the_runtime_or_cannot_be_pickled_stays_as_open_made_it() -> None:
    host, other = opened(Worker()), opened(Worker())
    host.function.map("a")
    kept = {name: getattr(other.function, name) for name in ("state", "counter", "metric", "lock")}
    saved = host.snapshot()
    assert saved is not None
    other.restore(saved)
    assert {name: getattr(other.function, name) for name in kept} == kept
    assert contents(saved).keys() == {"opened", "seen", "given", "counter"}


def test_what_was_saved_once_is_saved_even_if_it_is_as_open_made_it_again() -> None:
    host = opened(Worker())
    host.function.map("a")
    host.snapshot()
    host.function.seen.clear()
    saved = host.snapshot()
    assert saved is not None
    other = opened(Worker())
    other.function.map("b")
    other.restore(saved)
    assert other.function.seen == {}


def test_attributes_that_share_an_object_share_it_afterwards() -> None:
    host, other = opened(Worker()), opened(Worker())
    host.function.first = host.function.second = []
    other.restore(host.snapshot() or b"")
    other.function.first.append(1)
    assert other.function.second == [1]


class Helper:
    """Knows the function that it works for."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls = 0

    def call(self) -> None:
        self.calls += 1


def test_a_helper_object_that_knows_its_function_keeps_its_own_attributes() -> None:
    class Helped(MapFunction[Any, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.helper = Helper(self)
            self.handler = self.map
            self.context = [runtime_context]

        def map(self, value: Any) -> Any:
            self.helper.call()
            return value

    host, other = opened(Helped()), opened(Helped())
    host.function.map(1)
    own_context = other.function.context[0]
    other.restore(host.snapshot() or b"")
    assert other.function.helper.calls == 1
    assert other.function.helper.function is other.function
    assert other.function.handler.__self__ is other.function
    assert other.function.context[0] is own_context


def test_accumulators_are_kept_by_the_runtime_wherever_the_function_holds_them() -> None:
    class Counting(MapFunction[Any, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.counters: dict[str, IntCounter] = {}
            self.own = IntCounter()

        def map(self, value: Any) -> Any:
            if value not in self.counters:
                self.counters[value] = IntCounter()
                self.get_runtime_context().add_accumulator(value, self.counters[value])
            self.counters[value].add(1)
            self.own.add(1)
            return value

    host, context = FunctionHost(Counting(), first := make_context()), make_context()
    host.open()
    host.function.map("a")
    other = FunctionHost(Counting(), context)
    other.open()
    context.load_accumulators(first.dump_accumulators() or b"")
    other.restore(host.snapshot() or b"")
    other.function.map("a")
    assert context.accumulators["a"].get_local_value() == 2
    assert other.function.own.get_local_value() == 2


def test_an_object_of_a_local_class_goes_along_a_lambda_stays() -> None:
    class Local:
        count = 0

    class Keeping(MapFunction[Any, Any]):
        def __init__(self) -> None:
            self.local = Local()
            self.function = lambda value: value

        def map(self, value: Any) -> Any:
            self.local.count += 1
            return value

    host, other = opened(Keeping()), opened(Keeping())
    before = other.function.function
    host.function.map(1)
    other.restore(host.snapshot() or b"")
    assert other.function.local.count == 1
    assert other.function.function is before


def test_an_attribute_that_can_no_longer_be_pickled_is_left_out_from_then_on() -> None:
    host = opened(Worker())
    host.function.map("a")
    assert host.snapshot() is not None
    host.function.given = threading.Lock()
    saved = host.snapshot()
    assert saved is not None
    assert "given" not in contents(saved)
    assert contents(saved)["seen"] == {"a": 1}


@pytest.mark.parametrize("function", [lambda value: value, str.upper, int, Row("a").as_dict])
def test_a_plain_callable_has_nothing_to_open_close_or_save(function: Any) -> None:
    host = opened(function)
    assert host.snapshot() is None
    host.close()


def test_a_callable_object_has_attributes_too() -> None:
    class Adder:
        total = 0

        def __call__(self, value: int) -> int:
            self.total += value
            return self.total

    host, other = opened(Adder()), opened(Adder())
    host.function(5)
    other.restore(host.snapshot() or b"")
    assert other.function(1) == 6
    assert opened(functools.partial(int, base=2)).snapshot() is None


def test_a_large_attribute_is_warned_about_once() -> None:
    class Hoarding(MapFunction[Any, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.table = b"x" * (3 << 20)
            self.small = 1

        def map(self, value: Any) -> Any:
            return value

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        host = opened(Hoarding())
        host.snapshot()
    assert [str(warning.message) for warning in caught] == [
        "attribute 'table' of Hoarding has 3 MB and is looked at after every batch; keep large "
        "data in keyed state, or load it in open() into an object that does not pickle"
    ]


def test_an_attribute_that_went_away_elsewhere_goes_away_here() -> None:
    here, there = opened(Worker()), opened(Worker())
    here.function.extra = 1
    there.restore(here.snapshot() or b"")
    del there.function.extra
    here.restore(there.snapshot() or b"")
    assert not hasattr(here.function, "extra")
    assert here.function.lock is not None
