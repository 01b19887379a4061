"""Aggregates and deduplications that send changes by mini-batches, and the first of two phases.

A mini-batch lives within a batch: it ends with it, as Flink ends one in front of a checkpoint. So
nothing of it is ever state, and a batch that is run again makes the same ones.
"""

from __future__ import annotations

from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.codec import Frozen
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.calc import ChunkOperator
from penstock.runtime.operators.table.deduplicate import DeduplicateOperator
from penstock.runtime.operators.table.expiring import ExpiringOperator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.state.tables import ValueTable


class BundleOperator(Operator):
    """Base: what has gathered is sent when a mini-batch ends, with the batch at the latest."""

    def open(self) -> None:
        """Begin with an empty mini-batch."""
        self._room: int = self.spec.size
        super().open()

    def finish_bundle(self) -> None:
        """End the mini-batch."""
        self._room = self.spec.size
        self.scope.timestamp = None
        self.send_bundle()

    def send_bundle(self) -> None:
        """Send what has gathered."""
        raise TypeError("abstract")

    def on_watermark(self, watermark: int) -> None:
        """Send the last rows in front of the end of time."""
        if watermark == MAX_WATERMARK:
            self.finish_bundle()

    def end_batch(self) -> None:
        """End the mini-batch with the batch."""
        self.finish_bundle()


class KeyedBundleOperator(BundleOperator, ExpiringOperator):
    """Base of those behind an exchange: rows come under their keys, and keys may be forgotten."""

    def process(self, value: Any) -> None:
        """Take one row under the current key."""
        assert self.backend is not None
        self.process_keyed([self.backend.context.key], None, [value])

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many rows, each under its key."""
        self.touch(keys)
        start, count = 0, len(values)
        while count - start >= self._room:
            end = start + self._room
            self.gather(keys[start:end], values[start:end])
            self.finish_bundle()
            start = end
        if start:
            keys, values = keys[start:], values[start:]
        self.gather(keys, values)
        self._room -= len(values)

    def gather(self, keys: list[Any], values: list[Any]) -> None:
        """Take rows of one mini-batch."""
        raise TypeError("abstract")

    def forget(self, key: Any) -> None:
        """Send what is known of a key before it is forgotten."""
        self.finish_bundle()
        super().forget(key)


class BundleAggregateOperator(KeyedBundleOperator):
    """Keep an accumulator a key; send the changes of results when a mini-batch ends."""

    def open(self) -> None:
        """Load the code."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("groups", "value")
        loaded = load_program(self, self.spec.program)
        super().open()
        self._gather, self._send = loaded["gather"], loaded["send"]
        self._before: dict[Any, Any] = {}

    def gather(self, keys: list[Any], values: list[Any]) -> None:
        """Change the accumulators; what was sent of each key before is noted."""
        table = self._table
        self._gather(keys, values, table.data, self._before, table.get, Frozen)

    def send_bundle(self) -> None:
        """Send the changes of the results of all keys that rows came for."""
        before, self._before = self._before, {}
        if before:
            self.emit_all(self._send(self._table.data, self._table.changed, before))


class BundleDeduplicateOperator(KeyedBundleOperator, DeduplicateOperator):
    """Keep the last row of each key; those in between of a mini-batch are not seen."""

    def open(self) -> None:
        """Begin with nothing."""
        super().open()
        self._last: dict[Any, Any] = {}

    def gather(self, keys: list[Any], values: list[Any]) -> None:
        """Remember the last row of each key."""
        self._last.update(zip(keys, values, strict=True))

    def send_bundle(self) -> None:
        """Send the rows that take the place of others."""
        last, self._last = self._last, {}
        if last:
            self.emit_all(self._changes(list(last), list(last.values())))


class LocalAggregateOperator(BundleOperator, ChunkOperator):
    """Accumulate the rows of this subtask by group, and send the accumulators to be merged."""

    def open(self) -> None:
        """Load the code."""
        loaded = load_program(self, self.spec.program)
        super().open()
        self._fold, self._send = loaded["fold"], loaded["send"]
        self._held: dict[Any, Any] = {}

    def work(self, rows: list[Any]) -> None:
        """Take a chunk of rows."""
        start = 0
        while len(rows) - start >= self._room:
            end = start + self._room
            self._fold(rows[start:end], self._held)
            self.finish_bundle()
            start = end
        rest = rows[start:] if start else rows
        self._fold(rest, self._held)
        self._room -= len(rest)

    def send_bundle(self) -> None:
        """Send the accumulators."""
        held, self._held = self._held, {}
        if held:
            self.emit_all(self._send(held))
