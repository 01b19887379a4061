"""Streams by name: a service says which topics of which cluster they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.kafka.schemas import KafkaRecordDeserializationSchema
from penstock.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from penstock.errors import ConfigurationError, show_value

_WHERE = "DynamicKafkaSource.builder()"
_DISCOVERY_KEY = "stream-metadata-discovery-interval-ms"
_THRESHOLD_KEY = "stream-metadata-discovery-failure-threshold"


class KafkaMetadataService:
    """Say which topics a stream has. `SingleClusterTopicMetadataService` is the one there is."""


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Streams are the topics of one cluster, under their own names.

    :param kafka_cluster_id: a name for the cluster.
    :param properties: settings of the client, `bootstrap.servers` among them.
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = dict(properties)


class KafkaStreamSubscriber:
    """Say which streams are read."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Read these streams."""

    def __init__(self, stream_ids: Iterable[str]) -> None:
        self.stream_ids = frozenset(stream_ids)


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Read all streams whose whole name matches a regular expression, new ones too."""

    def __init__(self, stream_pattern: str) -> None:
        self.stream_pattern = stream_pattern


class DynamicKafkaSource(KafkaSource):
    """Read streams of Kafka. Use `DynamicKafkaSource.builder()`.

    What is promised of a `KafkaSource` is promised here. New partitions, and new streams of a
    pattern, are looked for every `stream-metadata-discovery-interval-ms`.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> service = SingleClusterTopicMetadataService("a", {"bootstrap.servers": "localhost:9092"})
    >>> source = (
    ...     DynamicKafkaSource.builder()
    ...     .set_stream_ids({"words"})
    ...     .set_kafka_metadata_service(service)
    ...     .set_value_only_deserializer(SimpleStringSchema())
    ...     .build()
    ... )
    """

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:  # type: ignore[override]
        """Return a builder of a source."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder:
    """Build a `DynamicKafkaSource`."""

    def __init__(self) -> None:
        self._inner = KafkaSourceBuilder(DynamicKafkaSource)
        self._properties: dict[str, str] = {}
        self._service: KafkaMetadataService | None = None
        self._subscriber: KafkaStreamSubscriber | None = None

    def set_stream_ids(self, stream_ids: Iterable[str]) -> DynamicKafkaSourceBuilder:
        """Read these streams."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read all streams whose whole name matches a regular expression."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder:
        """Set which streams are read."""
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> DynamicKafkaSourceBuilder:
        """Set who says which topics the streams are."""
        self._service = kafka_metadata_service
        return self

    def set_deserializer(
        self, deserializer: KafkaRecordDeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Make records from whole messages, with keys and headers."""
        self._inner.set_deserializer(deserializer)
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema[Any]
    ) -> DynamicKafkaSourceBuilder:
        """Make records from the messages' values."""
        self._inner.set_value_only_deserializer(deserialization_schema)
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Set where a new job begins. Default: with the earliest record."""
        self._inner.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Read up to these offsets and end."""
        self._inner.set_bounded(stopping_offsets_initializer)
        return self

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder:
        """Set several properties of the client; they go before those of the service."""
        self._properties.update(props)
        return self

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """Set a property of the client, by librdkafka's name or that of Java's client."""
        self._properties[key] = value
        return self

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """Set the consumer group for which offsets are committed."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """Set the name under which the brokers know this client."""
        return self.set_property("client.id", prefix)

    def build(self) -> KafkaSource:
        """Return the source.

        :raises ConfigurationError: if something is missing.
        """
        if not isinstance(self._service, SingleClusterTopicMetadataService):
            raise ConfigurationError(
                "it is not said which topics the streams are",
                where=_WHERE,
                got=show_value(self._service),
                todo="call set_kafka_metadata_service() with a SingleClusterTopicMetadataService",
            )
        properties = {**self._service.properties, **self._properties}
        properties.pop(_THRESHOLD_KEY, None)
        interval = properties.pop(_DISCOVERY_KEY, None)
        if interval is not None:
            properties["partition.discovery.interval.ms"] = interval
        self._inner.set_properties(properties)
        if isinstance(self._subscriber, KafkaStreamSetSubscriber):
            self._inner.set_topics(*sorted(self._subscriber.stream_ids))
        elif isinstance(self._subscriber, StreamPatternSubscriber):
            self._inner.set_topic_pattern(self._subscriber.stream_pattern)
        else:
            raise ConfigurationError(
                "it is not said which streams are read",
                where=_WHERE,
                got=show_value(self._subscriber),
                todo="call set_stream_ids() or set_stream_pattern()",
            )
        return self._inner.build()
