"""The connectors `kafka` and `upsert-kafka`."""

from __future__ import annotations

from penstock.common.option_values import parse_duration
from penstock.connectors.base import DeliveryGuarantee
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.kafka.source import KafkaSource
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext, TableFactory, TableSink, TableSource
from penstock.table.factories.formats.registry import FORMAT_PREFIXES
from penstock.table.factories.kafka.columns import MessageColumns, value_metadata
from penstock.table.factories.kafka.messages import (
    READABLE,
    WRITABLE,
    MessagesOfRows,
    RowsOfMessages,
)
from penstock.table.factories.kafka.offsets import bounded_offsets, startup_offsets
from penstock.table.factories.kafka.sink import KafkaTableSink, find_partitioner

_COMMON = frozenset({
    "topic", "topic-pattern", "properties.", "key.format", "key.fields-prefix", "value.format",
    "value.fields-include", "scan.bounded.mode", "scan.bounded.timestamp-millis",
    "scan.bounded.specific-offsets", "scan.parallelism", "sink.parallelism",
    "sink.delivery-guarantee", "sink.transactional-id-prefix",
    "scan.topic-partition-discovery.interval",
})  # fmt: skip
_GUARANTEES = {
    "none": DeliveryGuarantee.NONE,
    "at-least-once": DeliveryGuarantee.AT_LEAST_ONCE,
    "exactly-once": DeliveryGuarantee.EXACTLY_ONCE,
}


class KafkaFactory(TableFactory):
    """Topics of Kafka: messages are rows, or changes if their format has changes."""

    identifier = "kafka"
    options = _COMMON | FORMAT_PREFIXES | {
        "format", "key.fields", "scan.startup.mode", "scan.startup.timestamp-millis",
        "scan.startup.specific-offsets", "sink.partitioner",
    }  # fmt: skip

    def readable_metadata(self, context: TableContext) -> dict[str, t.LogicalType]:
        """Return what messages have beside their content."""
        return {**READABLE, **value_metadata(context)}

    def writable_metadata(self, context: TableContext) -> dict[str, t.LogicalType]:
        """Return what messages can be given beside their content."""
        return WRITABLE

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table."""
        columns = self._columns(context)
        topics = _topics(context)
        return _source(context, columns, startup_offsets(context, topics), upsert=False)

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        columns = self._columns(context)
        changes = columns.value.kinds != frozenset("I")
        return _sink(context, columns, upsert=False, changes=changes)

    def _columns(self, context: TableContext) -> MessageColumns:
        columns = MessageColumns.of(context, None)
        if context.primary_key and columns.value.kinds == frozenset("I"):
            name = columns.value.context.name
            raise ValidationError(
                f"with the format {name!r} a table of the connector 'kafka' has no primary key",
                where=f"table {context.name}",
                got=f"PRIMARY KEY ({', '.join(context.primary_key)})",
                todo="use 'connector' = 'upsert-kafka', or a format that has changes: "
                "debezium-json, canal-json",
            )
        return columns


class UpsertKafkaFactory(TableFactory):
    """Topics of Kafka: a message is the newest row of its key, one without a value deletes it."""

    identifier = "upsert-kafka"
    options = _COMMON | FORMAT_PREFIXES | {
        "sink.buffer-flush.max-rows", "sink.buffer-flush.interval",
    }  # fmt: skip

    def readable_metadata(self, context: TableContext) -> dict[str, t.LogicalType]:
        """Return what messages have beside their content."""
        return READABLE

    def writable_metadata(self, context: TableContext) -> dict[str, t.LogicalType]:
        """Return what messages can be given beside their content."""
        return WRITABLE

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table: from the topic's beginning, as a key may be there."""
        columns = self._columns(context)
        return _source(context, columns, KafkaOffsetsInitializer.earliest(), upsert=True)

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        return _sink(context, self._columns(context), upsert=True, changes=True)

    def _columns(self, context: TableContext) -> MessageColumns:
        if not context.primary_key:
            raise ValidationError(
                "a table of the connector 'upsert-kafka' needs a primary key",
                where=f"table {context.name}",
                todo="declare PRIMARY KEY (...) NOT ENFORCED: it becomes the messages' key",
            )
        for key in ("key.format", "value.format"):
            context.required(key)
        columns = MessageColumns.of(context, context.primary_key)
        if columns.value.kinds != frozenset("I"):
            raise ValidationError(
                f"the format {columns.value.context.name!r} has changes of its own",
                where=f"table {context.name}, 'value.format'",
                todo="use 'connector' = 'kafka', or a format such as json, csv or avro",
            )
        return columns


def _topics(context: TableContext) -> tuple[str, ...]:
    topic, pattern = context.options.get("topic"), context.options.get("topic-pattern")
    if (topic is None) == (pattern is None):
        raise ValidationError(
            f"the connector {context.options['connector']!r} needs either 'topic' or "
            "'topic-pattern'",
            where=f"table {context.name}",
            got="neither" if topic is None else "both",
            todo="add 'topic' = '...' to the WITH clause",
        )
    return tuple(name.strip() for name in (topic or "").split(";") if name.strip())


def _properties(context: TableContext) -> dict[str, str]:
    context.required("properties.bootstrap.servers")
    return {
        key.removeprefix("properties."): value
        for key, value in context.options.items()
        if key.startswith("properties.")
    }


def _source(
    context: TableContext,
    columns: MessageColumns,
    starting: KafkaOffsetsInitializer,
    *,
    upsert: bool,
) -> TableSource:
    topics = _topics(context)
    width = len(context.schema.fields)
    schema = RowsOfMessages(columns, width, context.metadata, upsert=upsert)
    builder = KafkaSource.builder().set_properties(_properties(context)).set_deserializer(schema)
    builder.set_starting_offsets(starting)
    if topics:
        builder.set_topics(*topics)
    else:
        builder.set_topic_pattern(context.options["topic-pattern"])
    interval = context.options.get("scan.topic-partition-discovery.interval")
    if interval is not None:
        milliseconds = parse_duration(interval).to_millis()
        builder.set_property("partition.discovery.interval.ms", str(milliseconds))
    stopping = bounded_offsets(context, topics)
    if stopping is not None:
        builder.set_bounded(stopping)
    return TableSource(
        builder.build(), frozenset("IUD") if upsert else columns.value.kinds,
        update_before=not upsert, parallelism=_number(context, "scan.parallelism"),
        split_watermarks=True,
    )  # fmt: skip


def _sink(
    context: TableContext, columns: MessageColumns, *, upsert: bool, changes: bool
) -> TableSink:
    topics = _topics(context)
    if len(topics) != 1 and "topic" not in context.metadata:
        raise ValidationError(
            "a table of several topics does not say which of them a row goes to",
            where=f"table {context.name}",
            got=context.options.get("topic", context.options.get("topic-pattern")),
            todo="name one topic, or declare a column `topic` STRING METADATA",
        )
    name = context.options.get("sink.delivery-guarantee", "at-least-once").lower()
    if name not in _GUARANTEES:
        raise ValidationError(
            "the option 'sink.delivery-guarantee' has no such value",
            where=f"table {context.name}",
            got=name,
            todo=f"use one of: {', '.join(_GUARANTEES)}",
        )
    if name == "exactly-once":
        context.required("sink.transactional-id-prefix")
    schema = MessagesOfRows(
        columns, len(context.schema.fields), context.metadata, topics, upsert=upsert
    )
    sink = KafkaTableSink(
        _properties(context), schema, _GUARANTEES[name],
        context.options.get("sink.transactional-id-prefix"),
        find_partitioner(context.options.get("sink.partitioner", "default"), context.name),
        _flush(context),
    )  # fmt: skip
    return TableSink(
        sink, frozenset("IUD") if changes else frozenset("I"), update_before=not upsert,
        with_kinds=changes, key=context.primary_key if upsert else (),
        parallelism=_number(context, "sink.parallelism"),
    )  # fmt: skip


def _flush(context: TableContext) -> int:
    rows = _number(context, "sink.buffer-flush.max-rows") or 0
    interval = context.options.get("sink.buffer-flush.interval")
    length = 0 if interval is None else parse_duration(interval).to_millis()
    if (rows > 0) is not (length > 0):
        raise ValidationError(
            "'sink.buffer-flush.max-rows' and 'sink.buffer-flush.interval' come together",
            where=f"table {context.name}",
            todo="set both above zero, or none of them",
        )
    return rows


def _number(context: TableContext, key: str) -> int | None:
    text = context.options.get(key)
    if text is None:
        return None
    if not text.strip().isdigit():
        raise ValidationError(
            f"the option {key!r} must be a whole number",
            where=f"table {context.name}",
            got=text,
        )
    return int(text)
