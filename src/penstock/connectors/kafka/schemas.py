"""How records become messages of Kafka, and messages records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.core.io import SourceBatch
from penstock.errors import ConfigurationError, SerializationError, show_value

Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True)
class ConsumerRecord:
    """A message as it came from Kafka."""

    topic: str
    partition: int
    offset: int
    #: Epoch milliseconds, None if the message has none.
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class KafkaRecordDeserializationSchema(ABC):
    """Turn a whole message, with key and headers, into a record.

    >>> class Keyed(KafkaRecordDeserializationSchema):
    ...     def deserialize(self, record):
    ...         return record.key, record.value
    """

    def open(self) -> None:  # noqa: B027 - optional hook
        """Prepare for work. Called once in each worker before the first message."""

    @abstractmethod
    def deserialize(self, record: ConsumerRecord) -> Any:
        """Return the record; None leaves the message out."""

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records if it is known."""
        return None

    @staticmethod
    def value_only(schema: DeserializationSchema[Any]) -> KafkaRecordDeserializationSchema:
        """Return a schema that looks at the messages' values only."""
        return ValueOnlySchema(schema)

    def batch(self, messages: list[Any]) -> SourceBatch:
        """Return messages of the client library as records with their timestamps."""
        records = []
        for message in messages:
            time = message.timestamp()[1]
            record = ConsumerRecord(
                message.topic(),
                message.partition(),
                message.offset(),
                None if time < 0 else time,
                message.key(),
                message.value(),
                message.headers() or [],
            )
            records.append((self.deserialize(record), record.timestamp))
        kept = [pair for pair in records if pair[0] is not None]
        return SourceBatch([value for value, _ in kept], [time for _, time in kept])


class ValueOnlySchema(KafkaRecordDeserializationSchema):
    """Turn the messages' values into records; a message without a value is left out."""

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise ConfigurationError(
                "a deserialization schema is needed to read messages",
                where="KafkaSource.builder().set_value_only_deserializer()",
                got=show_value(schema),
                todo="pass for instance SimpleStringSchema()",
            )
        self._schema = schema

    def open(self) -> None:
        self._schema.open()

    def deserialize(self, record: ConsumerRecord) -> Any:
        return None if record.value is None else self._schema.deserialize(record.value)

    def get_produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def batch(self, messages: list[Any]) -> SourceBatch:
        decode = self._schema.deserialize
        values = [m.value() for m in messages]
        times: list[int | None] = [m.timestamp()[1] for m in messages]
        if None in values:
            pairs = zip(values, times, strict=True)
            present = [(value, time) for value, time in pairs if value is not None]
            values, times = [v for v, _ in present], [t for _, t in present]
        records = [decode(value) for value in values]
        if None in records:
            kept = [i for i, record in enumerate(records) if record is not None]
            records, times = [records[i] for i in kept], [times[i] for i in kept]
        if -1 in times:
            times = [None if time == -1 else time for time in times]
        return SourceBatch(records, times)


class ProducerRecord(NamedTuple):
    """A message for Kafka. Without a partition the key chooses it, without a key nobody does."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    #: Epoch milliseconds; None: the record's own timestamp, if it has one.
    timestamp: int | None = None
    headers: Headers | None = None


class KafkaTopicSelector(ABC):
    """Choose a topic for each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the name of the topic."""


class KafkaRecordSerializationSchema(ABC):
    """Turn a record into a message. Use `builder()`, or subclass it to set headers.

    >>> class Shout(KafkaRecordSerializationSchema):
    ...     def serialize(self, element, timestamp):
    ...         return ProducerRecord("words", element.upper().encode(), headers=[("n", b"1")])
    """

    def open(self) -> None:  # noqa: B027 - optional hook
        """Prepare for work. Called once in each worker before the first record."""

    @abstractmethod
    def serialize(self, element: Any, timestamp: int | None) -> ProducerRecord | None:
        """Return the message; None leaves the record out.

        :param timestamp: of the record, in epoch milliseconds.
        """

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a builder of a schema that takes topic, key and value from schemas."""
        return KafkaRecordSerializationSchemaBuilder()


class BuiltSchema(KafkaRecordSerializationSchema):
    """A schema that takes topic, key and value from other schemas."""

    def __init__(
        self,
        topic: str | None,
        selector: Callable[[Any], str] | None,
        key: SerializationSchema[Any] | None,
        value: SerializationSchema[Any],
        partitioner: Callable[[Any, bytes | None, bytes | None, str], int] | None,
    ) -> None:
        self._topic = topic
        self._select = selector
        self._key = key
        self._value = value
        self._partitioner = partitioner

    def open(self) -> None:
        for schema in (self._key, self._value):
            if schema is not None:
                schema.open()

    def to_one_topic(self) -> tuple[str, Callable[[Any], bytes]] | None:
        """Return topic and serializer of messages that have values only, None for others."""
        if self._topic is None or self._key is not None or self._partitioner is not None:
            return None
        return self._topic, self._value.serialize

    def serialize(self, element: Any, timestamp: int | None) -> ProducerRecord:
        topic = self._topic if self._select is None else self._select(element)
        if not isinstance(topic, str):
            raise SerializationError("the topic selector returned no name", got=show_value(topic))
        key = None if self._key is None else self._key.serialize(element)
        value = self._value.serialize(element)
        partition = None
        if self._partitioner is not None:
            partition = self._partitioner(element, key, value, topic)
        return ProducerRecord(topic, value, key, partition)


class KafkaRecordSerializationSchemaBuilder:
    """Build a `KafkaRecordSerializationSchema`.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> schema = (
    ...     KafkaRecordSerializationSchema.builder()
    ...     .set_topic("words")
    ...     .set_value_serialization_schema(SimpleStringSchema())
    ...     .build()
    ... )
    >>> schema.serialize("to be", None).value
    b'to be'
    """

    def __init__(self) -> None:
        self._topic: str | None = None
        self._selector: Callable[[Any], str] | None = None
        self._key: SerializationSchema[Any] | None = None
        self._value: SerializationSchema[Any] | None = None
        self._partitioner: Callable[..., int] | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Send all records to one topic."""
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: KafkaTopicSelector | Callable[[Any], str]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Let a function of the record choose the topic."""
        self._selector = (
            topic_selector.apply
            if isinstance(topic_selector, KafkaTopicSelector)
            else topic_selector
        )
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Take the messages' keys from a schema of the record. Default: no keys."""
        self._key = key_serialization_schema
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Take the messages' values from a schema of the record."""
        self._value = value_serialization_schema
        return self

    def set_partitioner(
        self, partitioner: Callable[[Any, bytes | None, bytes | None, str], int]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the partition by a function of record, key, value and topic."""
        self._partitioner = partitioner
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema.

        :raises ConfigurationError: if topic or value schema is missing.
        """
        where = "KafkaRecordSerializationSchema.builder()"
        if (self._topic is None) == (self._selector is None):
            raise ConfigurationError(
                "either a topic or a topic selector is needed",
                where=where,
                got="neither" if self._topic is None else "both",
                todo="call set_topic() or set_topic_selector()",
            )
        if self._value is None:
            raise ConfigurationError(
                "a schema for the values is needed",
                where=where,
                todo="call set_value_serialization_schema()",
            )
        return BuiltSchema(self._topic, self._selector, self._key, self._value, self._partitioner)
