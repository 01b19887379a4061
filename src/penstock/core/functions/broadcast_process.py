"""Process functions of a stream that is connected with a broadcast one.

The broadcast side writes broadcast state, the side with the data reads it. See `process` for what
the methods return.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions.base import Function
from penstock.core.functions.context import SideOutputContext
from penstock.core.state.descriptors import MapStateDescriptor, StateDescriptor
from penstock.core.state.interfaces import BroadcastState, ReadOnlyBroadcastState, State
from penstock.core.time import TimeDomain, TimerService

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class BaseBroadcastProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Base of both broadcast process functions: their contexts."""

    class BaseContext(SideOutputContext):
        """What is known while a record of either side is processed."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the record's timestamp in epoch milliseconds, or None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in epoch milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the operator's watermark."""

    class Context(BaseContext):
        """What the broadcast side can do: write the state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> BroadcastState[Any, Any]:
            """Return the broadcast state.

            :raises StateError: if the stream was not broadcast with this descriptor.
            """

    class ReadOnlyContext(BaseContext):
        """What the side with the data can do: read the state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]:
            """Return the broadcast state for reading.

            :raises StateError: if the stream was not broadcast with this descriptor.
            """


class BroadcastProcessFunction(BaseBroadcastProcessFunction[IN1, IN2, OUT]):
    """Process a stream that is not keyed, connected with a broadcast one."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BaseBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT] | None:
        """Process a record of the stream with the data."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BaseBroadcastProcessFunction.Context
    ) -> Iterable[OUT] | None:
        """Process a record of the broadcast stream; called in every subtask.

        Must do the same to the state in every subtask, or the copies drift apart.
        """


class KeyedBroadcastProcessFunction(
    BaseBroadcastProcessFunction[IN1, IN2, OUT], Generic[KEY, IN1, IN2, OUT]
):
    """Process a keyed stream, connected with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context):
        """What the broadcast side can do: write the state, and visit the state of all keys."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, State], None]
        ) -> None:
            """Call `function(key, state)` for every key of this subtask that has this state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What the side with the data can do: read broadcast state, use keyed state and timers."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the clocks and the timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record."""

    class OnTimerContext(ReadOnlyContext):
        """What is known while a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return the clock that the timer follows."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Iterable[OUT] | None:
        """Process a record of the stream with the data."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Iterable[OUT] | None:
        """Process a record of the broadcast stream; called in every subtask, without a key."""

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[OUT] | None:
        """React to a timer of the current key that has fired."""
        return None
