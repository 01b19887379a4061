"""Levels 1 and up: one stateful task a slot, hosting every operator of its level."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

from penstock.runtime.parking import park_heavy
from penstock.runtime.slot import run_slot
from penstock.spark import transport
from penstock.spark.internals import state_client
from penstock.spark.last_words import busy_with
from penstock.spark.rows import SCHEMA
from penstock.spark.shipment import Shipment

# As an object: a schema given as text costs a call to the JVM in every task.
_VALUE = StructType([StructField("value", BinaryType())])
_OutputRow = Row("slot", "payload")


class SparkSlotStore:
    """A slot's log, in Spark's state store.

    Spark sets every state variable up anew in each task, with encoders for each of its keys and
    values: of what a small batch costs, that is a good part. So there is one variable, and of the
    simplest kind, with one value for each grouping key. The slot's own key has what is known of the
    log; the blocks stand under keys that are no slot's, the negative numbers. They are in the same
    partition, as it is the task that chooses the store, not the key.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._client = state_client(handle)
        self._value = handle.getValueState("log", _VALUE)
        self._slot: tuple[int] = (0,)

    def for_slot(self, slot: tuple[int]) -> SparkSlotStore:
        """Return the store, with `slot` as the grouping key that Spark has set."""
        self._slot = slot
        return self

    def read_meta(self) -> bytes | None:
        found = self._value.get()
        return None if found is None else bytes(found[0])

    def write_meta(self, value: bytes) -> None:
        self._value.update((value,))

    def read(self, number: int) -> bytes | None:
        with self._block(number):
            return self.read_meta()

    def write(self, number: int, value: bytes) -> None:
        with self._block(number):
            self._value.update((value,))

    def remove(self, number: int) -> None:
        with self._block(number):
            self._value.clear()

    @contextmanager
    def _block(self, number: int) -> Iterator[None]:
        self._client.set_implicit_key((-1 - number,))
        yield
        self._client.set_implicit_key(self._slot)


class SlotProcessor(StatefulProcessor):
    """Host one level. Sent with every task, so it holds next to nothing."""

    def __init__(self, shipment: Shipment, level: int, slots: tuple[int, ...]) -> None:
        self._shipment = shipment
        self._level = level
        self._slots = slots

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = SparkSlotStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        with transport.carried():
            slots = self._slots
            payloads = (row[1] for row in rows)
            store = self._store.for_slot((key[0],))
            job = self._shipment.job()
            with busy_with(job, self._level):
                output = run_slot(job, self._level, slots.index(key[0]), payloads, store)
                output = park_heavy(output, job.plan.settings)
            return iter([_OutputRow(slots[slot % len(slots)], data) for slot, data in output])

    def close(self) -> None:
        pass


def add_levels(
    rows: DataFrame, shipment: Shipment, levels: int, slots: tuple[int, ...]
) -> DataFrame:
    """Put the stateful levels of a job behind its source."""
    for level in range(1, levels + 1):
        processor = SlotProcessor(shipment, level, slots)
        # Time is Penstock's own, so Spark keeps none; and what leaves a level, leaves it once.
        rows = rows.groupBy("slot").transformWithState(processor, SCHEMA, "Append", "None")
    return rows
