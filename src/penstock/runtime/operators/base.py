"""One subtask of one operator: the part that all kinds share.

An operator takes records one by one through `process` (and `process2` on its second input), or
many at once through `process_all`, and hands results to `emit`. What stands behind `emit` is wired
by the task: the next operator's `process` itself where there is only one, so that a chain of
operators is a chain of plain calls.

`process_all` may be given a lazy iterable and may pass one on. Whoever pulls it works record by
record through the whole chain, so a record is done with before the next one starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.core.functions import FunctionSnapshotContext
from penstock.core.functions.host import FunctionHost
from penstock.core.metrics import Counter
from penstock.core.time import MIN_WATERMARK
from penstock.errors import ProgramError, show_value
from penstock.graph.plan import PlanOperator
from penstock.runtime.calls import method_of
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.outputs import Output
from penstock.runtime.scope import Scope
from penstock.runtime.state.handles import NO_KEY
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.runtime.state.operator_state import is_operator_state
from penstock.runtime.state.tables import Inventory

#: The counter of operators that drop late records; Flink's name for it.
LATE_DROPPED = "numLateRecordsDropped"


class Operator:
    """Base of all runtime operators."""

    #: Whether every record that comes gives one that goes, on the main output.
    one_to_one = False
    #: Whether records leave the job here.
    is_end = False

    def __init__(self, plan: PlanOperator, context: OperatorRuntimeContext, scope: Scope) -> None:
        self.plan = plan
        self.spec: Any = plan.spec
        self.subtask = context.get_index_of_this_subtask()
        self.context = context
        self.scope = scope
        self.backend: KeyedBackend | None = context.backend
        self.batch_mode = context.batch_mode
        self.watermark = MIN_WATERMARK
        self.finished = False
        self._checkpoints = 0  # how often operator state was saved
        self._hosts: list[FunctionHost] = []
        self.emit: Callable[[Any], None]
        self.emit_all: Callable[[Iterable[Any]], None]
        self.output: Output
        #: Tells whether nothing more will come from an input. The task knows.
        self.input_has_ended: Callable[[int], bool] = lambda index: self.finished
        #: Lets processing time come to a later point of the batch, for the whole task.
        self.reach_time: Callable[[int], None] = lambda time: None

    def wire(self, output: Output) -> None:
        """Connect the output. Called once, before `open`."""
        self.output = output
        self.emit = output.process
        self.emit_all = output.process_all

    def host(self, function: Any) -> Any:
        """Take a user function in: it is opened, closed and its attributes are kept."""
        self._hosts.append(FunctionHost(function, self.context))
        return function

    def emit_results(self, results: Iterable[Any] | None) -> None:
        """Send on what the user's function returned; it may be a generator, and fail here."""
        if results is not None:
            emit = self.emit
            try:
                for result in results:
                    emit(result)
            except TypeError:
                self.require_iterable(results)
                raise

    def require_iterable(self, results: Any) -> None:
        """Check what the user's function returned, after a loop over it has failed.

        :raises ProgramError: if it is one value where any number of results is due.
        """
        if not hasattr(results, "__iter__"):
            raise ProgramError(
                f"the function of {self.plan.name!r} returned a value where results are due",
                where=self.plan.describe(),
                got=f"{type(results).__name__} {show_value(results)}",
                todo="yield it, or return a list: [value]; None and [] mean no result",
            ) from None

    def call(self, function: Any, name: str) -> Callable[[Any], Any]:
        """Host a function of one argument and return how to call it."""
        return method_of(self.host(function), name)

    # --- life cycle -----------------------------------------------------------------------

    def open(self) -> None:
        """Open the user's functions."""
        for host in self._hosts:
            host.open()

    def begin_batch(self) -> None:
        """Prepare for a batch."""

    def end_batch(self) -> None:
        """Send on what was held back; nothing may be left over for the next batch but state."""

    def save_operator_state(self) -> None:
        """Have functions that keep operator state bring it up to date; the batch has ended."""
        hosts = [host for host in self._hosts if host.checkpointed]
        if not hosts:
            return
        self._checkpoints += 1
        if self.backend is not None:
            self.backend.context.key = NO_KEY
        context = FunctionSnapshotContext(self._checkpoints, self.scope.time)
        for host in hosts:
            host.save_operator_state(context)

    def end_input(self) -> None:
        """React to the end of all inputs, behind the last watermark."""

    def close(self) -> None:
        """Close the user's functions."""
        for host in self._hosts:
            host.close()

    # --- records --------------------------------------------------------------------------

    def process(self, value: Any) -> None:
        """Take one record of the first input."""
        raise TypeError(f"{type(self).__name__} takes no records")

    def process2(self, value: Any) -> None:
        """Take one record of the second input."""
        raise TypeError(f"{type(self).__name__} has one input only")

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records of the first input."""
        process = self.process
        for value in values:
            process(value)

    def process_all2(self, values: Iterable[Any]) -> None:
        """Take many records of the second input."""
        process = self.process2
        for value in values:
            process(value)

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many records of the first input, each under its key."""
        self._process_keyed(self.process, keys, timestamps, values)

    def process_keyed2(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many records of the second input, each under its key."""
        self._process_keyed(self.process2, keys, timestamps, values)

    def _process_keyed(
        self,
        process: Callable[[Any], None],
        keys: list[Any],
        timestamps: list[Any] | None,
        values: list[Any],
    ) -> None:
        assert self.backend is not None
        context, scope = self.backend.context, self.scope
        if timestamps is None:
            scope.timestamp = None
            for context.key, value in zip(keys, values, strict=True):
                process(value)
        else:
            for context.key, scope.timestamp, value in zip(keys, timestamps, values, strict=True):
                process(value)

    # --- time -----------------------------------------------------------------------------

    def advance_watermark(self, watermark: int) -> None:
        """Set the clock, fire the timers up to it, send it on: in this order, as Flink does."""
        self.watermark = watermark
        if self.backend is not None and watermark >= self.backend.event_timers.earliest:
            self.fire_event_timers(watermark)
        self.on_watermark(watermark)
        self.output.watermark(watermark)

    def on_watermark(self, watermark: int) -> None:
        """React to a new watermark, after the timers and before it is sent on."""

    def fire_event_timers(self, until: int) -> None:
        """Fire the event-time timers that a watermark has reached; their owners are windows."""
        assert self.backend is not None
        context, scope = self.backend.context, self.scope
        for timestamp, (key, namespace) in self.backend.event_timers.due(until):
            context.key = key
            scope.timestamp = timestamp
            self.on_event_timer(timestamp, key, namespace)

    def fire_processing_timers(self, time: int) -> None:
        """Fire the processing-time timers that are due at the beginning of a batch."""
        if self.backend is None:
            return
        context, scope = self.backend.context, self.scope
        for timestamp, (key, namespace) in self.backend.processing_timers.due(time):
            context.key = key
            scope.timestamp = None
            self.on_processing_timer(timestamp, key, namespace)

    def next_processing_time(self) -> int | None:
        """Return when this operator wants a batch even if there is no data."""
        return None if self.backend is None else self.backend.processing_timers.next_time()

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """React to an event-time timer of a window."""

    def on_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """React to a processing-time timer of a window."""

    # --- what is told of it ---------------------------------------------------------------

    def take_fired(self) -> int:
        """Return how many timers have fired since the last call."""
        if self.backend is None:
            return 0
        return self.backend.event_timers.take_fired() + self.backend.processing_timers.take_fired()

    def take_published(self) -> int:
        """Return how many bytes have gone to be published since the last call."""
        return 0

    def late_counter(self) -> Counter:
        """Return the counter of records that are dropped because they are late."""
        return self.context.metrics.counter(LATE_DROPPED)

    def late_dropped(self) -> int:
        """Return how many records have been dropped so far because they were late."""
        dropped = self.context.metrics.find(LATE_DROPPED)
        return 0 if dropped is None else int(dropped.report())

    # --- what the gate says ---------------------------------------------------------------

    def change_idle(self, idle: bool) -> None:
        """All inputs have gone idle, or one has come back."""
        self.output.set_idle(idle)

    def finish_input(self) -> None:
        """All inputs have ended. Pending processing-time timers never fire, as in Flink."""
        self.finished = True
        self.end_input()
        if self.backend is not None:
            self.backend.processing_timers.clear()
        self.output.end()

    # --- state that is not keyed ----------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """Return what the next batch must know beside keyed state; picklable."""
        state: dict[str, Any] = {}
        for i, host in enumerate(self._hosts):
            if (saved := host.snapshot()) is not None:
                state[f"function{i}"] = saved
        if (counters := self.context.dump_accumulators()) is not None:
            state["accumulators"] = counters
        if (metrics := self.context.dump_metrics()) is not None:
            state["metrics"] = metrics
        if self.watermark != MIN_WATERMARK or self.finished:
            state["time"] = (self.watermark, self.finished)
        if self._checkpoints:
            state["checkpoints"] = self._checkpoints
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Undo `snapshot`. Called after `open`."""
        if "accumulators" in state:  # first: attributes may refer to them
            self.context.load_accumulators(state["accumulators"])
        for i, host in enumerate(self._hosts):
            if (saved := state.get(f"function{i}")) is not None:
                host.restore(saved)
        if "metrics" in state:
            self.context.load_metrics(state["metrics"])
        self.watermark, self.finished = state.get("time", (MIN_WATERMARK, False))
        self._checkpoints = state.get("checkpoints", 0)

    # --- state that is written entry by entry ---------------------------------------------

    def take_delta(self) -> dict[str, tuple[str, Any]]:
        """Return what changed since the last call: by place, its kind and its delta."""
        changes = {} if self.backend is None else self.backend.take_delta()
        changes.update(self.context.operator_state.take_delta())
        return changes

    def apply(self, changes: dict[str, tuple[str, Any]]) -> None:
        """Lay a delta over the state. Call `settle` after the last one."""
        self.context.operator_state.apply(changes)
        if self.backend is not None:
            self.backend.apply(
                {place: change for place, change in changes.items()
                 if not is_operator_state(change[0])}
            )  # fmt: skip

    def settle(self) -> None:
        """Make everything ready for work after the last `apply`."""
        if self.backend is not None:
            self.backend.settle()

    def flush(self) -> None:
        """Let go of memory when a batch is over and written."""
        if self.backend is not None:
            self.backend.flush()

    def inventory(self) -> Iterator[Inventory]:
        """List what there is to be written anew."""
        if self.backend is not None:
            yield from self.backend.inventory()
        yield from self.context.operator_state.inventory()
