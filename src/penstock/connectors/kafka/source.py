"""Kafka as a source: topics read by offset, so that a replay reads the same records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.kafka.client import library, translated
from penstock.connectors.kafka.enumerator import KafkaEnumerator, KafkaRange
from penstock.connectors.kafka.lookup import Partition
from penstock.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.connectors.kafka.reader import KafkaReader
from penstock.connectors.kafka.schemas import KafkaRecordDeserializationSchema, ValueOnlySchema
from penstock.core.io import (
    EnumeratorContext,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from penstock.errors import ConfigurationError

#: Flink's own default: five minutes.
_DISCOVERY_MS = 300_000
_DISCOVERY_KEYS = ("partition.discovery.interval.ms", "flink.partition-discovery.interval-millis")
_RESETS = {
    KafkaOffsetResetStrategy.EARLIEST: "earliest",
    KafkaOffsetResetStrategy.LATEST: "latest",
    KafkaOffsetResetStrategy.NONE: "error",
}


class KafkaSource(Source):
    """Read topics of Kafka. Use `KafkaSource.builder()`.

    Exactly once: the offsets are in the job's checkpoint, and a replay reads the same ones. A
    record's timestamp is the message's; with a watermark strategy each partition has a generator
    of its own. Partition i of a topic is read by one subtask, the next partition by the next.
    Offsets are committed for the consumer group when a checkpoint's output is published, for others
    to see: the job itself does not need them. Needs the extra `kafka`.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> source = (
    ...     KafkaSource.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_topics("words")
    ...     .set_group_id("word-count")
    ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .build()
    ... )
    """

    def __init__(
        self,
        wanted: KafkaRange,
        properties: Mapping[str, str],
        schema: KafkaRecordDeserializationSchema,
        *,
        bounded: bool,
    ) -> None:
        self._wanted = wanted
        self._properties = dict(properties)
        self._schema = schema
        self.bounded = bounded

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Return a builder of a source."""
        return KafkaSourceBuilder()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return KafkaEnumerator(context, self._settings(context.uid), self._wanted)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return KafkaReader(context, self._settings(context.uid), self._schema)

    def get_produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def _settings(self, uid: str) -> dict[str, Any]:
        return {
            # As in Java, whose default is not the client library's.
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": _RESETS[self._wanted.starting.reset],
            "group.id": f"penstock-{uid}",
            # A range is known to be there: there is nothing to wait for.
            "fetch.wait.max.ms": "5",
            "queued.min.messages": "1000000",
            "queued.max.messages.kbytes": "32768",
            **translated(self._properties),
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
        }


class KafkaSourceBuilder:
    """Build a `KafkaSource`.

    :param kind: the class of the source.
    """

    def __init__(self, kind: type[KafkaSource] = KafkaSource) -> None:
        self._kind = kind
        self._properties: dict[str, str] = {}
        self._topics: tuple[str, ...] = ()
        self._pattern: str | None = None
        self._partitions: tuple[Partition, ...] = ()
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._schema: KafkaRecordDeserializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the brokers to ask first: `host:port`, several with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the consumer group for which offsets are committed."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        names = topics[0] if len(topics) == 1 and isinstance(topics[0], (list, tuple)) else topics
        self._topics = tuple(names)
        return self

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches a regular expression."""
        self._pattern = topic_pattern
        return self

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions."""
        self._partitions = tuple(sorted((each.topic, each.partition) for each in partitions))
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where a new job begins. Default: with the earliest record."""
        self._starting = starting_offsets_initializer
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at these offsets, in a job that is a stream all the same."""
        self._stopping = stopping_offsets_initializer
        self._bounded = False
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to these offsets and end."""
        self._stopping = stopping_offsets_initializer
        self._bounded = True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema[Any]
    ) -> KafkaSourceBuilder:
        """Make records from the messages' values."""
        self._schema = ValueOnlySchema(deserialization_schema)
        return self

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make records from whole messages, with keys and headers."""
        self._schema = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the name under which the brokers know this client."""
        return self.set_property("client.id", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of the client, by librdkafka's name or that of Java's client."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Set several properties of the client."""
        self._properties.update(props)
        return self

    def build(self) -> KafkaSource:
        """Return the source.

        :raises ConfigurationError: if something is missing.
        """
        library()
        where = "KafkaSource.builder()"
        if not self._properties.get("bootstrap.servers"):
            raise ConfigurationError(
                "the brokers' addresses are missing",
                where=where,
                todo="call set_bootstrap_servers()",
            )
        ways = [bool(self._topics), self._pattern is not None, bool(self._partitions)]
        if sum(ways) != 1:
            raise ConfigurationError(
                "a Kafka source reads topics, a pattern of topics, or partitions",
                where=where,
                got="none of them" if not any(ways) else "several of them",
                todo="call one of set_topics(), set_topic_pattern() and set_partitions()",
            )
        if self._schema is None:
            raise ConfigurationError(
                "it is not said how messages become records",
                where=where,
                todo="call set_value_only_deserializer() or set_deserializer()",
            )
        return self._kind(self._range(), self._properties, self._schema, bounded=self._bounded)

    def _range(self) -> KafkaRange:
        values = (self._properties[key] for key in _DISCOVERY_KEYS if key in self._properties)
        interval = int(next(values, _DISCOVERY_MS))
        looks = interval > 0 and self._stopping is None and not self._partitions
        commits = str(self._properties.get("commit.offsets.on.checkpoint", "true")).lower()
        return KafkaRange(
            self._topics,
            self._pattern,
            self._partitions,
            self._starting,
            self._stopping,
            interval / 1000 if looks else None,
            commits == "true" and "group.id" in self._properties,
        )
