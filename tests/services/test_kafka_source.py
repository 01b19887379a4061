"""Kafka as a source, on a real broker: where reading begins and ends, and what a record is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.common import Duration, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import ProcessFunction
from penstock.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    SingleClusterTopicMetadataService,
)
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.errors import ConfigurationError, PenstockError, SourceError
from penstock.testing.local_executor import LocalJob
from tests.services.topics import QUIET, Topic
from tests.unit.process.jobs import plan_of, run
from tools.services import Server

LATEST = KafkaOffsetsInitializer.latest()


def builder(topic: Topic) -> KafkaSourceBuilder:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(topic.servers)
        .set_topics(topic.name)
        .set_value_only_deserializer(SimpleStringSchema())
    )


def read(source: KafkaSource, **options: Any) -> list[Any]:
    strategy = WatermarkStrategy.no_watermarks()
    return run(lambda env: env.from_source(source, strategy, "kafka"), **options)


def test_all_that_is_there_in_order(kafka: Server) -> None:
    topic = Topic(kafka, "all")
    topic.write(*(str(n) for n in range(1000)))
    assert read(builder(topic).set_bounded(LATEST).build()) == [str(n) for n in range(1000)]


def test_cuts_change_nothing(kafka: Server) -> None:
    topic = Topic(kafka, "cuts")
    topic.write(*(str(n) for n in range(50)))
    assert read(builder(topic).set_bounded(LATEST).build(), cuts=7) == [str(n) for n in range(50)]


def test_each_subtask_reads_its_own_partition(kafka: Server, tmp_path: Path) -> None:
    topic = Topic(kafka, "two", partitions=2)
    topic.write(*"abc", partition=0)
    topic.write(*"xyz", partition=1)
    source = builder(topic).set_bounded(LATEST).build()
    plan, sink = plan_of(
        lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka"), 2
    )
    LocalJob(plan, tmp_path).run()
    assert sorted(sink.by_subtask().values()) == [["a", "b", "c"], ["x", "y", "z"]]


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        (lambda topic: KafkaOffsetsInitializer.earliest(), "abcd"),
        (lambda topic: KafkaOffsetsInitializer.timestamp(3000), "cd"),
        (lambda topic: KafkaOffsetsInitializer.timestamp(9000), ""),
        (
            lambda topic: KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic.name, 0): 3}),
            "d",
        ),
        (
            lambda topic: KafkaOffsetsInitializer.committed_offsets(
                KafkaOffsetResetStrategy.EARLIEST
            ),
            "abcd",
        ),
        (
            lambda topic: KafkaOffsetsInitializer.committed_offsets(
                KafkaOffsetResetStrategy.LATEST
            ),
            "",
        ),
    ],
)
def test_where_reading_begins(
    kafka: Server, starting: Callable[[Topic], KafkaOffsetsInitializer], expected: str
) -> None:
    topic = Topic(kafka, "begin")
    for n, letter in enumerate("abcd", 1):
        topic.write(letter, timestamp=n * 1000)
    source = builder(topic).set_group_id(topic.name).set_starting_offsets(starting(topic))
    assert read(source.set_bounded(LATEST).build()) == list(expected)


def test_where_reading_stops(kafka: Server) -> None:
    topic = Topic(kafka, "stop")
    topic.write(*"abcd")
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic.name, 0): 2})
    assert read(builder(topic).set_bounded(stop).build()) == ["a", "b"]
    assert read(builder(topic).set_unbounded(stop).build()) == ["a", "b"]


def test_offsets_are_committed_and_a_new_job_goes_on_there(kafka: Server) -> None:
    topic = Topic(kafka, "committed")
    topic.write(*"ab")
    source = builder(topic).set_group_id(topic.name).set_bounded(LATEST)
    assert read(source.build()) == ["a", "b"]
    consumer = Consumer({"bootstrap.servers": topic.servers, "group.id": topic.name, **QUIET})
    [committed] = consumer.committed([TopicPartition(topic.name, 0)], 30)
    consumer.close()
    assert committed.offset == 2
    topic.write("c")
    source.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    assert read(source.build()) == ["c"]


def test_a_range_ends_where_transactions_left_gaps(kafka: Server) -> None:
    topic = Topic(kafka, "gaps")
    producer = Producer(
        {"bootstrap.servers": topic.servers, "transactional.id": topic.name, **QUIET}
    )
    producer.init_transactions(60)
    for number, end in enumerate(["commit", "abort", "commit", "abort"]):
        producer.begin_transaction()
        producer.produce(topic.name, f"{number} {end}")
        producer.flush(60)
        getattr(producer, f"{end}_transaction")(60)
    source = builder(topic).set_bounded(LATEST)
    assert read(source.build(), cuts=1) == ["0 commit", "1 abort", "2 commit", "3 abort"]
    source.set_property("isolation.level", "read_committed")
    assert read(source.build(), cuts=1) == ["0 commit", "2 commit"]


class WholeMessage(KafkaRecordDeserializationSchema):
    def deserialize(self, record: Any) -> Any:
        if record.value is None:
            return None
        key = record.key and record.key.decode()
        return record.partition, record.offset, key, record.value.decode(), record.headers


def test_keys_headers_and_messages_without_a_value(kafka: Server) -> None:
    topic = Topic(kafka, "whole")
    topic.write("a", key="k", headers=[("h", b"1")])
    topic.write(None, key="k")  # type: ignore[arg-type]
    topic.write("b")
    source = builder(topic).set_bounded(LATEST)
    assert read(source.build()) == ["a", "b"]
    source.set_deserializer(WholeMessage())
    assert read(source.build()) == [(0, 0, "k", "a", [("h", b"1")]), (0, 2, None, "b", [])]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_the_messages_time_is_the_default_and_watermarks_are_per_partition(kafka: Server) -> None:
    topic = Topic(kafka, "times", partitions=2)
    topic.write("slow", timestamp=1000, partition=0)
    topic.write("fast", timestamp=900_000, partition=1)
    topic.write("slow too", timestamp=2000, partition=0)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1))
    source = builder(topic).set_bounded(LATEST).build()
    found = run(lambda env: env.from_source(source, strategy, "kafka").process(Stamped()), cuts=1)
    assert {(value, time) for value, time, _ in found} == {
        ("slow", 1000),
        ("fast", 900_000),
        ("slow too", 2000),
    }
    # The fast partition holds nobody else's clock: nothing of the slow one is late.
    assert all(watermark < time for _, time, watermark in found)


def test_new_partitions_are_found_and_read_from_their_beginning(
    kafka: Server, tmp_path: Path
) -> None:
    topic = Topic(kafka, "grows")
    topic.write("a")
    source = builder(topic).set_property("partition.discovery.interval.ms", "100").build()
    plan, sink = plan_of(
        lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    )
    job = LocalJob(plan, tmp_path)
    _step_until(job, lambda: "a" in sink.values())
    topic.grow(2)
    topic.write("b", partition=1)
    _step_until(job, lambda: "b" in sink.values())
    job.coordinator.cancel()
    job.close()
    assert sink.values() == ["a", "b"]


def _step_until(job: LocalJob, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        assert job.coordinator.failure is None
        job.step()


def test_a_pattern_of_topics(kafka: Server) -> None:
    first, second = Topic(kafka, "pattern-x"), Topic(kafka, "pattern-x")
    first.write("a")
    second.write("b")
    source = (
        builder(first)
        .set_topics()
        .set_topic_pattern(f"{first.name}|{second.name}")
        .set_bounded(LATEST)
        .build()
    )
    assert sorted(read(source)) == ["a", "b"]


@pytest.mark.parametrize("by_pattern", [False, True])
def test_streams_by_name(kafka: Server, by_pattern: bool) -> None:
    first, second = Topic(kafka, "stream"), Topic(kafka, "stream")
    first.write("a")
    second.write("b")
    service = SingleClusterTopicMetadataService("one", {"bootstrap.servers": first.servers})
    source = (
        DynamicKafkaSource.builder()
        .set_kafka_metadata_service(service)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("stream-metadata-discovery-interval-ms", "1000")
        .set_bounded(LATEST)
    )
    if by_pattern:
        source.set_stream_pattern(f"{first.name}|{second.name}")
    else:
        source.set_stream_ids({first.name, second.name})
    built = source.build()
    assert isinstance(built, DynamicKafkaSource)
    assert sorted(read(built)) == ["a", "b"]


@pytest.mark.parametrize("steps", [2, 5])
def test_files_first_and_then_a_topic(kafka: Server, tmp_path: Path, steps: int) -> None:
    (tmp_path / "history").write_text("a\nb\nc\n")
    topic = Topic(kafka, "present")
    topic.write(*"def")
    lines = StreamFormat.text_line_format()
    history = FileSource.for_record_stream_format(lines, str(tmp_path / "history")).build()
    present = builder(topic).set_bounded(LATEST).build()
    source = HybridSource.builder(history).add_source(present).build()
    plan, sink = plan_of(
        lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "both")
    )
    killed = LocalJob(plan, tmp_path / "job", cuts=1)
    for _ in range(steps):
        killed.step()
    killed.close()
    LocalJob(plan, tmp_path / "job", cuts=1).run()
    assert sink.values() == list("abcdef")


def test_streams_of_nobody() -> None:
    with pytest.raises(ConfigurationError) as caught:
        DynamicKafkaSource.builder().set_stream_ids({"words"}).build()
    assert str(caught.value) == (
        "it is not said which topics the streams are\n"
        "  where: DynamicKafkaSource.builder()\n"
        "  got:   None\n"
        "  to do: call set_kafka_metadata_service() with a SingleClusterTopicMetadataService"
    )


def test_the_classic_consumer(kafka: Server, tmp_path: Path) -> None:
    topic = Topic(kafka, "classic")
    topic.write("a", "b")
    consumer = FlinkKafkaConsumer(
        topic.name, SimpleStringSchema(), {"bootstrap.servers": topic.servers, "group.id": "g"}
    )
    consumer.set_start_from_earliest()
    plan, sink = plan_of(lambda env: env.add_source(consumer))
    job = LocalJob(plan, tmp_path)
    _step_until(job, lambda: len(sink.values()) == 2)
    job.coordinator.cancel()
    job.close()
    assert sink.values() == ["a", "b"]


def test_a_missing_topic(kafka: Server) -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.address["bootstrap_servers"])
        .set_topics("nowhere")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    with pytest.raises(SourceError) as caught:
        read(source)
    assert caught.value.what == "there is no topic 'nowhere'"
    assert caught.value.todo == "create the topic, or correct its name"


def test_wrong_credentials(kafka: Server) -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.address["sasl_bootstrap_servers"])
        .set_topics("words")
        .set_property("security.protocol", "SASL_PLAINTEXT")
        .set_property("sasl.mechanism", "PLAIN")
        .set_property("sasl.jaas.config", 'x required username="penstock" password="hunter2";')
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    with pytest.raises(PenstockError) as caught:
        read(source)
    assert "refuses the connection" in caught.value.what
    assert "Authentication failed" in str(caught.value)
    assert "hunter2" not in str(caught.value) + repr(source) + repr(vars(caught.value))


def test_right_credentials(kafka: Server) -> None:
    topic = Topic(kafka, "sasl")
    topic.write("let in")
    source = (
        builder(topic)
        .set_bootstrap_servers(kafka.address["sasl_bootstrap_servers"])
        .set_property("security.protocol", "SASL_PLAINTEXT")
        .set_property("sasl.mechanism", "PLAIN")
        .set_property("sasl.jaas.config", 'x required username="penstock" password="penstock";')
        .set_bounded(LATEST)
        .build()
    )
    assert read(source) == ["let in"]


def test_a_setting_that_there_is_not(kafka: Server) -> None:
    topic = Topic(kafka, "setting")
    with pytest.raises(ConfigurationError) as caught:
        read(builder(topic).set_property("fetch.mood", "s3cret").build())
    assert 'No such configuration property: "fetch.mood"' in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_records_that_are_gone(kafka: Server) -> None:
    topic = Topic(kafka, "gone")
    topic.write(*"abc")
    starting = KafkaOffsetsInitializer.offsets(
        {KafkaTopicPartition(topic.name, 0): 1}, KafkaOffsetResetStrategy.NONE
    )
    source = builder(topic).set_starting_offsets(starting).set_bounded(LATEST).build()
    for deleted in topic.admin.delete_records([TopicPartition(topic.name, 0, 2)]).values():
        deleted.result(60)
    with pytest.raises(PenstockError) as caught:
        read(source)
    assert "records that the job has not read yet are gone from the topic" in str(caught.value)
    earliest = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic.name, 0): 1})
    going_on = builder(topic).set_starting_offsets(earliest).set_bounded(LATEST).build()
    assert read(going_on) == ["c"]


class Whole(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)


def test_a_message_that_the_schema_does_not_fit(kafka: Server) -> None:
    topic = Topic(kafka, "schema")
    topic.write("1", "2", "three")
    source = builder(topic).set_value_only_deserializer(Whole()).set_bounded(LATEST).build()
    with pytest.raises(SourceError) as caught:
        read(source)
    assert caught.value.what == "a message cannot be turned into a record"
    assert str(caught.value.got).startswith(
        f"topic '{topic.name}', partition 0, offset 2: b'three'; ValueError: invalid literal"
    )
    assert "built at" in str(caught.value.where)
