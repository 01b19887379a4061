"""Messages of Protobuf, and all schemas at work in the Kafka connector."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from google.protobuf.wrappers_pb2 import Int64Value, StringValue

from penstock.common import Row, Types
from penstock.common.serialization import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from penstock.connectors.kafka.schemas import KafkaRecordSerializationSchema, ValueOnlySchema
from penstock.datastream.formats.protobuf import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)
from penstock.errors import ConfigurationError, SerializationError

WORDS = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])


def reading(type_info: Any, *calls: str) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(type_info)
    for call in calls:
        getattr(builder, call)()
    return builder.build()


def writing(type_info: Any) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(type_info).build()


def test_protobuf_there_and_back() -> None:
    message = ProtobufSerializationSchema(StringValue).serialize(StringValue(value="be"))
    assert message == b"\n\x02be"
    assert ProtobufDeserializationSchema(StringValue).deserialize(message).value == "be"


def test_protobuf_errors() -> None:
    with pytest.raises(SerializationError) as caught:
        ProtobufDeserializationSchema(StringValue).deserialize(b"\n\x09be")
    assert "a message is no StringValue of Protobuf" in str(caught.value)
    assert ProtobufDeserializationSchema(StringValue, True).deserialize(b"\n\x09be") is None
    with pytest.raises(SerializationError, match="it is of class Int64Value"):
        ProtobufSerializationSchema(StringValue).serialize(Int64Value(value=1))
    with pytest.raises(ConfigurationError, match="a class of Protobuf messages is needed"):
        ProtobufDeserializationSchema(str)


class Message:
    def __init__(self, value: bytes | None, time: int = 5) -> None:
        self.value = lambda: value
        self.timestamp = lambda: (1, time)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (reading(WORDS, "ignore_parse_errors"), b'{"word":"be","count":2}'),
        (
            CsvRowDeserializationSchema.Builder(WORDS).set_ignore_parse_errors(True).build(),
            b"be,2",
        ),
    ],
)
def test_a_kafka_source_leaves_out_what_cannot_be_read(schema: Any, message: bytes) -> None:
    shipped = pickle.loads(pickle.dumps(ValueOnlySchema(schema)))
    shipped.open()
    batch = shipped.batch(
        [Message(message, 1), Message(b"", 2), Message(None), Message(message, 4)]
    )
    assert batch.values == [Row(word="be", count=2)] * 2
    assert batch.timestamps == [1, 4]
    assert shipped.get_produced_type() == WORDS


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (writing(WORDS), b'{"word":"be","count":2}'),
        (CsvRowSerializationSchema.Builder(WORDS).build(), b"be,2\n"),
    ],
)
def test_a_kafka_sink_takes_the_schemas(schema: Any, value: bytes) -> None:
    built = (
        KafkaRecordSerializationSchema.builder()
        .set_topic("words")
        .set_value_serialization_schema(schema)
        .build()
    )
    shipped = pickle.loads(pickle.dumps(built))
    shipped.open()
    assert shipped.serialize(Row("be", 2), None).value == value


def test_avro_and_protobuf_schemas_can_be_shipped() -> None:
    text = '{"type": "record", "name": "W", "fields": [{"name": "word", "type": "string"}]}'
    avro = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=text)))
    back = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=text)))
    assert back.deserialize(avro.serialize(("be",))) == Row(word="be")
    proto = pickle.loads(pickle.dumps(ProtobufDeserializationSchema(StringValue)))
    assert proto.deserialize(b"\n\x02be").value == "be"
