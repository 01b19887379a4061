"""How fast do records go from Kafka to Kafka, and into databases? All on one machine.

Rates are marginal, between two numbers of records: what a job needs to start and to end does not
count. The broker and the databases run on the same cores. On a machine that is busy with other
things the time of processors tells more: it is shown as records for each second of a processor,
servers included.

    python -m bench.bench_kafka [--records 2000000]
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import psutil
import psycopg
import pymysql
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.common import Types, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from tools.services import address

PARTITIONS = 2
KEYS = 1000


class Times(NamedTuple):
    """How long something took: on the clock, and of all processors."""

    clock: float
    processors: float


def timed(env: StreamExecutionEnvironment, name: str) -> Times:
    began, used = time.monotonic(), processor_seconds()
    env.execute(name)
    return Times(time.monotonic() - began, processor_seconds() - used)


def processor_seconds() -> float:
    """Return what this process, its Spark and its servers have used so far."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        # With what has ended below it: workers come and go.
        total += times.user + times.system + times.children_user + times.children_system
    return total


def fill(servers: str, topic: str, records: int) -> None:
    """Write records of some 70 bytes."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(60)
    settings = {"queue.buffering.max.messages": 1_000_000, "linger.ms": 50}
    producer = Producer({"bootstrap.servers": servers, **settings})
    for number in range(records):
        value = f"{number % KEYS:04d} {number:010d} " + "x" * 53
        while True:
            try:
                producer.produce(topic, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(120)


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env


def read_from(servers: str, topic: str, records: int) -> KafkaSource:
    ends = {KafkaTopicPartition(topic, n): records // PARTITIONS for n in range(PARTITIONS)}
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_unbounded(KafkaOffsetsInitializer.offsets(ends))
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )


def write_to(servers: str, topic: str) -> KafkaSink:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(topic)
        .build()
    )


def through_kafka(servers: str, topic: str, records: int, share: int) -> Times:
    """Count by key and write every `share`-th count; return what it took."""
    env = environment()
    texts = env.from_source(
        read_from(servers, topic, records), WatermarkStrategy.no_watermarks(), "in"
    )
    counts = texts.map(lambda text: (text[:4], 1)).key_by(lambda pair: pair[0]).sum(1)
    if share > 1:
        counts = counts.filter(lambda pair: pair[1] % share == 0)
    out = f"out-{time.time_ns()}"
    counts.map(lambda pair: f"{pair[0]} {pair[1]}").sink_to(write_to(servers, out))
    return timed(env, "kafka to kafka")


def into_database(name: str, records: int) -> Times:
    """Write rows of two columns; return what it took."""
    database = address(name)
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(database["url"])
        .with_user_name(database["user"])
        .with_password(database["password"])
        .build()
    )
    env = environment()
    rows = env.from_sequence(1, records).map(lambda number: (number, f"text of {number}"))
    row = Types.ROW([Types.LONG(), Types.STRING()])
    rows.add_sink(JdbcSink.sink("INSERT INTO bench_rows VALUES (?, ?)", row, options))
    return timed(env, f"rows to {name}")


def make_tables() -> None:
    table = "CREATE TABLE bench_rows (n BIGINT, t VARCHAR(50))"
    for connect, name, database in (
        (pymysql.connect, "mariadb", "database"),
        (psycopg.connect, "postgres", "dbname"),
    ):
        where = address(name)
        account = {key: where[key] for key in ("host", "port", "user", "password")}
        with connect(**account, **{database: where["database"]}) as connection:
            connection.cursor().execute(table)
            connection.commit()


def marginal(few: int, many: int, first: Times, second: Times) -> str:
    rates = [(many - few) / max(b - a, 1e-9) for a, b in zip(first, second, strict=True)]
    return f"{rates[0]:,.0f} records/s, {rates[1]:,.0f} for each second of a processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    many = options.records // (4 if options.quick else 1)
    few = many // 5
    servers = address("kafka")["bootstrap_servers"]
    fill(servers, "bench", many)
    through_kafka(servers, "bench", few, 1)  # warms up
    for what, share in (("in, every thousandth out", 1000), ("in and out", 1)):
        seconds = [through_kafka(servers, "bench", records, share) for records in (few, many)]
        print(
            f"Kafka -> keyed count -> Kafka exactly once, {what}: {marginal(few, many, *seconds)}"
        )
    make_tables()
    for name in ("mariadb", "postgres"):
        rows = options.rows
        seconds = [into_database(name, count) for count in (rows // 5, rows)]
        print(f"rows to {name}: {marginal(rows // 5, rows, *seconds)}")


if __name__ == "__main__":
    main()
