"""Kafka as a sink, on a real broker: each record once, whatever happens to who publishes."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.kafka import publishing
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    FlinkKafkaProducer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
    ProducerRecord,
    Semantic,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, PenstockError, SinkError
from penstock.testing.local_executor import LocalJob
from tests.services.topics import QUIET, Topic
from tests.unit.connectors.file_sink.test_full_disk import small_disk
from tests.unit.process.jobs import environment
from tools.services import Server

EXACTLY_ONCE, AT_LEAST_ONCE = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE


def builder(topic: Topic, guarantee: DeliveryGuarantee = EXACTLY_ONCE) -> KafkaSinkBuilder:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic.name)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(topic.servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(topic.name)
    )


def job(sink: KafkaSink, folder: Path, values: list[Any], **options: Any) -> LocalJob:
    env = environment()
    env.from_collection(values).sink_to(sink).uid("kafka")
    return LocalJob(build_plan(env), folder, **options)


class Hand:
    """Drive a sink by hand: write, stage, publish, and begin again as a new run of the job."""

    def __init__(self, sink: KafkaSink, folder: Path) -> None:
        self._sink = sink
        self._folder = folder
        self.stopping = False
        folder.mkdir(exist_ok=True)
        self.committer = self.connect(restored=False)

    def connect(self, *, restored: bool) -> Any:
        context = CommitterContext(
            "sink", "kafka", 1, str(self._folder), restored, "job", lambda: self.stopping
        )
        return self._sink.create_committer(context)

    def restart(self) -> None:
        self.committer = self.connect(restored=True)

    def stage(self, *values: Any) -> list[Committable]:
        writer = self._sink.create_writer(WriterContext(0, 1, lambda: 0))
        for value in values:
            writer.write(value, None)
        return [Committable(0, payload) for payload in writer.prepare_commit(False)]


@pytest.fixture
def topic(kafka: Server) -> Topic:
    return Topic(kafka, "out")


def test_a_job_writes_every_record_once(topic: Topic, tmp_path: Path) -> None:
    values = [str(n) for n in range(100)]
    job(builder(topic).build(), tmp_path, values, cuts=7).run()
    assert topic.values() == values


def test_a_published_batch_is_not_published_again(topic: Topic, tmp_path: Path) -> None:
    hand = Hand(builder(topic).build(), tmp_path / "sink")
    first, second = hand.stage("a"), hand.stage("b")
    hand.committer.commit(0, first)
    hand.restart()
    hand.restart()  # killed before it could do anything
    hand.committer.commit(0, first)
    hand.committer.commit(1, second)
    hand.restart()
    hand.committer.commit(0, first)
    hand.committer.commit(1, second)
    hand.committer.close()
    assert topic.values() == ["a", "b"]


def test_what_a_dead_publisher_left_open_is_aborted(topic: Topic, tmp_path: Path) -> None:
    hand = Hand(builder(topic).build(), tmp_path / "sink")
    dead = hand.committer._connection.producer
    dead.begin_transaction()
    dead.produce(topic.name, "from the dead")
    dead.flush(30)
    hand.restart()
    hand.committer.commit(0, hand.stage("alive"))
    assert topic.values() == ["alive"]
    assert topic.values("read_uncommitted") == ["from the dead", "alive"]


def test_a_second_run_of_the_same_job_fences_the_first(topic: Topic, tmp_path: Path) -> None:
    hand = Hand(builder(topic).build(), tmp_path / "sink")
    hand.committer.commit(0, hand.stage("first"))
    old = hand.committer
    hand.restart()
    with pytest.raises(SinkError) as caught:
        old.commit(1, hand.stage("second"))
    assert caught.value.what == "another producer has taken over the sink's transactions"
    assert f"transactional id '{topic.name}-sink'" in str(caught.value.got)
    hand.committer.commit(1, hand.stage("second"))
    assert topic.values() == ["first", "second"]


def test_a_new_job_does_not_believe_markers_of_another(topic: Topic, tmp_path: Path) -> None:
    for name in ("one", "two"):
        job(builder(topic).build(), tmp_path / name, [name], job_id=name).run()
    assert topic.values() == ["one", "two"]


class Everything(KafkaRecordSerializationSchema):
    def serialize(self, element: Any, timestamp: int | None) -> ProducerRecord | None:
        topic, value = element
        if value is None:
            return None
        return ProducerRecord(topic, value.encode(), b"key", 1, 12_345, [("h", b"1"), ("h", None)])


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, AT_LEAST_ONCE])
def test_keys_partitions_times_and_headers(
    kafka: Server, tmp_path: Path, guarantee: DeliveryGuarantee
) -> None:
    topic = Topic(kafka, "everything", partitions=2)
    sink = builder(topic, guarantee).set_record_serializer(Everything()).build()
    job(sink, tmp_path, [(topic.name, "a"), (topic.name, None)]).run()
    [message] = topic.read()
    assert message.value() == b"a"
    assert message.key() == b"key"
    assert message.partition() == 1
    assert message.timestamp()[1] == 12_345
    assert message.headers() == [("h", b"1"), ("h", None)]


class ByFirstLetter(KafkaTopicSelector):
    def __init__(self, topics: dict[str, str]) -> None:
        self._topics = topics

    def apply(self, data: str) -> str:
        return self._topics[data[0]]


def test_a_topic_for_each_record_and_a_partitioner(kafka: Server, tmp_path: Path) -> None:
    a, b = Topic(kafka, "a", partitions=3), Topic(kafka, "b")
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(ByFirstLetter({"a": a.name, "b": b.name}))
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_partitioner(lambda record, key, value, topic: 2 if record[0] == "a" else 0)
        .build()
    )
    sink = builder(a).set_record_serializer(schema).build()
    job(sink, tmp_path, ["a1", "b1", "a2"]).run()
    assert [(m.partition(), m.key(), m.value()) for m in a.read()] == [
        (2, b"a1", b"a1"),
        (2, b"a2", b"a2"),
    ]
    assert b.values() == ["b1"]


@pytest.mark.parametrize("semantic", list(Semantic))
def test_the_classic_producer(topic: Topic, tmp_path: Path, semantic: Semantic) -> None:
    properties = {"bootstrap.servers": topic.servers}
    sink = FlinkKafkaProducer(topic.name, SimpleStringSchema(), properties, semantic=semantic)
    job(sink, tmp_path, ["a", "b"]).run()
    assert topic.values() == ["a", "b"]


def test_old_timestamps_survive_a_restart_of_the_broker(
    kafka: Server, topic: Topic, tmp_path: Path
) -> None:
    schema = Everything()
    sink = builder(topic, AT_LEAST_ONCE).set_record_serializer(schema).build()
    hand = Hand(sink, tmp_path / "sink")
    topic.grow(2)
    hand.committer.commit(0, hand.stage((topic.name, "a")))
    kafka.kill()
    kafka.start(die_with_parent=True)
    hand.committer.commit(1, hand.stage((topic.name, "b")))
    assert {"a", "b"} <= set(topic.values())


def test_a_broker_that_is_away_for_a_while(kafka: Server, topic: Topic, tmp_path: Path) -> None:
    hand = Hand(builder(topic).build(), tmp_path / "sink")
    hand.committer.commit(0, hand.stage("before"))
    kafka.kill()
    back = threading.Timer(3, lambda: kafka.start())
    back.start()
    hand.committer.commit(1, hand.stage("during"))
    back.join()
    hand.committer.commit(2, hand.stage("after"))
    assert topic.values() == ["before", "during", "after"]


def test_a_job_that_is_told_to_end_does_not_wait_for_the_broker(
    kafka: Server, topic: Topic, tmp_path: Path
) -> None:
    hand = Hand(builder(topic).build(), tmp_path / "sink")
    staged = hand.stage("later")
    kafka.pause()
    try:
        timer = threading.Timer(1, lambda: setattr(hand, "stopping", True))
        timer.start()
        began = time.monotonic()
        with pytest.raises(SinkError) as caught:
            hand.committer.commit(0, staged)
        assert caught.value.what == "the job has ended while it was being published"
        assert time.monotonic() - began < 45
    finally:
        kafka.resume()
    hand.stopping = False
    hand.restart()
    hand.committer.commit(0, staged)
    assert topic.values() == ["later"]


def test_a_message_that_is_too_large(topic: Topic, tmp_path: Path) -> None:
    values = ["x" * 2_000_000]
    with pytest.raises(SinkError) as caught:
        job(builder(topic).build(), tmp_path, values).run()
    assert caught.value.what == (
        f"Kafka at {topic.servers} does not take a message for topic '{topic.name}'"
    )
    assert "MSG_SIZE_TOO_LARGE" in str(caught.value.got)
    assert str(caught.value.todo).startswith("raise message.max.bytes")
    # The setting is raised here and at the topic, and nothing is lost.
    topic.allow_large_messages(4_000_000)
    sink = builder(topic).set_property("message.max.bytes", "4000000").build()
    job(sink, tmp_path, values).run()
    assert [len(value) for value in topic.values()] == [2_000_000]


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, AT_LEAST_ONCE])
def test_a_missing_topic(topic: Topic, tmp_path: Path, guarantee: DeliveryGuarantee) -> None:
    topic.delete()
    # How long the client takes it for one that was created just now.
    sink = builder(topic, guarantee).set_property("topic.metadata.propagation.max.ms", "500")
    with pytest.raises(SinkError) as caught:
        job(sink.build(), tmp_path, ["a", "b"]).run()
    assert caught.value.what == (
        f"Kafka at {topic.servers} does not take a message for topic '{topic.name}'"
    )
    assert "UNKNOWN_TOPIC" in str(caught.value.got)
    assert caught.value.todo == "create the topic, or correct its name"
    topic.create()
    job(sink.build(), tmp_path, ["a", "b"]).run()
    assert topic.values() == ["a", "b"]


def test_a_transaction_that_took_too_long(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = builder(topic).set_property("transaction.timeout.ms", "1000").build()
    hand = Hand(sink, tmp_path / "sink")
    send = publishing._Connection.send

    def slow(connection: Any, committables: list[Committable]) -> None:
        send(connection, committables)
        connection.producer.flush(30)
        time.sleep(5)

    monkeypatch.setattr(publishing._Connection, "send", slow)
    with pytest.raises(SinkError):
        hand.committer.commit(0, hand.stage("slow"))
    monkeypatch.setattr(publishing._Connection, "send", send)
    hand.restart()
    hand.committer.commit(0, hand.stage("slow"))
    assert topic.values() == ["slow"]


@pytest.fixture
def wrong_password(kafka: Server) -> dict[str, str]:
    return {
        "bootstrap.servers": kafka.address["sasl_bootstrap_servers"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "penstock",
        "sasl.password": "hunter2",
    }


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, AT_LEAST_ONCE])
def test_wrong_credentials(
    topic: Topic, tmp_path: Path, wrong_password: dict[str, str], guarantee: DeliveryGuarantee
) -> None:
    sink = builder(topic, guarantee).set_kafka_producer_config(wrong_password).build()
    with pytest.raises(PenstockError) as caught:
        job(sink, tmp_path, ["a"]).run()
    assert "refuses the connection" in caught.value.what
    assert "hunter2" not in str(caught.value)


def test_a_builder_that_lacks_something() -> None:
    with pytest.raises(ConfigurationError) as caught:
        KafkaSink.builder().build()
    assert str(caught.value) == (
        "the brokers' addresses are missing\n"
        "  where: KafkaSink.builder()\n"
        "  to do: call set_bootstrap_servers()"
    )


def test_readers_of_uncommitted_messages_are_the_only_ones_to_see_them(topic: Topic) -> None:
    producer = Producer(
        {"bootstrap.servers": topic.servers, "transactional.id": topic.name, **QUIET}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic.name, "open")
    producer.flush(30)
    assert topic.values() == []
    assert topic.values("read_uncommitted") == ["open"]
    producer.abort_transaction(30)


@contextmanager
def no_room(disk: Path, how: str) -> Iterator[None]:
    """Let nothing be written to a disk; where there is none of its own, to any file."""
    if how:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        return
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    yield
    filler.unlink()


def test_a_full_disk(topic: Topic, tmp_path: Path) -> None:
    sink, values = builder(topic).build(), [str(n) for n in range(10)]
    with small_disk(tmp_path / "disk", 1000) as how:
        folder = tmp_path / "disk" / "job"
        first = job(sink, folder, values, cuts=2)
        first.step()
        first.step()
        with no_room(tmp_path / "disk", how):
            with pytest.raises(OSError, match=r"No space left on device|File too large"):
                first.run()
            before = topic.values()
        assert before == values[: len(before)]
        job(sink, folder, values, cuts=2).run()
        assert topic.values() == values
