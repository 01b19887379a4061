"""The job that is killed: Kafka -> keyed state and windows -> Kafka, two databases, files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.common.serialization import Encoder, SimpleStringSchema
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows

KEYS = 10
PARTITIONS = 2
#: A record's time is its number behind this, in milliseconds: long ago, as in old data.
BEGIN = 1_000_000
WINDOW = 100


class TimeOfNumber(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return BEGIN + int(value)


class Sequence(KeyedProcessFunction):
    """Say of each record how many of its key there have been."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield value, seen


class Count(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Any) -> Iterator[str]:
        yield f"window {key} {context.window().start - BEGIN} {len(list(elements))}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name in ("kafka", "mariadb", "postgres", "name"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--records", type=int)
    options = parser.parse_args()

    configuration = Configuration()
    configuration.set_string("penstock.master", "local[2,4]")
    configuration.set_string("execution.checkpointing.dir", str(options.folder / "checkpoints"))
    configuration.set_string("execution.checkpointing.interval", "300 ms")
    # Who interrupts the job wants to go on with it later.
    retention = "execution.checkpointing.externalized-checkpoint-retention"
    configuration.set_string(retention, "RETAIN_ON_CANCELLATION")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "3")
    configuration.set_string("restart-strategy.fixed-delay.delay", "500 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)

    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(TimeOfNumber())
        .with_idleness(Duration.of_seconds(60))
    )
    numbers = env.from_source(read_from(options), strategy, "numbers").uid("numbers").map(int)
    keyed = numbers.key_by(lambda number: number % KEYS)
    rows = keyed.process(Sequence()).uid("sequence")
    windows = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(WINDOW)))
    texts = rows.map(lambda row: f"{row[0]} {row[1]}")
    counts = windows.process(Count()).uid("count")

    texts.union(counts).sink_to(write_to(options)).uid("to kafka")
    for database in ("mariadb", "postgres"):
        insert = f"INSERT INTO {options.name} (number, seen) VALUES (?, ?)"
        sink = JdbcSink.sink(insert, None, account(getattr(options, database)))
        rows.sink_to(sink).uid(f"to {database}")
    files = (
        FileSink.for_row_format(str(options.folder / "files"), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    texts.sink_to(files).uid("to files")
    env.execute("chaos")
    print("finished", file=sys.stderr)


def read_from(options: argparse.Namespace) -> KafkaSource:
    topic = f"{options.name}-in"
    ends = {
        KafkaTopicPartition(topic, number): options.records // PARTITIONS
        for number in range(PARTITIONS)
    }
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(options.kafka)
        .set_topics(topic)
        .set_group_id(options.name)
        .set_unbounded(KafkaOffsetsInitializer.offsets(ends))
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def write_to(options: argparse.Namespace) -> KafkaSink:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(f"{options.name}-out")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(options.kafka)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(options.name)
        .build()
    )


def account(url: str) -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(url)
        .with_user_name("penstock")
        .with_password("penstock")
        .build()
    )


if __name__ == "__main__":
    main()
