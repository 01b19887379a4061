"""Rows into topics: partitions by subtask, and the newest row of a key only."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from penstock.connectors.base import DeliveryGuarantee
from penstock.connectors.kafka.client import translated
from penstock.connectors.kafka.lookup import Lookup
from penstock.connectors.kafka.sink import KafkaSink
from penstock.core.io import SinkWriter, WriterContext
from penstock.errors import ValidationError
from penstock.graph.relational.specs import UPDATE_AFTER, UPDATE_BEFORE
from penstock.table.factories.kafka.messages import MessagesOfRows

#: Chooses one of some partitions from row, key, value, topic and the partitions' numbers.
Partitioner = Callable[[Any, "bytes | None", "bytes | None", str, list[int]], int]


def find_partitioner(name: str, table: str) -> str | Partitioner | None:
    """Return what `sink.partitioner` names: "fixed", a function, or None for Kafka's own way.

    :raises ValidationError: if it is neither a known word nor a function or class of Python's.
    """
    if name in ("default", "round-robin"):
        return None
    if name == "fixed":
        return name
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationError(
            "the option 'sink.partitioner' has no such value",
            where=f"table {table}",
            got=f"{name} ({error})",
            todo="use default, fixed, round-robin, or the name of a Python function or class: "
            "package.module.name",
        ) from None
    return found().partition if isinstance(found, type) else found


class KafkaTableSink(KafkaSink):
    """A sink whose partitioner knows its subtask and the partitions there are.

    :param flush: how many rows of an upsert table wait for newer ones of their keys; 0: none.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        schema: MessagesOfRows,
        guarantee: DeliveryGuarantee,
        prefix: str | None,
        partitioner: str | Partitioner | None = None,
        flush: int = 0,
    ) -> None:
        # As in Flink, only the metadata column `timestamp` gives a message its time.
        super().__init__(properties, schema, guarantee, prefix, write_timestamps=False)
        self._rows = schema
        self._partitioner = partitioner
        self._flush = flush

    def create_writer(self, context: WriterContext) -> SinkWriter:
        schema = self._rows
        if self._partitioner is not None:
            choose = _ChosenPartition(self._properties, self._partitioner, context.subtask)
            schema = schema.with_partitioner(choose)
        bound = KafkaSink(
            self._properties, schema, self._guarantee, self._prefix, write_timestamps=False
        )
        writer = bound.create_writer(context)
        if self._flush:
            return _Newest(writer, schema, self._flush)
        return UpsertWriter(writer, schema.columns.key_places) if schema.upsert else writer


class _ChosenPartition:
    """Ask a partitioner, with the partitions of the topic."""

    def __init__(
        self, properties: Mapping[str, str], partitioner: str | Partitioner, subtask: int
    ) -> None:
        self._settings = {"group.id": "penstock-partitions", **translated(dict(properties))}
        self._partitioner = partitioner
        self._subtask = subtask
        self._known: dict[str, list[int]] = {}

    def __call__(self, row: Any, key: bytes | None, value: bytes | None, topic: str) -> int:
        numbers = self._known.get(topic)
        if numbers is None:
            lookup = Lookup(self._settings)
            try:
                numbers = self._known[topic] = [n for _, n in lookup.partitions([topic])]
            finally:
                lookup.close()
        if isinstance(self._partitioner, str):
            return numbers[self._subtask % len(numbers)]
        return self._partitioner(row, key, value, topic, numbers)


class UpsertWriter(SinkWriter):
    """Leave out the row before an update: the row behind it takes its place under the same key.

    Only if the key has changed is the old one deleted.
    """

    def __init__(self, writer: SinkWriter, key_places: tuple[int, ...]) -> None:
        self._writer = writer
        self._places = key_places
        self._before: tuple[Any, int | None] | None = None

    def write(self, value: Any, timestamp: int | None) -> None:
        before, self._before = self._before, None
        if before is not None and not (value[-1] == UPDATE_AFTER and self._is_same(before, value)):
            self._writer.write(*before)
        if value[-1] == UPDATE_BEFORE:
            self._before = value, timestamp
        else:
            self._writer.write(value, timestamp)

    def _is_same(self, before: tuple[Any, int | None], value: Any) -> bool:
        return all(before[0][place] == value[place] for place in self._places)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        if self._before is not None:
            self._writer.write(*self._before)
            self._before = None
        return self._writer.prepare_commit(end_of_input)


class _Newest(SinkWriter):
    """Hold rows back until the batch ends or there are many; of each key only the newest goes."""

    def __init__(self, writer: SinkWriter, schema: MessagesOfRows, most: int) -> None:
        self._writer = writer
        self._places = schema.columns.key_places
        self._most = most
        self._rows: dict[tuple[Any, ...], tuple[Any, int | None]] = {}

    def write(self, value: Any, timestamp: int | None) -> None:
        key = tuple(value[i] for i in self._places)
        self._rows.pop(key, None)
        self._rows[key] = value, timestamp
        if len(self._rows) >= self._most:
            self._send()

    def _send(self) -> None:
        rows, self._rows = self._rows, {}
        for value, timestamp in rows.values():
            self._writer.write(value, timestamp)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        self._send()
        return self._writer.prepare_commit(end_of_input)
