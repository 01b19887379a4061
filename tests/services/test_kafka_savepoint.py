"""A savepoint of a Kafka job: resumed at another parallelism, with partitions that are new."""

from __future__ import annotations

import collections
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import KeyedProcessFunction
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.services.topics import Topic
from tests.unit.process.jobs import environment
from tools.services import Server


class Numbered(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: str, ctx: Any) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value} {count}"


def plan(source: Topic, target: Topic, parallelism: int) -> ExecutionPlan:
    env = environment(parallelism)
    kafka = (
        KafkaSource.builder()
        .set_bootstrap_servers(source.servers)
        .set_topics(source.name)
        .set_property("partition.discovery.interval.ms", "100")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(target.name)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(target.servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(target.name)
        .build()
    )
    words = env.from_source(kafka, WatermarkStrategy.no_watermarks(), "words").uid("words")
    counted = words.key_by(lambda word: word).process(Numbered()).uid("count")
    counted.sink_to(sink).uid("out")
    return build_plan(env)


def step_until(job: LocalJob, topic: Topic, messages: int) -> None:
    deadline = time.monotonic() + 90
    while len(topic.values()) < messages:
        assert time.monotonic() < deadline, topic.values()
        assert job.coordinator.failure is None
        for _ in range(5):
            job.step()


def test_more_subtasks_and_more_partitions(kafka: Server, tmp_path: Path) -> None:
    source, target = Topic(kafka, "words", partitions=2), Topic(kafka, "counts")
    for number in range(2):
        source.write(*"abc", partition=number)
    job = LocalJob(plan(source, target, 1), tmp_path / "one")
    step_until(job, target, 6)
    folder = job.savepoint(tmp_path / "savepoints", stop=True)
    job.close()
    source.grow(4)
    for number in range(4):
        source.write(*"abc", partition=number)
    job = LocalJob(plan(source, target, 3), tmp_path / "two", restore=folder)
    step_until(job, target, 18)
    job.coordinator.cancel()
    job.close()
    expected = [f"{letter} {count}" for letter in "abc" for count in range(1, 7)]
    assert collections.Counter(target.values()) == collections.Counter(expected)
