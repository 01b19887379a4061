"""Broadcast process functions: data as first input, what every subtask is told as second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.core.output_tag import OutputTag, tag_id_of
from penstock.core.state import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    State,
    StateDescriptor,
)
from penstock.core.time import TimeDomain, TimerService
from penstock.core.value_keys import unwrapped
from penstock.errors import StateError, show_value
from penstock.graph.specs import BroadcastProcessSpec, KeyedBroadcastProcessSpec
from penstock.runtime.calls import method_of
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.process import ResultOperator, TimerOperator
from penstock.runtime.state.broadcast_state import ReadOnlyBroadcastStateHandle
from penstock.runtime.state.handles import NO_KEY


class BroadcastStates:
    """The broadcast states of one operator, as both sides see them."""

    def __init__(self, operator: Operator) -> None:
        spec: BroadcastProcessSpec | KeyedBroadcastProcessSpec = operator.spec
        store = operator.context.operator_state
        self._where = operator.plan.describe()
        self._written: dict[str, BroadcastState[Any, Any]] = {}
        self._read: dict[str, ReadOnlyBroadcastStateHandle] = {}
        for descriptor in spec.descriptors:
            name = descriptor.name
            handle = store.get_broadcast_state(descriptor)
            self._written[name] = handle
            self._read[name] = ReadOnlyBroadcastStateHandle(name, handle.table, self._where)

    def to_write(self, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Return a state as the broadcast side sees it."""
        return self._written[self._name(descriptor)]

    def to_read(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """Return a state as the side with the data sees it."""
        return self._read[self._name(descriptor)]

    def forget_copies(self) -> None:
        """Let the side with the data read anew."""
        for handle in self._read.values():
            handle.forget_copies()

    def _name(self, descriptor: MapStateDescriptor) -> str:
        name: Any = getattr(descriptor, "name", None)
        if name not in self._written:
            known = ", ".join(map(repr, self._written))
            raise StateError(
                "the stream was not broadcast with this descriptor",
                where=self._where,
                got=f"{show_value(descriptor)}; broadcast were: {known}",
                todo="pass the descriptor to stream.broadcast(...) as well",
            )
        return str(name)


class _BaseContext(BaseBroadcastProcessFunction.BaseContext):
    """What both sides can ask."""

    def __init__(self, operator: ResultOperator, states: BroadcastStates) -> None:
        self._operator = operator
        self._scope = operator.scope
        self._states = states

    def timestamp(self) -> int | None:
        return self._scope.timestamp

    def current_processing_time(self) -> int:
        return self._scope.time

    def current_watermark(self) -> int:
        return self._operator.watermark

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self._operator.output.to_side(tag_id_of(output_tag), value)


class _WriteContext(_BaseContext, BroadcastProcessFunction.Context):
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._states.to_write(state_descriptor)


class _ReadContext(_BaseContext, BroadcastProcessFunction.ReadOnlyContext):
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> ReadOnlyBroadcastState[Any, Any]:
        return self._states.to_read(state_descriptor)


class _KeyedWriteContext(_WriteContext, KeyedBroadcastProcessFunction.Context):
    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, State], None]
    ) -> None:
        backend = self._operator.backend
        assert backend is not None
        call = method_of(function, "process")
        state = backend.state(state_descriptor)
        context = backend.context
        try:
            # A list of them: the function may clear the state of the key it is called for.
            for context.key in backend.keys_with(state_descriptor):
                call(unwrapped(context.key), state)
        finally:
            context.key = NO_KEY


class _KeyedReadContext(_ReadContext, KeyedBroadcastProcessFunction.ReadOnlyContext):
    def __init__(self, operator: ResultOperator, states: BroadcastStates) -> None:
        super().__init__(operator, states)
        self._timers = operator.timers()

    def timer_service(self) -> TimerService:
        return self._timers

    def get_current_key(self) -> Any:
        backend = self._operator.backend
        return None if backend is None else unwrapped(backend.context.key)


class _KeyedTimerContext(_KeyedReadContext, KeyedBroadcastProcessFunction.OnTimerContext):
    domain = TimeDomain.EVENT_TIME
    fired_at: int | None = None

    def timestamp(self) -> int | None:
        return self.fired_at

    def time_domain(self) -> TimeDomain:
        return self.domain


class BroadcastProcessOperator(ResultOperator):
    """A broadcast process function on a stream that is not keyed."""

    def open(self) -> None:
        """Open the user's function."""
        self._states = BroadcastStates(self)
        self._reading = _ReadContext(self, self._states)
        self._writing = _WriteContext(self, self._states)
        self._function = self.host(self.spec.function)
        super().open()

    def process(self, value: Any) -> None:
        """Take one record of the stream with the data."""
        self.send(self._function.process_element(value, self._reading))

    def process2(self, value: Any) -> None:
        """Take one record of the broadcast stream."""
        self._states.forget_copies()
        self.send(self._function.process_broadcast_element(value, self._writing))

    def end_batch(self) -> None:
        """Let go of copies of the state."""
        self._states.forget_copies()


class KeyedBroadcastProcessOperator(TimerOperator):
    """A broadcast process function on a keyed stream."""

    def open(self) -> None:
        """Open the user's function."""
        self._states = BroadcastStates(self)
        self._reading = _KeyedReadContext(self, self._states)
        self._writing = _KeyedWriteContext(self, self._states)
        self.function = self.host(self.spec.function)
        super().open()
        self._timer_context = _KeyedTimerContext(self, self._states)

    def process(self, value: Any) -> None:
        """Take one record of the stream with the data."""
        self.send(self.function.process_element(value, self._reading))

    def process2(self, value: Any) -> None:
        """Take one record of the broadcast stream: it has no key."""
        assert self.backend is not None
        self.backend.context.key = NO_KEY
        self._states.forget_copies()
        self.send(self.function.process_broadcast_element(value, self._writing))

    def end_batch(self) -> None:
        """Let go of copies of the state."""
        self._states.forget_copies()
