"""A harness for one operator: feed it elements and watermarks, read what comes out.

No job, no cluster: a test of an operator takes milliseconds. State can be cut into batches, saved
and loaded at any point, as it is when a job runs.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import cloudpickle

from penstock.core.output_tag import OutputTag
from penstock.core.state import MapState, StateDescriptor, ValueState
from penstock.core.time import MAX_WATERMARK, Watermark
from penstock.core.value_keys import wrapped
from penstock.errors import PenstockError
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import CallSite, OperatorSpec
from penstock.runtime.build import OPERATORS
from penstock.runtime.calls import method_of
from penstock.runtime.codec import freeze, thaw
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.failure import describe
from penstock.runtime.gate import Gate
from penstock.runtime.operators.base import Operator
from penstock.runtime.outputs import Consumer, Output
from penstock.runtime.scope import Scope
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.keyed_backend import KeyedBackend


class Record(NamedTuple):
    """A record as it left an operator."""

    value: Any
    timestamp: int | None = None


class _Capture:
    """Take note of everything that an operator sends."""

    def __init__(self, events: list[Any], scope: Scope) -> None:
        self._events = events
        self._scope = scope

    def process(self, value: Any) -> None:
        # A copy, as if it travelled: what the operator does to the object later must not show.
        self._events.append(Record(thaw(freeze(value)), self._scope.timestamp))

    def process_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.process(value)

    def watermark(self, watermark: int) -> None:
        self._events.append(Watermark(watermark))

    def set_idle(self, idle: bool) -> None:
        """Nothing is noted of idleness."""

    def end(self) -> None:
        """Nothing is noted of the end."""


class _SideCapture(_Capture):
    def watermark(self, watermark: int) -> None:
        """Only the main output takes note of watermarks."""


class OperatorHarness:
    """One subtask of one operator.

    >>> from penstock.graph.specs import Reduced, WindowSpec
    >>> from penstock.core.windowing import EventTimeTrigger, TumblingEventTimeWindows
    >>> spec = WindowSpec(TumblingEventTimeWindows(10), EventTimeTrigger(), Reduced(max))
    >>> harness = OperatorHarness(spec, key_selector=lambda value: value % 2)
    >>> harness.process_element(4, 1)
    >>> harness.process_element(6, 2)
    >>> harness.process_watermark(9)
    >>> harness.take_output()
    [Record(value=6, timestamp=9), Watermark(timestamp=9)]

    :param spec: what the operator does.
    :param key_selector: the key of a record; of a keyed operator. A pair for one of two inputs.
    :param side_outputs: tags whose records are to be noted.
    :param channels: how many upstream subtasks send to each input.
    :param settings: settings of the job, by configuration key.
    """

    def __init__(
        self,
        spec: OperatorSpec,
        key_selector: Any = None,
        *,
        side_outputs: Iterable[OutputTag[Any] | str] = (),
        channels: int = 1,
        name: str = "operator",
        settings: dict[str, Any] | None = None,
        batch_mode: bool = False,
        processing_time: int = 0,
    ) -> None:
        self._spec = spec
        selectors = key_selector if isinstance(key_selector, tuple) else (key_selector,) * 2
        self._keys = [None if each is None else method_of(each, "get_key") for each in selectors]
        self._tags = [tag if isinstance(tag, str) else tag.tag_id for tag in side_outputs]
        self._channels = [(index, channel) for index in (0, 1) for channel in range(channels)]
        self._site = CallSite("test", 1)
        self._name = name
        self._settings = settings or {}
        self._batch_mode = batch_mode
        self._log: list[Any] = []
        self._events: list[Any] = []
        self._side_events: dict[str, list[Any]] = {tag: [] for tag in self._tags}
        self._make(processing_time)
        self._open()

    def _make(self, processing_time: int) -> None:
        spec = cloudpickle.loads(cloudpickle.dumps(self._spec))
        plan = PlanOperator(
            id=1, uid="uid", name=self._name, spec=spec, parallelism=1, max_parallelism=128,
            level=1, site=self._site, inputs=(), outputs=(),
        )  # fmt: skip
        scope = self._scope = Scope()
        scope.time = processing_time
        self.backend: KeyedBackend | None = None
        if spec.keyed:
            self.backend = make_backend(plan.describe(), lambda: scope.time, self._settings)
        context = OperatorRuntimeContext(
            plan, 0, self.backend, self._scope, self._settings, self._batch_mode
        )
        self.operator: Operator = OPERATORS[type(spec)](plan, context, self._scope)
        main: list[Consumer] = [_Capture(self._events, self._scope)]
        sides: dict[str, list[Consumer]] = {
            tag: [_SideCapture(events, self._scope)] for tag, events in self._side_events.items()
        }
        self.operator.wire(Output(main, sides))
        self._gate = Gate(self.operator, self._channels)

    def _open(self) -> None:
        with located():
            self.operator.open()
            self.operator.begin_batch()

    # --- input ----------------------------------------------------------------------------

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Feed one record."""
        self.process_elements([(value, timestamp)])

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Feed one record to the second input."""
        self.process_elements([(value, timestamp)], 1)

    def process_elements(
        self, records: Iterable[tuple[Any, int | None]], input_index: int = 0
    ) -> None:
        """Feed records in one go, as a chunk of an exchange is."""
        values, times = map(list, zip(*records, strict=True))
        key_of = self._keys[input_index]
        operator = self.operator
        with located():
            if key_of is None or self.backend is None:
                process = operator.process if input_index == 0 else operator.process2
                for value, self._scope.timestamp in zip(values, times, strict=True):
                    process(value)
                return
            process_keyed = operator.process_keyed if input_index == 0 else operator.process_keyed2
            process_keyed([wrapped(key_of(value)) for value in values], times, values)

    def process_watermark(self, watermark: int, channel: int = 0) -> None:
        """Feed a watermark to all inputs."""
        self.process_watermark1(watermark, channel)
        self.process_watermark2(watermark, channel)

    def process_watermark1(self, watermark: int, channel: int = 0) -> None:
        """Feed a watermark to the first of two inputs."""
        with located():
            self._gate.advance((0, channel), watermark)

    def process_watermark2(self, watermark: int, channel: int = 0) -> None:
        """Feed a watermark to the second input."""
        with located():
            self._gate.advance((1, channel), watermark)

    def set_idle(self, channel: int, idle: bool = True) -> None:
        """Let a channel go idle, or come back."""
        for index in (0, 1):
            self._gate.set_idle((index, channel), idle)

    def set_processing_time(self, time: int) -> None:
        """Let processing time reach a point: state expires, timers that are due fire."""
        self._scope.time = time
        with located():
            if self.backend is not None:
                self.backend.expire()
            self.operator.fire_processing_timers(time)

    def advance_processing_time(self, milliseconds: int) -> None:
        """Let processing time pass."""
        self.set_processing_time(self._scope.time + milliseconds)

    def end_input(self) -> None:
        """Let the input end, as a bounded one does: behind the largest watermark."""
        with located():
            for channel in self._channels:
                self._gate.advance(channel, MAX_WATERMARK)
            for channel in self._channels:
                self._gate.end(channel)

    # --- output ---------------------------------------------------------------------------

    def take_output(self) -> list[Any]:
        """Return records and watermarks of the main output since the last call."""
        events = list(self._events)
        self._events.clear()
        return events

    def take_records(self) -> list[Any]:
        """Return the values of the main output since the last call."""
        return [event.value for event in self.take_output() if isinstance(event, Record)]

    def take_side_output(self, tag: OutputTag[Any] | str) -> list[Record]:
        """Return the records of a side output since the last call."""
        events = self._side_events[tag if isinstance(tag, str) else tag.tag_id]
        records = list(events)
        events.clear()
        return records

    # --- state ----------------------------------------------------------------------------

    def cut(self) -> None:
        """End the batch here and begin the next one."""
        with located():
            self.operator.end_batch()
            self.operator.save_operator_state()
        plain = (self.operator.snapshot(), self._gate.snapshot())
        self._log.append(pickle.dumps((self.operator.take_delta(), plain)))
        self.operator.flush()
        self.operator.begin_batch()

    def move(self) -> None:
        """End the batch here and go on in another worker, which loads what was written."""
        self.cut()
        self._load(self._scope.time)

    def snapshot(self) -> bytes:
        """Return everything that was written up to the end of this batch."""
        self.cut()
        return pickle.dumps((self._log, self._scope.time))

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot, of this harness or another for the same operator."""
        self._log, time = pickle.loads(snapshot)
        self._load(time)

    def _load(self, processing_time: int) -> None:
        self._make(processing_time)
        for entry in self._log:
            changes, plain = pickle.loads(entry)
            self.operator.apply(changes)
            self.operator.flush()
        self.operator.settle()
        self.operator.context.restored = True
        self._open()
        own, gate = plain
        self.operator.restore(own)
        self._gate.restore(gate)

    def keyed_state(self, descriptor: StateDescriptor, key: Any) -> Any:
        """Return what a state holds for a key: a value, a list, or a dict for a map."""
        assert self.backend is not None, "the operator is not keyed"
        context = self.backend.context
        before, context.key = context.key, wrapped(key)
        try:
            state = self.backend.state(descriptor)
            if isinstance(state, ValueState):
                return state.value()
            return dict(state.items()) if isinstance(state, MapState) else state.get()
        finally:
            context.key = before

    def accumulators(self) -> dict[str, Any]:
        """Return the values of the function's accumulators, by name."""
        held = self.operator.context.accumulators
        return {name: accumulator.get_local_value() for name, accumulator in held.items()}

    def metrics(self) -> dict[str, Any]:
        """Return the readings of the function's metrics, by their full names."""
        return self.operator.context.metrics.report()

    def state_size(self) -> int:
        """Return how many entries of keyed state there are, over all states and keys."""
        return 0 if self.backend is None else sum(len(t.data) for t in self.backend.tables.values())

    def timer_count(self) -> int:
        """Return how many timers are pending."""
        if self.backend is None:
            return 0
        return len(self.backend.event_timers) + len(self.backend.processing_timers)


@contextmanager
def located() -> Iterator[None]:
    """Let an error of the runtime say where it happened, as it does in a job.

    What the user's function raises comes out as it is.
    """
    try:
        yield
    except PenstockError as error:
        raise describe(error) from error.__cause__
