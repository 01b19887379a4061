"""What is wrong with a use of state is said in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream import (
    AsyncFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.errors import StateError
from penstock.testing import OneInputHarness
from tests.unit.state.test_ttl import Listing


def said(call: Callable[[], Any]) -> str:
    with pytest.raises(StateError) as caught:
        call()
    return str(caught.value)


class Asking(KeyedProcessFunction):
    """Ask for states in open()."""

    def __init__(self, *wanted: tuple[str, Any]) -> None:
        self.wanted = wanted

    def open(self, runtime_context: RuntimeContext) -> None:
        for method, descriptor in self.wanted:
            getattr(runtime_context, method)(descriptor)

    def process_element(self, value: Any, ctx: Any) -> None:
        pass


class AskingWithoutKey(Asking, ProcessFunction):
    pass


class Mapping(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("s"))

    def map(self, value: Any) -> Any:
        return value


def test_state_without_a_keyed_stream() -> None:
    assert said(lambda: OneInputHarness(Mapping(), name="enrich")) == (
        "keyed state can only be used on a keyed stream\n"
        "  where: operator 'enrich', built at test:1\n"
        "  to do: call key_by(...) on the stream in front of this function"
    )


class Timing(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10)


def test_a_timer_without_a_keyed_stream() -> None:
    assert said(lambda: OneInputHarness(Timing()).process_element("x")) == (
        "timers can only be set on a keyed stream\n"
        "  where: operator 'operator', built at test:1\n"
        "  to do: call key_by(...) in front and use a keyed process function"
    )


DESCRIPTORS: dict[str, tuple[str, Any]] = {
    "value": ("get_state", ValueStateDescriptor("s")),
    "list": ("get_list_state", ListStateDescriptor("s")),
    "map": ("get_map_state", MapStateDescriptor("s")),
    "reducing": ("get_reducing_state", ReducingStateDescriptor("s", max)),
    "aggregating": ("get_aggregating_state", AggregatingStateDescriptor("s", Listing())),
}


@pytest.mark.parametrize("first", DESCRIPTORS)
@pytest.mark.parametrize("second", DESCRIPTORS)
def test_one_name_is_one_kind(first: str, second: str) -> None:
    function = Asking(DESCRIPTORS[first], DESCRIPTORS[second])
    if first == second:
        OneInputHarness(function, str)
        return
    tables = {"reducing": "value", "aggregating": "value"}
    if tables.get(first, first) != tables.get(second, second):
        first, second = tables.get(first, first), tables.get(second, second)
    assert said(lambda: OneInputHarness(function, str)) == (
        f"state 's' is a {first} state already, it cannot be a {second} state too\n"
        "  where: operator 'operator', built at test:1\n"
        "  to do: give each state of a function its own name"
    )


def test_a_descriptor_for_another_method() -> None:
    function = Asking(("get_state", MapStateDescriptor("s")))
    assert said(lambda: OneInputHarness(function, str)) == (
        "get_state() needs a ValueStateDescriptor\n"
        "  where: operator 'operator', built at test:1\n"
        "  got:   MapStateDescriptor('s')\n"
        "  to do: pass the descriptor that belongs to the method"
    )


NO_KEY = (
    "keyed state or a timer was used while there is no current key\n"
    "  where: {where}operator 'operator', built at test:1\n"
    "  to do: use them in process_element() and on_timer(), not in open(), close() or "
    "snapshot_state(); the broadcast side visits all keys by ctx.apply_to_keyed_state()"
)


class UsedTooEarly(KeyedProcessFunction):
    def __init__(self, use: Callable[[RuntimeContext], Any]) -> None:
        self.use = use

    def open(self, runtime_context: RuntimeContext) -> None:
        self.use(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> None:
        pass


@pytest.mark.parametrize(
    "use",
    [
        lambda context: context.get_state(ValueStateDescriptor("s")).value(),
        lambda context: context.get_state(ValueStateDescriptor("s")).update(1),
        lambda context: context.get_list_state(ListStateDescriptor("s")).add(1),
        lambda context: context.get_map_state(MapStateDescriptor("s")).put(1, 1),
        lambda context: context.get_map_state(MapStateDescriptor("s")).is_empty(),
        lambda context: context.get_reducing_state(ReducingStateDescriptor("s", max)).add(1),
    ],
)
def test_state_outside_of_any_record(use: Any) -> None:
    text = said(lambda: OneInputHarness(UsedTooEarly(use), str))
    assert text == NO_KEY.format(where="open() of ")


class UsedTooLate(KeyedProcessFunction, CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_keyed_state_store().get_state(ValueStateDescriptor("s"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.state.update(value)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update("!")


def test_keyed_state_in_a_snapshot() -> None:
    harness = OneInputHarness(UsedTooLate(), str)
    harness.process_element("x")
    assert said(harness.cut) == NO_KEY.format(where="snapshot_state() of ")


class AskingLater(AsyncFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("s"))

    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


def test_state_in_an_asynchronous_function() -> None:
    assert said(lambda: OneInputHarness(AskingLater(), str)) == (
        "an asynchronous function has no keyed state\n"
        "  where: operator 'operator', built at test:1\n"
        "  to do: keep it in a process function in front of this one or behind it"
    )


class Twice(KeyedProcessFunction, CheckpointedFunction):
    """Ask for operator states in initialize_state()."""

    def __init__(self, *wanted: tuple[str, Any]) -> None:
        self.wanted = wanted

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        for method, descriptor in self.wanted:
            getattr(context.get_operator_state_store(), method)(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass


def test_one_name_is_one_kind_of_operator_state() -> None:
    function = Twice(
        ("get_list_state", ListStateDescriptor("s")),
        ("get_union_list_state", ListStateDescriptor("s")),
    )
    assert said(lambda: OneInputHarness(function, str)) == (
        "operator state 's' is a list state already, it cannot be a union list state too\n"
        "  where: operator 'operator', built at test:1\n"
        "  to do: give each state of a function its own name"
    )


def test_a_wrong_descriptor_of_operator_state() -> None:
    function = Twice(("get_broadcast_state", ListStateDescriptor("s")))
    assert said(lambda: OneInputHarness(function, str)) == (
        "a broadcast state needs a MapStateDescriptor\n"
        "  where: operator 'operator', built at test:1\n"
        "  got:   ListStateDescriptor('s')\n"
        "  to do: pass the descriptor that belongs to the method"
    )
