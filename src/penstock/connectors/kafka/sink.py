"""Kafka as a sink: workers turn records into messages, the user's process publishes them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from penstock.connectors.base import DeliveryGuarantee, StreamTransformer, SupportsPreprocessing
from penstock.connectors.kafka.client import library
from penstock.connectors.kafka.publishing import (
    KafkaCommitter,
    StagedMessages,
    TransactionalCommitter,
)
from penstock.connectors.kafka.schemas import (
    BuiltSchema,
    KafkaRecordSerializationSchema,
    ProducerRecord,
)
from penstock.core.io import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from penstock.errors import ConfigurationError, SerializationError, show_value

#: Messages of one committable: large enough to cost little, small enough to be moved about.
_CHUNK = 20_000
_NO_TIME = 1 << 62


class KafkaSink(Sink, SupportsPreprocessing):
    """Write records to topics of Kafka. Use `KafkaSink.builder()`.

    EXACTLY_ONCE: the messages of a batch, and a marker of the batch in a topic of its own, are
    written in one transaction once the batch is durable. Readers with `isolation.level` set to
    `read_committed` see each record once. AT_LEAST_ONCE, the default: after a failure some
    messages may be written again. Needs the extra `kafka`.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .set_bootstrap_servers("localhost:9092")
    ...     .set_record_serializer(
    ...         KafkaRecordSerializationSchema.builder()
    ...         .set_topic("counts")
    ...         .set_value_serialization_schema(SimpleStringSchema())
    ...         .build()
    ...     )
    ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    ...     .set_transactional_id_prefix("word-count")
    ...     .build()
    ... )
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        schema: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        prefix: str | None,
        *,
        write_timestamps: bool = True,
    ) -> None:
        self._properties = dict(properties)
        self._schema = schema
        self._guarantee = guarantee
        self._prefix = prefix
        self._write_timestamps = write_timestamps

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Return a builder of a sink."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        return None

    def create_writer(self, context: WriterContext) -> SinkWriter:
        simple = self._schema.to_one_topic() if isinstance(self._schema, BuiltSchema) else None
        if simple is not None:
            return _ValueWriter(self._schema, *simple, self._write_timestamps)
        return _KafkaWriter(self._schema, self._write_timestamps)

    def create_committer(self, context: CommitterContext) -> Committer:
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            # The same in every run of the job: the next one ends what this one leaves open.
            transactional_id = f"{self._prefix or context.job_id}-{context.uid}"
            return TransactionalCommitter(context, self._properties, transactional_id)
        return KafkaCommitter(context, self._properties)


class _KafkaWriter(SinkWriter):
    """Turn records into messages, and keep them until the batch ends."""

    def __init__(self, schema: KafkaRecordSerializationSchema, write_timestamps: bool) -> None:
        schema.open()
        self._serialize = schema.serialize
        self._write_timestamps = write_timestamps
        self._messages: StagedMessages = []

    def write(self, value: Any, timestamp: int | None) -> None:
        message = self._serialize(value, timestamp)
        if message is None:
            return
        if not isinstance(message, ProducerRecord):
            raise SerializationError(
                "the serialization schema returned no message",
                where="KafkaRecordSerializationSchema.serialize()",
                got=show_value(message),
                todo="return a ProducerRecord",
            )
        topic, body, key, partition, time, headers = message
        if time is None and self._write_timestamps:
            time = timestamp
        # Before 1970, or the watermark of the end: Kafka has no such time.
        if time is not None and not 0 <= time < _NO_TIME:
            time = None
        self._messages.append((topic, body, key, partition, time, headers))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        messages, self._messages = self._messages, []
        return [
            pickle.dumps(messages[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(messages), _CHUNK)
        ]


class _ValueWriter(_KafkaWriter):
    """The same for messages of one topic that have values only: as quick as can be."""

    def __init__(
        self,
        schema: KafkaRecordSerializationSchema,
        topic: str,
        serialize: Callable[[Any], bytes],
        write_timestamps: bool,
    ) -> None:
        super().__init__(schema, write_timestamps)
        self._topic = topic
        self._value = serialize

    def write(self, value: Any, timestamp: int | None) -> None:
        if timestamp is not None and not (self._write_timestamps and 0 <= timestamp < _NO_TIME):
            timestamp = None
        self._messages.append((self._topic, self._value(value), None, None, timestamp, None))


class KafkaSinkBuilder:
    """Build a `KafkaSink`."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.AT_LEAST_ONCE
        self._prefix: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the brokers to ask first: `host:port`, several with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set how often a record reaches the topic, failures included. Default: at least once."""
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Name the sink's transactions; no two jobs that run at a time may share the name.

        Default: the job's id.
        """
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set how records become messages."""
        self._schema = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of the client, by librdkafka's name or that of Java's client."""
        self._properties[key] = value
        return self

    def set_kafka_producer_config(self, props: Mapping[str, str]) -> KafkaSinkBuilder:
        """Set several properties of the client."""
        self._properties.update(props)
        return self

    def build(self) -> KafkaSink:
        """Return the sink.

        :raises ConfigurationError: if something is missing.
        """
        library()
        where = "KafkaSink.builder()"
        if not self._properties.get("bootstrap.servers"):
            raise ConfigurationError(
                "the brokers' addresses are missing",
                where=where,
                todo="call set_bootstrap_servers()",
            )
        if not isinstance(self._schema, KafkaRecordSerializationSchema):
            raise ConfigurationError(
                "it is not said how records become messages",
                where=where,
                got=show_value(self._schema),
                todo="call set_record_serializer() with a KafkaRecordSerializationSchema",
            )
        return KafkaSink(self._properties, self._schema, self._guarantee, self._prefix)
