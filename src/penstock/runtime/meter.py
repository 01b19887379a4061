"""What a task did in a batch, as it is told to the coordinator with the batch's report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from time import perf_counter
from typing import Any, NamedTuple

from penstock.runtime.exchange import ExchangeWriter
from penstock.runtime.flow import Flow
from penstock.runtime.gate import Gate
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.this_process import host_name, resident_memory


class OperatorCounts(NamedTuple):
    """One subtask of an operator in one batch."""

    #: Number of the operator in the plan.
    operator: int
    records_in: int
    records_out: int
    #: Of its records, those that left the chain: once for each edge. Of a sink, all.
    records_sent: int
    bytes_in: int
    bytes_out: int
    input_watermark: int
    output_watermark: int
    #: Since the job's begin.
    late_dropped: int
    fired: int
    state_rows: int
    #: Seconds spent on chunks that were bound for it, with what is local behind it.
    seconds: float
    finished: bool


class TaskCounts(NamedTuple):
    """One task in one batch."""

    #: From the first look at its state until all is written.
    seconds: float
    host: str
    pid: int
    #: Resident bytes of the process.
    memory: int
    operators: list[OperatorCounts]
    #: Bytes written by operator, None if nothing was written; and what the whole state weighs.
    written: Mapping[str, int] | None = None
    weight: int = 0

    def state_bytes(self) -> list[int]:
        """Return what the state of each operator weighs.

        A slot has one log for all its operators: each has its share by entries.
        """
        rows = [one.state_rows for one in self.operators]
        total = sum(rows)
        if not total:
            return [self.weight if place == 0 else 0 for place in range(len(rows))]
        return [self.weight * count // total for count in rows]


class Meter:
    """Measure one task. Made with the task, begun with each batch.

    The time that is read here is told to people: nothing that a task does depends on it.
    """

    def __init__(
        self, operators: list[Operator], writers: dict[int, ExchangeWriter], gates: dict[int, Gate]
    ) -> None:
        self.flow = Flow(operators, writers)
        self._operators = operators
        self._writers = writers
        self._gates = gates
        self._bytes: dict[int, int] = {}
        self._seconds: dict[int, float] = {}
        self._began = perf_counter()

    def begin(self) -> None:
        """Take note that a batch begins; what a batch that failed has left is forgotten."""
        self.flow.take()
        self._bytes = {}
        self._seconds = {}
        for operator in self._operators:
            operator.take_fired()
        for writer in self._writers.values():
            writer.sent_bytes = 0
        self._began = perf_counter()

    def fed(self, operator: int, records: int, weight: int, began: float) -> None:
        """Take note that an operator has worked through a chunk."""
        self.flow.fed[operator] += records
        self._bytes[operator] = self._bytes.get(operator, 0) + weight
        self._seconds[operator] = self._seconds.get(operator, 0.0) + perf_counter() - began

    def end(self, written: Mapping[str, int] | None = None, weight: int = 0) -> TaskCounts:
        """Return what has happened since `begin`."""
        for operator in self._operators:
            if isinstance(operator, SourceOperator):
                records, self._bytes[operator.plan.id] = operator.take_read()
                self.flow.fed[operator.plan.id] += records
        flow = self.flow.take()
        sent: dict[int, int] = {}
        for writer in self._writers.values():
            number = writer.sender.id
            sent[number] = sent.get(number, 0) + writer.sent_bytes
        counts = [self._counts(operator, flow, sent) for operator in self._operators]
        seconds = perf_counter() - self._began
        process = host_name(), os.getpid(), resident_memory()
        return TaskCounts(seconds, *process, counts, written, weight)

    def _counts(
        self, operator: Operator, flow: dict[int, tuple[int, int, int]], sent: dict[int, int]
    ) -> OperatorCounts:
        number = operator.plan.id
        return OperatorCounts(
            number,
            *flow[number],
            self._bytes.get(number, 0),
            sent.get(number, 0) + operator.take_published(),
            self._gates[number].watermark,
            operator.watermark,
            operator.late_dropped(),
            operator.take_fired(),
            0 if operator.backend is None else operator.backend.rows(),
            self._seconds.get(number, 0.0),
            operator.finished,
        )


def encode(counts: TaskCounts) -> Any:
    """Return counts as plain tuples, which pickle small."""
    return (*counts[:4], [tuple(each) for each in counts.operators], *counts[5:])


def decode(data: Any) -> TaskCounts:
    """Undo `encode`."""
    operators = [OperatorCounts._make(each) for each in data[4]]
    return TaskCounts._make((*data[:4], operators, *data[5:]))
