"""Messages as rows, and rows as messages."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from penstock.connectors.kafka.schemas import (
    ConsumerRecord,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    ProducerRecord,
)
from penstock.core.io import SourceBatch
from penstock.errors import SerializationError, show_value
from penstock.graph.relational import types as t
from penstock.graph.relational.specs import DELETE, UPDATE_AFTER
from penstock.table.factories.kafka.columns import VALUE_METADATA, MessageColumns

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)
_HEADERS = t.MapType(key=t.STRING.not_null(), value=t.BYTES, is_nullable=False)
_TIMESTAMP = t.LocalZonedTimestampType(precision=3, is_nullable=False)
_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")
READABLE: dict[str, t.LogicalType] = {
    "topic": t.STRING.not_null(),
    "partition": t.INT.not_null(),
    "headers": _HEADERS,
    "leader-epoch": t.INT,
    "offset": t.BIGINT.not_null(),
    "timestamp": _TIMESTAMP,
    "timestamp-type": t.STRING.not_null(),
}
WRITABLE: dict[str, t.LogicalType] = {
    "topic": t.STRING,
    "headers": _HEADERS.nullable(),
    "timestamp": _TIMESTAMP.nullable(),
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "topic": lambda message: message.topic(),
    "partition": lambda message: message.partition(),
    "headers": lambda message: dict(message.headers() or ()),
    "leader-epoch": lambda message: message.leader_epoch(),
    "offset": lambda message: message.offset(),
    "timestamp": lambda message: _EPOCH + max(message.timestamp()[1], 0) * _MS,
    "timestamp-type": lambda message: _TIMESTAMP_TYPES[message.timestamp()[0]],
}


class RowsOfMessages(KafkaRecordDeserializationSchema):
    """Read rows: columns, metadata and, if there are changes, the kind.

    :param upsert: whether a message is the newest row of its key, one without a value none.
    """

    def __init__(
        self, columns: MessageColumns, width: int, metadata: tuple[str, ...], *, upsert: bool
    ) -> None:
        self._columns = columns
        self._width = width
        self._metadata = metadata
        self._upsert = upsert

    def __reduce__(self) -> Any:
        return _rows_of_messages, (self._columns, self._width, self._metadata, self._upsert)

    def deserialize(self, record: ConsumerRecord) -> Any:
        raise TypeError("messages are read by the batch")

    def batch(self, messages: list[Any]) -> SourceBatch:
        columns = self._columns
        plain = columns.key is None and not self._metadata
        if plain and columns.value_places == tuple(range(self._width)):
            decode = columns.value.decode
            values = [message.value() for message in messages]
            return SourceBatch([row for v in values if v is not None for row in decode(v)])
        return SourceBatch([row for message in messages for row in self._rows(message)])

    def _rows(self, message: Any) -> list[tuple[Any, ...]]:
        columns, value = self._columns, message.value()
        row: list[Any] = [None] * self._width
        if columns.key is not None and (data := message.key()) is not None:
            for key_row in columns.key.decode(data):
                for place, item in zip(columns.key_places, key_row, strict=True):
                    row[place] = item
        own = [_READERS[k](message) for k in self._metadata if not k.startswith(VALUE_METADATA)]
        if value is None:
            return [(*row, *self._merged(own, ()), DELETE)] if self._upsert else []
        rows = []
        places, changes = columns.value_places, columns.value.kinds != frozenset("I")
        for found in columns.value.decode(value):
            for place, item in zip(places, found, strict=False):
                row[place] = item
            kind: tuple[Any, ...] = (UPDATE_AFTER,) if self._upsert else ()
            more = found[len(places) :]
            if changes:
                kind, more = found[-1:], found[len(places) : -1]
            rows.append((*row, *self._merged(own, more), *kind))
        return rows

    def _merged(self, own: list[Any], of_value: tuple[Any, ...]) -> list[Any]:
        """Return the metadata in the order of the table's columns."""
        mine, others = iter(own), iter(of_value)
        return [next(others if key.startswith(VALUE_METADATA) else mine) for key in self._metadata]


def _rows_of_messages(*parts: Any) -> RowsOfMessages:
    return RowsOfMessages(*parts[:-1], upsert=parts[-1])


class MessagesOfRows(KafkaRecordSerializationSchema):
    """Write rows.

    :param topics: the only topic, or those that a row's metadata may name.
    :param partitioner: chooses the partition from row, key, value and topic.
    """

    def __init__(
        self,
        columns: MessageColumns,
        width: int,
        metadata: tuple[str, ...],
        topics: tuple[str, ...],
        partitioner: Callable[[Any, bytes | None, bytes | None, str], int] | None = None,
        *,
        upsert: bool = False,
    ) -> None:
        self.columns = columns
        self._topics = topics
        self._partitioner = partitioner
        self.upsert = upsert
        self._changes = columns.value.kinds != frozenset("I")
        self._at = {key: width + i for i, key in enumerate(metadata)}

    def with_partitioner(self, partitioner: Any) -> MessagesOfRows:
        """Return the same with another way to choose partitions."""
        made: MessagesOfRows = MessagesOfRows.__new__(MessagesOfRows)
        made.__dict__.update(self.__dict__, _partitioner=partitioner)
        return made

    def serialize(self, element: Any, timestamp: int | None) -> ProducerRecord:
        columns = self.columns
        key = value = None
        if columns.key is not None:
            key = columns.key.encode([element[i] for i in columns.key_places])
        if not (self.upsert and element[-1] & 1):
            row = [element[i] for i in columns.value_places]
            if self._changes:
                row.append(element[-1])
            value = columns.value.encode(row)
        topic = self._topic(element)
        at = self._at
        partition = time = headers = None
        if self._partitioner is not None:
            partition = self._partitioner(element, key, value, topic)
        if "timestamp" in at and element[at["timestamp"]] is not None:
            time = (element[at["timestamp"]] - _EPOCH) // _MS
        if "headers" in at and element[at["headers"]] is not None:
            headers = list(element[at["headers"]].items())
        return ProducerRecord(topic, value, key, partition, time, headers)

    def _topic(self, element: Any) -> str:
        if "topic" not in self._at:
            return self._topics[0]
        topic = element[self._at["topic"]]
        if topic is None and len(self._topics) == 1:
            return self._topics[0]
        if topic is None or (self._topics and topic not in self._topics):
            raise SerializationError(
                "a row names no topic of the table",
                got=show_value(topic),
                todo=f"use one of: {', '.join(self._topics) or 'any topic'}",
            )
        return str(topic)
