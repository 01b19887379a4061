"""What of the Kafka connectors needs no broker: builders, shares, owners, settings."""

from __future__ import annotations

import importlib
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.kafka import client
from penstock.connectors.kafka.enumerator import divide, owner_of
from penstock.connectors.kafka.lookup import Lookup
from penstock.datastream.connectors.kafka import (
    ConsumerRecord,
    DeliveryGuarantee,
    FlinkKafkaConsumer,
    FlinkKafkaConsumer011,
    FlinkKafkaProducer,
    FlinkKafkaProducer011,
    JSONKeyValueDeserializationSchema,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSource,
    KafkaTopicPartition,
    KeyedSerializationSchemaWrapper,
)
from penstock.errors import ConfigurationError


def test_partitions_go_round_the_subtasks() -> None:
    owners = [owner_of(("words", number), 3) for number in range(6)]
    assert sorted(owners) == [0, 0, 1, 1, 2, 2]
    assert [(owners[0] + number) % 3 for number in range(6)] == owners


def test_two_partitions_on_two_subtasks_are_one_each() -> None:
    for topic in ("a", "words", "orders-2026", "топик"):
        assert {owner_of((topic, 0), 2), owner_of((topic, 1), 2)} == {0, 1}


@pytest.mark.parametrize(
    ("ready", "most", "shares"),
    [
        ({}, 5, {}),
        ({"a": 3}, 5, {"a": 3}),
        ({"a": 9}, 5, {"a": 5}),
        ({"a": 9, "b": 0, "c": 9}, 10, {"a": 5, "b": 0, "c": 5}),
        ({"a": 1, "b": 100}, 10, {"a": 1, "b": 9}),
    ],
)
def test_a_batch_is_shared_out(ready: dict[str, int], most: int, shares: dict[str, int]) -> None:
    assert divide(ready, most) == shares


def test_settings_of_the_java_client_are_understood() -> None:
    settings = client.translated(
        {
            "bootstrap.servers": "b:9092",
            "key.deserializer": "StringDeserializer",
            "flink.partition-discovery.interval-millis": "5000",
            "sasl.jaas.config": 'M required username="u" password="p\\"w";',
            "fetch.min.bytes": 7,  # type: ignore[dict-item]
            "max.request.size": "2000000",
            "auto.offset.reset": "none",
        }
    )
    assert settings == {
        "bootstrap.servers": "b:9092",
        "sasl.username": "u",
        "sasl.password": 'p\\"w',
        "fetch.min.bytes": "7",
        "message.max.bytes": "2000000",
        "auto.offset.reset": "error",
    }


def test_the_library_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ConfigurationError) as caught:
        client.library()
    assert str(caught.value) == (
        "the Kafka connectors need the package confluent-kafka\n"
        "  to do: install it: pip install 'penstock[kafka]'"
    )


def test_a_broker_that_is_away_is_reported_once_a_minute() -> None:
    told = client.NotAgain()

    def passes(text: str, at: float) -> bool:
        record = logging.LogRecord("kafka", logging.ERROR, "", 0, text, (), None)
        record.created = at
        return told.filter(record)

    refused = "FAIL [rdkafka#producer-1] [thrd:127.0.0.1:9092/bootstrap]: Connection refused"
    assert [passes(refused, at) for at in (0.0, 0.1, 59.0, 60.5, 61.0)] == [1, 0, 0, 1, 0]
    assert passes("OFFSET reset to the beginning", 61.0)


def test_a_source_says_what_it_lacks() -> None:
    builder = KafkaSource.builder()
    with pytest.raises(ConfigurationError) as caught:
        builder.build()
    assert caught.value.todo == "call set_bootstrap_servers()"
    builder.set_bootstrap_servers("b:9092")
    with pytest.raises(ConfigurationError) as caught:
        builder.build()
    assert str(caught.value) == (
        "a Kafka source reads topics, a pattern of topics, or partitions\n"
        "  where: KafkaSource.builder()\n"
        "  got:   none of them\n"
        "  to do: call one of set_topics(), set_topic_pattern() and set_partitions()"
    )
    builder.set_topics("a").set_topic_pattern("b")
    with pytest.raises(ConfigurationError) as caught:
        builder.build()
    assert caught.value.got == "several of them"


def test_a_schema_says_what_it_lacks() -> None:
    builder = KafkaRecordSerializationSchema.builder()
    with pytest.raises(ConfigurationError) as caught:
        builder.build()
    assert str(caught.value) == (
        "either a topic or a topic selector is needed\n"
        "  where: KafkaRecordSerializationSchema.builder()\n"
        "  got:   neither\n"
        "  to do: call set_topic() or set_topic_selector()"
    )
    with pytest.raises(ConfigurationError) as caught:
        builder.set_topic("t").build()
    assert caught.value.todo == "call set_value_serialization_schema()"


def test_offsets_must_be_numbers_of_partitions() -> None:
    with pytest.raises(ConfigurationError) as caught:
        KafkaOffsetsInitializer.offsets({"words": 1})  # type: ignore[dict-item]
    assert "offsets must be whole numbers by KafkaTopicPartition" in str(caught.value)
    partition = KafkaTopicPartition("words", 0)
    assert KafkaOffsetsInitializer.offsets({partition: 1}).specific == ((partition, 1),)


def test_the_classic_consumer_begins_where_the_group_is_by_default() -> None:
    consumer = FlinkKafkaConsumer("t", SimpleStringSchema(), {"bootstrap.servers": "b:9092"})
    assert consumer._starting.kind == "committed"
    assert consumer.set_start_from_timestamp(5)._starting.at == 5
    assert consumer.set_start_from_latest()._starting.kind == "latest"


def test_classic_programs_read_json_with_where_it_came_from() -> None:
    schema = JSONKeyValueDeserializationSchema(include_metadata=True)
    record = ConsumerRecord("numbers", 2, 7, None, b'"k"', b'{"n": 15}', [])
    assert schema.deserialize(record) == {
        "key": "k",
        "value": {"n": 15},
        "metadata": {"offset": 7, "topic": "numbers", "partition": 2},
    }
    plain = JSONKeyValueDeserializationSchema()
    assert plain.deserialize(ConsumerRecord("t", 0, 0, None, None, b"1", [])) == {"value": 1}
    properties = {"bootstrap.servers": "b:9092"}
    consumer = FlinkKafkaConsumer011("numbers", schema, properties)
    assert consumer.get_produced_type() is None
    assert consumer._source()._schema is schema


def test_the_classic_producer_takes_the_semantic_where_java_has_it() -> None:
    schema = KeyedSerializationSchemaWrapper(SimpleStringSchema())
    assert schema.serialize("a") == b"a"
    exactly = FlinkKafkaProducer.Semantic.EXACTLY_ONCE
    sink = FlinkKafkaProducer011("t", schema, {"bootstrap.servers": "b:9092"}, exactly)
    assert sink._guarantee is DeliveryGuarantee.EXACTLY_ONCE


class Starting:
    """A broker that has just been started: at first it names no leader of a partition."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)

    def offsets_for_times(self, asked: list[TopicPartition], timeout: float) -> Any:
        code = self._errors.pop(0) if self._errors else None
        error = None if code is None else KafkaError(code)
        return [SimpleNamespace(topic="t", partition=0, offset=7, error=error)]

    def poll(self, timeout: float) -> None:
        """Have nothing to say."""


def test_a_partition_without_a_leader_is_asked_for_again() -> None:
    lookup = Lookup({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    lookup.close()
    lookup._consumer = Starting(KafkaError.LEADER_NOT_AVAILABLE, KafkaError._TIMED_OUT)
    assert lookup.ends([("t", 0)]) == {("t", 0): 7}
    lookup._consumer = Starting(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        lookup.ends([("t", 0)])
