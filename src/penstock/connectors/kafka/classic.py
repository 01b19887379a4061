"""The older names: `FlinkKafkaConsumer` and `FlinkKafkaProducer`, as programs of Flink 1.x use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.base import DeliveryGuarantee
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.schemas import KafkaRecordSerializationSchema
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
        deserialization_schema: DeserializationSchema[Any],
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

    def get_produced_type(self) -> TypeInformation:
        return self._schema.get_produced_type()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return self._source().create_enumerator(context)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return self._source().create_reader(context)

    def _source(self) -> KafkaSource:
        return (
            KafkaSource.builder()
            .set_topics(*self._topics)
            .set_properties(self._properties)
            .set_starting_offsets(self._starting)
            .set_value_only_deserializer(self._schema)
            .build()
        )


class Semantic(Enum):
    """How often a record reaches the topic, failures included."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducer(KafkaSink):
    """Write records to a topic of Kafka: for `stream.add_sink`. Newer programs use `KafkaSink`.

    :param producer_config: properties of the client; `bootstrap.servers` at least.
    :param kafka_producers_pool_size: accepted; here one producer writes all transactions.
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: Mapping[str, str],
        kafka_producers_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        schema = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(serialization_schema)
            .build()
        )
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
