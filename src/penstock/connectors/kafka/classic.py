"""The older names, as programs of Flink 1.x use them: consumer, producer and their schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.base import DeliveryGuarantee
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.schemas import (
    ConsumerRecord,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
)
from penstock.connectors.kafka.sink import KafkaSink
from penstock.connectors.kafka.source import KafkaSource
from penstock.core.io import EnumeratorContext, ReaderContext, Source, SourceReader, SplitEnumerator


class FlinkKafkaConsumer(Source):
    """Read topics of Kafka: for `env.add_source`. Newer programs use `KafkaSource`.

    :param topics: a topic, or a list of them.
    :param properties: of the client; `bootstrap.servers` and `group.id` at least.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> properties = {"bootstrap.servers": "localhost:9092", "group.id": "words"}
    >>> consumer = FlinkKafkaConsumer("words", SimpleStringSchema(), properties)
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        deserialization_schema: DeserializationSchema[Any] | KafkaRecordDeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._schema = deserialization_schema
        self._properties = dict(properties)
        reset = str(properties.get("auto.offset.reset", "latest")).upper()
        known = {each.name: each for each in KafkaOffsetResetStrategy}
        strategy = known.get(reset, KafkaOffsetResetStrategy.LATEST)
        self._starting = KafkaOffsetsInitializer.committed_offsets(strategy)

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumer:
        """Commit offsets for the group with checkpoints, or not."""
        self._properties["commit.offsets.on.checkpoint"] = str(commit_on_checkpoints).lower()
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Begin with the first record that there is."""
        self._starting = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Begin with what comes from now on."""
        self._starting = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Begin with the first record that is not before a time, in epoch milliseconds."""
        self._starting = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Begin where the group has read to. That is the default."""
        reset = self._starting.reset
        self._starting = KafkaOffsetsInitializer.committed_offsets(reset)
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Go on reading partitions of the checkpoint; here that is always so."""
        return self

    def get_produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return self._source().create_enumerator(context)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return self._source().create_reader(context)

    def _source(self) -> KafkaSource:
        builder = (
            KafkaSource.builder()
            .set_topics(*self._topics)
            .set_properties(self._properties)
            .set_starting_offsets(self._starting)
        )
        if isinstance(self._schema, KafkaRecordDeserializationSchema):
            return builder.set_deserializer(self._schema).build()
        return builder.set_value_only_deserializer(self._schema).build()


class JSONKeyValueDeserializationSchema(KafkaRecordDeserializationSchema):
    """Read messages whose keys and values are JSON; the records are dicts.

    A record has `key` and `value`, where the message has them, and on request `metadata`: its
    topic, partition and offset.

    >>> schema = JSONKeyValueDeserializationSchema(include_metadata=True)
    >>> schema.deserialize(ConsumerRecord("numbers", 0, 7, None, None, b"15", []))
    {'value': 15, 'metadata': {'offset': 7, 'topic': 'numbers', 'partition': 0}}
    """

    def __init__(self, include_metadata: bool = False) -> None:
        self._include_metadata = include_metadata

    def deserialize(self, record: ConsumerRecord) -> dict[str, Any]:
        node: dict[str, Any] = {}
        if record.key is not None:
            node["key"] = json.loads(record.key)
        if record.value is not None:
            node["value"] = json.loads(record.value)
        if self._include_metadata:
            node["metadata"] = {
                "offset": record.offset,
                "topic": record.topic,
                "partition": record.partition,
            }
        return node


class KeyedSerializationSchemaWrapper(SerializationSchema[Any]):
    """Write messages without keys, their values as another schema writes them."""

    def __init__(self, serialization_schema: SerializationSchema[Any]) -> None:
        self._schema = serialization_schema

    def open(self) -> None:
        self._schema.open()

    def serialize(self, element: Any) -> bytes:
        return self._schema.serialize(element)


class Semantic(Enum):
    """How often a record reaches the topic, failures included."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducer(KafkaSink):
    """Write records to a topic of Kafka: for `stream.add_sink`. Newer programs use `KafkaSink`.

    :param producer_config: properties of the client; `bootstrap.servers` at least.
    :param kafka_producers_pool_size: accepted; here one producer writes all transactions. Java has
        the semantic in this place, which is understood as well.
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: Mapping[str, str],
        kafka_producers_pool_size: int | Semantic = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        schema = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(serialization_schema)
            .build()
        )
        if isinstance(kafka_producers_pool_size, Semantic):
            semantic = kafka_producers_pool_size
        guarantee = DeliveryGuarantee[semantic.name]
        super().__init__(producer_config, schema, guarantee, None, write_timestamps=False)

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducer:
        """Give messages the records' timestamps, or not, which is the default."""
        self._write_timestamps = write_timestamp_to_kafka
        return self

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducer:
        """Do nothing: a message that cannot be written always fails the job."""
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducer:
        """Do nothing: a checkpoint's messages are always written."""
        return self

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Do nothing: a transaction begins when it can be ended, so that none grows old."""
        return self


# Java's name of it, which the class itself could not use in its annotations.
FlinkKafkaProducer.Semantic = Semantic  # type: ignore[attr-defined]

#: The names of Flink 1.7, which had a class for each version of Kafka.
FlinkKafkaConsumer010 = FlinkKafkaConsumer011 = FlinkKafkaConsumer
FlinkKafkaProducer010 = FlinkKafkaProducer011 = FlinkKafkaProducer
