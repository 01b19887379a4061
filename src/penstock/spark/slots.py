"""Levels 1 and up: one stateful task a slot, hosting every operator of its level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import (
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
)
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from penstock.runtime.slot import run_slot
from penstock.spark import transport
from penstock.spark.rows import SCHEMA
from penstock.spark.shipment import Shipment

# As objects: a schema given as text costs a call to the JVM in every task.
_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])
_OutputRow = Row("slot", "payload")


#: Key of the one entry that is no entry of the log.
_META = "meta"


class SparkSlotStore:
    """A slot's durable entries, in Spark's state store.

    Spark sets every state variable up anew in each task, and a tenth of a small batch is spent on
    it: so there is only one.
    """

    def __init__(self, entries: MapState) -> None:
        self._entries = entries

    def read_meta(self) -> bytes | None:
        return self.read(_META)

    def write_meta(self, value: bytes) -> None:
        self.write(_META, value)

    def read(self, key: str) -> bytes | None:
        found = self._entries.getValue((key,))
        return None if found is None else bytes(found[0])

    def write(self, key: str, value: bytes) -> None:
        self._entries.updateValue((key,), (value,))

    def remove(self, key: str) -> None:
        self._entries.removeKey((key,))


class SlotProcessor(StatefulProcessor):
    """Host one level. Sent with every task, so it holds next to nothing."""

    def __init__(self, shipment: Shipment, level: int, slots: tuple[int, ...]) -> None:
        self._shipment = shipment
        self._level = level
        self._slots = slots

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = SparkSlotStore(handle.getMapState("entries", _KEY, _VALUE))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        with transport.carried():
            slots = self._slots
            payloads = (row[1] for row in rows)
            output = run_slot(
                self._shipment.job(), self._level, slots.index(key[0]), payloads, self._store
            )
            return iter([_OutputRow(slots[slot % len(slots)], data) for slot, data in output])

    def close(self) -> None:
        pass


def add_levels(
    rows: DataFrame, shipment: Shipment, levels: int, slots: tuple[int, ...]
) -> DataFrame:
    """Put the stateful levels of a job behind its source."""
    for level in range(1, levels + 1):
        processor = SlotProcessor(shipment, level, slots)
        # A Python sink takes append mode only; time is Penstock's own, so Spark keeps none.
        rows = rows.groupBy("slot").transformWithState(processor, SCHEMA, "Append", "None")
    return rows
