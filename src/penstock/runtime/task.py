"""A task: the operators of one slot at one level (or of one source's subtask), wired and fed.

A task lives from batch to batch in a worker. Within a batch: fire the processing-time timers that
are due, feed the chunks, end the batch operator by operator, flush what leaves.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any

import cloudpickle

from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.graph.plan import ExecutionPlan, PlanEdge, PlanOperator
from penstock.graph.specs import Hash
from penstock.runtime.build import OPERATORS
from penstock.runtime.codec import PROTOCOL
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.envelope import (
    ACCUMULATORS,
    ALIGNMENT,
    COMMITTABLE,
    COUNTS,
    METRICS,
    TIMER,
    Chunk,
    Outbox,
)
from penstock.runtime.exchange import ExchangeWriter, make_writer, senders_to
from penstock.runtime.failure import describe
from penstock.runtime.gate import Channel, Gate
from penstock.runtime.keyed_calls import KeyedCalls
from penstock.runtime.meter import Meter, encode
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.sink import SinkOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.outputs import Consumer, LocalConsumer, Output
from penstock.runtime.scope import Scope
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.log import TaskInventory
from penstock.runtime.trace import Tracer, is_traced

#: Where those parts of a task stand among the operators of a delta that belong to no operator:
#: what exchange writers remember, by edge; the order of the channels of the operators' gates.
WRITERS, CHANNELS = "\0writers", "\0channels"
#: Python's frames for one operator of a chain, at most, and for all else.
_FRAMES, _USUAL_DEPTH = 8, 1000


class Task:
    """The operators of one subtask.

    :param operators: those that run here, in topological order.
    :param address: what the coordinator knows the task by when it asks for a batch at some time.
    """

    def __init__(
        self, plan: ExecutionPlan, operators: list[PlanOperator], level: int, subtask: int,
        address: tuple[int, int],
    ) -> None:  # fmt: skip
        self.subtask = subtask
        self.scope = Scope()
        self.outbox = Outbox(level, subtask)
        self._plan = plan
        self._address = address
        self._by_id = {op.id: op for op in plan.operators}
        self._writers: dict[int, ExchangeWriter] = {}
        self._saved: dict[Any, bytes] = {}
        self._loaded: dict[Any, bytes] = {}
        self._reported_timer: int | None = None
        self._reported: dict[tuple[str, int], bytes] = {}  # by operator and kind of report
        self.operators: list[Operator] = [self._make(op) for op in operators]
        self._operator = {op.plan.id: op for op in self.operators}
        # An operator calls the next: a long chain is a deep stack.
        needed = _USUAL_DEPTH + _FRAMES * len(self.operators)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), needed))
        self._gates = {op.plan.id: self._gate(op) for op in self.operators}
        for operator in self.operators:
            gate = self._gates[operator.plan.id]
            operator.input_has_ended = partial(_has_ended, gate, operator.plan)
            operator.reach_time = self.reach_time
        self.meter = Meter(self.operators, self._writers, self._gates)
        for operator in self.operators:
            operator.wire(self._output(operator.plan))
        self._edges = {e.id: e for op in self.operators for e in op.plan.inputs if e.crosses}
        self._working: list[Operator] = []  # what had not ended when the batch began
        self._started = False
        self._resumed = False
        self._open: list[Operator | ExchangeWriter] = []

    # --- wiring ---------------------------------------------------------------------------

    def _make(self, op: PlanOperator) -> Operator:
        # A copy for this subtask: functions keep things in attributes.
        spec = cloudpickle.loads(cloudpickle.dumps(op.spec))
        plan = PlanOperator(**{**vars(op), "spec": spec})
        scope = self.scope
        backend = None
        if spec.keyed:
            backend = make_backend(op.describe(), lambda: scope.time, self._plan.settings)
        context = OperatorRuntimeContext(
            plan, self.subtask, backend, self.scope, self._plan.settings, self._plan.batch_mode
        )
        operator = OPERATORS[type(spec)](plan, context, self.scope)
        if is_traced(operator):
            Tracer(operator)
        return operator

    def _gate(self, operator: Operator) -> Gate:
        channels: list[Channel] = []
        for edge in operator.plan.inputs:
            if edge.crosses:
                senders = self._by_id[edge.source].parallelism
                here = senders_to(
                    edge.partitioner, self.subtask, senders, operator.plan.parallelism
                )
                channels += [(edge.id, sender) for sender in here]
            else:
                channels.append((edge.id, self.subtask))
        return Gate(operator, channels)

    def _output(self, op: PlanOperator) -> Output:
        main: list[Consumer] = []
        sides: dict[str, list[Consumer]] = {}
        for edge in op.outputs:
            group = main if edge.output_tag is None else sides.setdefault(edge.output_tag, [])
            group.append(self._consumer(op, edge))
        return Output(main, sides, op, self.meter.flow.counted(self._operator[op.id]))

    def _consumer(self, op: PlanOperator, edge: PlanEdge) -> Consumer:
        if edge.crosses:
            target = self._by_id[edge.target]
            context = self._operator[op.id].context
            writer = make_writer(edge, op, target, self.outbox, context)
            self._writers[edge.id] = writer
            return writer
        receiver, gate = self._operator[edge.target], self._gates[edge.target]
        if isinstance(edge.partitioner, Hash):
            keyed = KeyedCalls(receiver, edge.input_index, edge.partitioner)
            process, process_all = keyed.process, keyed.process_all
        elif edge.input_index == 0:
            process, process_all = receiver.process, receiver.process_all
        else:
            process, process_all = receiver.process2, receiver.process_all2
        return LocalConsumer(process, process_all, gate, (edge.id, self.subtask))

    # --- a batch --------------------------------------------------------------------------

    def open(self) -> None:
        """Open the user's functions, once: after the first state is there, if there is any."""
        if self._started:
            return
        self._started = True
        try:
            parts: list[Operator | ExchangeWriter] = [*self.operators, *self._writers.values()]
            for part in parts:
                part.open()
                self._open.append(part)
        except Exception as error:
            raise describe(error) from error

    def begin_batch(self, time: int) -> None:
        """Start a batch at a processing time: timers that are due fire before any record."""
        self.scope.time = time
        self.open()
        self.outbox.begin(time)
        if self._closed:
            return
        # What had ended before stays as it is: whoever still has the task at hand has closed it.
        self._working = [operator for operator in self.operators if not operator.finished]
        try:
            self._expire()
            for operator in self.operators:
                operator.begin_batch()
            if self._resumed:
                self._announce()
            self._fire_processing_timers()
        except Exception as error:
            raise describe(error) from error

    def reach_time(self, time: int) -> None:
        """Let processing time come to a later point of the batch: what is due fires."""
        if time <= self.scope.time:
            return
        for writer in self._writers.values():
            writer.flush()  # an envelope has one time
        self.scope.time = self.outbox.time = time
        if self._closed:
            return
        try:
            self._expire()
            self._fire_processing_timers()
        except Exception as error:
            raise describe(error) from error

    def _expire(self) -> None:
        for operator in self._working:
            if operator.backend is not None:
                operator.backend.expire()

    def _fire_processing_timers(self) -> None:
        for operator in self.operators:
            operator.fire_processing_timers(self.scope.time)

    def feed(self, edge_id: int, sender: int, chunk: Chunk) -> None:
        """Work through a chunk: records, and the watermarks between them."""
        edge = self._edges[edge_id]
        operator, gate = self._operator[edge.target], self._gates[edge.target]
        channel = (edge_id, sender)
        began = perf_counter()
        try:
            if (chunk.values or chunk.marks) and gate.idle_channel(channel):
                gate.set_idle(channel, False)
            start = 0
            for position, watermark in chunk.marks:
                if position > start:
                    self._records(operator, edge.input_index, chunk, start, position)
                    start = position
                if watermark == MAX_WATERMARK:
                    # A timer that was set for a time that has come is due before the input ends.
                    self._fire_processing_timers()
                gate.advance(channel, watermark)
            self._records(operator, edge.input_index, chunk, start, len(chunk.values))
            if chunk.ended:
                gate.end(channel)
            elif chunk.idle is not None:
                gate.set_idle(channel, chunk.idle)
        except Exception as error:
            raise describe(error) from error
        self.meter.fed(edge.target, len(chunk.values), chunk.weight, began)

    def _records(self, op: Operator, index: int, chunk: Chunk, start: int, end: int) -> None:
        if start == end:
            return
        values, keys, times = chunk.values, chunk.keys, chunk.timestamps
        if end - start < len(values):
            values = values[start:end]
            keys = keys and keys[start:end]
            times = times and times[start:end]
        scope = self.scope
        # An operator without keyed state, a sink say, takes no notice of the keys.
        if keys is None or op.backend is None:
            process_all = op.process_all if index == 0 else op.process_all2
            if times is None:
                scope.timestamp = None
                process_all(values)
            else:
                process_all(self._timed(values, times))
            return
        process_keyed = op.process_keyed if index == 0 else op.process_keyed2
        process_keyed(keys, times, values)

    def _timed(self, values: list[Any], timestamps: list[Any]) -> Iterator[Any]:
        scope = self.scope
        for scope.timestamp, value in zip(timestamps, values, strict=True):
            yield value

    def end_batch(self) -> list[tuple[int, bytes]]:
        """End the batch and return the rows that leave the task."""
        if self._closed:  # only the next level must hear from it
            for writer in self._writers.values():
                writer.end_batch()
            return self.outbox.rows
        try:
            for operator in self.operators:
                operator.end_batch()
            for operator in self._working:
                operator.save_operator_state()
            for operator in self.operators:
                if isinstance(operator, SinkOperator):
                    self._send_output(operator)
        except Exception as error:
            raise describe(error) from error
        for writer in self._writers.values():
            writer.end_batch()
        self._report()
        return self.outbox.rows

    def _send_output(self, operator: SinkOperator) -> None:
        if committables := operator.take_committables():
            body = pickle.dumps(committables, PROTOCOL)
            self.outbox.send_to_sink(COMMITTABLE, operator.plan.id, self.subtask, body)

    def _report(self) -> None:
        due = [operator.next_processing_time() for operator in self.operators]
        next_timer = min((time for time in due if time is not None), default=None)
        if next_timer != self._reported_timer:
            self._reported_timer = next_timer
            self.outbox.send_to_sink(TIMER, *self._address, pickle.dumps(next_timer))
        for operator in self._working:
            context, plan = operator.context, operator.plan
            counts = (ACCUMULATORS, context.dump_accumulators()), (METRICS, context.read_metrics())
            for kind, body in counts:
                if body is not None and body != self._reported.get((plan.uid, kind)):
                    self._reported[plan.uid, kind] = body
                    self.outbox.send_to_sink(kind, plan.id, self.subtask, body)
            if isinstance(operator, SourceOperator) and (mark := operator.alignment()) is not None:
                self.outbox.send_to_sink(ALIGNMENT, plan.id, self.subtask, pickle.dumps(mark))

    def report_counts(self, written: Mapping[str, int] | None = None, weight: int = 0) -> None:
        """Tell what the task did since the meter was begun.

        :param written: bytes of state written by operator, None if none were.
        :param weight: what the whole state weighs.
        """
        if not self._closed:
            body = pickle.dumps(encode(self.meter.end(written, weight)), PROTOCOL)
            self.outbox.send_to_sink(COUNTS, *self._address, body)

    # --- state ----------------------------------------------------------------------------

    def take_delta(self) -> dict[Any, Any]:
        """Return what changed since the last call.

        What is written entry by entry (keyed state, operator state) stands under the operator's
        uid, the rest under `(uid,)`.
        """
        delta: dict[Any, Any] = {}
        if self._closed:
            return delta
        for operator in self.operators:
            if changes := operator.take_delta():
                delta[operator.plan.uid] = changes
        for name, state in self._plain_state():
            data = pickle.dumps(state, PROTOCOL)
            if data != self._saved.get(name):
                self._saved[name] = data
                delta[(name,)] = data
        return delta

    def full_plain_state(self) -> dict[Any, bytes]:
        """Return all that is not written entry by entry, as a delta."""
        return {(name,): data for name, data in self._saved.items()}

    def full_state(self) -> dict[Any, Any]:
        """Return all there is, as a delta; for tasks whose state is small."""
        state: dict[Any, Any] = self.full_plain_state()
        for uid, place, kind, keys, dump in self.inventory():
            state.setdefault(uid, {})[place] = (kind, dump(list(keys)))
        return state

    def inventory(self) -> Iterator[TaskInventory]:
        """List what is written by key."""
        for operator in self.operators:
            for place, kind, keys, dump in operator.inventory():
                yield operator.plan.uid, place, kind, keys, dump

    def apply(self, delta: dict[Any, Any]) -> None:
        """Lay a delta over the state. Call `settle` after the last one."""
        operators = {operator.plan.uid: operator for operator in self.operators}
        for name, changes in delta.items():
            if isinstance(name, tuple):
                self._saved[name[0]] = self._loaded[name[0]] = changes
            elif name in operators:
                operators[name].apply(changes)

    def settle(self) -> None:
        """Make everything ready for work after state has been loaded."""
        for operator in self.operators:
            operator.settle()
            operator.context.restored = operator.plan.uid in self._loaded
        self.open()
        for name, data in self._loaded.items():
            self._restore(name, pickle.loads(data))
        self._loaded = {}

    def flush(self) -> None:
        """Let go of memory when a batch is over and written."""
        for operator in self.operators:
            operator.flush()

    def resume(self) -> None:
        """Go on from what was applied as a new task would: the next delta holds all of the rest."""
        self.settle()
        self._saved = {}
        self._resumed = True

    def channels_of(self, op: PlanOperator) -> list[tuple[str, int]]:
        """Return the channels of an operator's gate, in its order: names of edges, and senders."""
        return self._channel_names()[op.uid]

    def edges_from(self, op: PlanOperator) -> list[tuple[PlanEdge, PlanOperator]]:
        """Return the edges from an operator that leave the task, each with its other end."""
        return [(edge, self._by_id[edge.target]) for edge in op.outputs if edge.crosses]

    def _announce(self) -> None:
        """Say again how far each operator is: who takes its records may be new."""
        self._resumed = False
        for operator in self.operators:
            if operator.watermark != MIN_WATERMARK:
                operator.output.watermark(operator.watermark)
            if operator.finished:
                operator.output.end()

    def _plain_state(self) -> Iterator[tuple[str, Any]]:
        for operator in self.operators:
            yield operator.plan.uid, (operator.snapshot(), self._gates[operator.plan.id].snapshot())
        writers = {w.edge.name: saved for w in self._writers.values() if (saved := w.snapshot())}
        reported = (self._reported_timer, self._reported)
        yield WRITERS, (writers, reported)
        if CHANNELS not in self._saved:
            yield CHANNELS, self._channel_names()

    def _channel_names(self) -> dict[str, list[tuple[str, int]]]:
        names = {edge.id: edge.name for operator in self.operators for edge in operator.plan.inputs}
        return {
            self._by_id[target].uid: [(names[edge], sender) for edge, sender in gate.channels]
            for target, gate in self._gates.items()
        }

    def _restore(self, name: str, state: Any) -> None:
        if name == WRITERS:
            writers, (self._reported_timer, self._reported) = state
            for writer in self._writers.values():
                writer.restore(writers.get(writer.edge.name))
            return
        for operator in self.operators:
            if operator.plan.uid == name:
                own, gate = state
                operator.restore(own)
                if gate is not None:
                    self._gates[operator.plan.id].restore(gate)

    @property
    def _closed(self) -> bool:
        return self._started and not self._open and bool(self.operators)

    def close_if_finished(self) -> None:
        """Close the user's functions if all input has ended."""
        if all(operator.finished for operator in self.operators):
            try:
                self.close()
            except Exception as error:
                raise describe(error) from error

    def close(self) -> None:
        """Close what has been opened; a second time, nothing."""
        while self._open:
            self._open.pop(0).close()

    def drop_state(self) -> None:
        """Give back what keyed state takes outside of memory; nothing may follow."""
        for operator in self.operators:
            if operator.backend is not None:
                operator.backend.close()


def _has_ended(gate: Gate, plan: PlanOperator, input_index: int) -> bool:
    return gate.have_ended([edge.id for edge in plan.inputs if edge.input_index == input_index])
