"""What every job between Kafka topics can rely on, whatever else it does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from penstock.common import WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import MapFunction, RuntimeContext
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.datastream.stream_execution_environment import build_plan
from penstock.graph.plan import ExecutionPlan
from penstock.testing.local_executor import LocalJob
from tests.services.test_kafka_sink import builder
from tests.services.topics import Topic
from tests.unit.process.jobs import environment, run
from tools.services import Server


def read_from(topic: Topic) -> KafkaSource:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(topic.servers)
        .set_topics(topic.name)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def plan(source: Topic, target: Topic, interval: int | None = None) -> ExecutionPlan:
    env = environment()
    if interval is not None:
        env.enable_checkpointing(interval)
    values = env.from_source(read_from(source), WatermarkStrategy.no_watermarks(), "in").uid("in")
    values.sink_to(builder(target).build()).uid("out")
    return build_plan(env)


def step_for(job: LocalJob, target: Topic, count: int, seconds: float) -> float:
    """Let a job run until a topic has some messages; return how long it took."""
    began = time.monotonic()
    while len(target.values()) < count:
        assert time.monotonic() - began < seconds, target.values()
        assert job.coordinator.failure is None
        job.step()
    return time.monotonic() - began


def test_a_path_and_a_url_are_the_same_folder(kafka: Server, tmp_path: Path) -> None:
    source, target = Topic(kafka, "in"), Topic(kafka, "out")
    for values, folder in (
        ("ab", str(tmp_path)),
        ("cd", f"file:{tmp_path}"),
        ("e", tmp_path.as_uri()),
    ):
        source.write(*values)
        job = LocalJob(plan(source, target), folder)
        step_for(job, target, "abcde".index(values[-1]) + 1, 60)
        job.close()
    assert target.values() == list("abcde")


def test_output_is_published_without_further_input(kafka: Server, tmp_path: Path) -> None:
    source, target = Topic(kafka, "in"), Topic(kafka, "out")
    source.write(*"abc")
    job = LocalJob(plan(source, target, 1000), tmp_path, publish_interval_ms=1000)
    step_for(job, target, 3, 60)
    source.write("d")
    # Asking the topic takes its time, too; without a wake-up it would never come.
    assert step_for(job, target, 4, 60) < 30
    job.coordinator.cancel()
    job.close()


def test_a_stop_with_a_savepoint_leaves_nothing_unpublished(kafka: Server, tmp_path: Path) -> None:
    source, target = Topic(kafka, "in"), Topic(kafka, "out")
    source.write(*"abc")
    hour = 3_600_000
    job = LocalJob(plan(source, target, hour), tmp_path, publish_interval_ms=hour)
    deadline = time.monotonic() + 60
    while job.batch_id < 1:
        assert time.monotonic() < deadline
        job.step()
    assert target.values() == []
    job.savepoint(tmp_path / "savepoints", stop=True)
    assert target.values() == ["a", "b", "c"]
    job.close()


class Subtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._number = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> tuple[Any, int]:
        return value, self._number


def test_two_partitions_and_two_subtasks_are_one_each(kafka: Server) -> None:
    topic = Topic(kafka, "two", partitions=2)
    for partition in range(2):
        topic.write(*[str(partition)] * 3, partition=partition)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(topic.servers)
        .set_topics(topic.name)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    strategy = WatermarkStrategy.no_watermarks()
    found = run(lambda env: env.from_source(source, strategy, "in").map(Subtask()), parallelism=2)
    assert len(found) == 6
    readers = {partition: {s for p, s in found if p == partition} for partition in "01"}
    assert sorted(map(sorted, readers.values())) == [[0], [1]]
