"""What users write to read state out of a savepoint, and to put state into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.core.functions import Function, KeyedStateStore, RuntimeContext
from penstock.core.functions.checkpointed import CheckpointedFunction
from penstock.core.state import StateDescriptor
from penstock.core.windowing import Window

K = TypeVar("K")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class KeyedStateReaderFunction(Function, Generic[K, OUT]):
    """Read the state of each key.

    `open` asks the runtime context for state, with the descriptors of the program that wrote it.

    >>> from penstock.core.state import ValueStateDescriptor
    >>> class Totals(KeyedStateReaderFunction):
    ...     def open(self, runtime_context):
    ...         self.total = runtime_context.get_state(ValueStateDescriptor("total", None))
    ...     def read_key(self, key, ctx):
    ...         yield key, self.total.value()
    """

    class Context(ABC):
        """What is known of a key beside its state."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Return the event-time timers of the key."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Return the processing-time timers of the key."""

    @abstractmethod
    def read_key(self, key: K, ctx: Context) -> Iterable[OUT] | None:
        """Return (or yield) what is to be read of one key."""


class WindowReaderFunction(Function, Generic[IN, OUT, K, W]):
    """Read the windows of each key.

    >>> class Sizes(WindowReaderFunction):
    ...     def read_window(self, key, context, elements):
    ...         yield key, context.window().start, len(list(elements))
    """

    class Context(ABC, Generic[W2]):
        """What is known of a window beside its elements."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def trigger_state(self, descriptor: StateDescriptor) -> Any:
            """Return state that the trigger keeps for the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return where state comes from that the function keeps for the window."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return where state comes from that the function keeps for the key."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Return the event-time timers of the window."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Return the processing-time timers of the window."""

    @abstractmethod
    def read_window(
        self, key: K, context: Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Return (or yield) what is to be read of one window of one key.

        :param elements: of windows that were reduced or aggregated, the one result.
        """


class KeyedStateBootstrapFunction(Function, Generic[K, IN]):
    """Put state and timers of keys into a savepoint, record by record."""

    class Context(ABC):
        """What can be done for a record's key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record."""

        @abstractmethod
        def timer_service(self) -> Any:
            """Return where timers of the key are set."""

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> None:
        """Take one record; the state that `open` asked for is its key's."""


class StateBootstrapFunction(Function, CheckpointedFunction, Generic[IN]):
    """Put operator state into a savepoint, record by record.

    `initialize_state` asks for the state. `snapshot_state` is called after the last record.
    """

    __slots__ = ()

    @abstractmethod
    def process_element(self, value: IN, ctx: RuntimeContext) -> None:
        """Take one record."""


class BroadcastStateBootstrapFunction(Function, Generic[IN]):
    """Put broadcast state into a savepoint, record by record."""

    class Context(ABC):
        """Where broadcast state comes from."""

        @abstractmethod
        def get_broadcast_state(self, descriptor: Any) -> Any:
            """Return a broadcast state by its map state descriptor."""

    @abstractmethod
    def process_element(self, value: IN, ctx: Context) -> None:
        """Take one record."""
