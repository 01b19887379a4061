"""How fast do records go from Kafka to Kafka, and into databases? All on one machine.

Rates are marginal, between two numbers of records: what a job needs to start and to end does not
count. The broker and the databases run on the same cores. On a machine that is busy with other
things the time of processors tells more: it is shown as records for each second of a processor,
servers included. With `--peers` the same topics go through PyFlink and through plain Structured
Streaming as well; all results are compared.

    python -m bench.bench_kafka [--records 2000000] [--peers]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg
import pymysql
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.engines.kafka_options import PARTITIONS
from bench.environments import ROOT, NoEnvironmentError, python_of
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
from tools.services.installing import fetch_jars

KEYS = 1000
#: Flink's connector that is built for the version nearest to the one of requirements-pyflink.txt.
FLINK_JARS = ("flink-kafka-5.0.0", "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2")
#: The newest that Maven has of each; they run on the version of Spark that Penstock uses.
SPARK_JARS = (
    "spark-kafka-4.2.0",
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
)
#: What Spark has itself, in other versions.
SPARKS_OWN = ("scala-", "hadoop-", "slf4j-", "spark-tags", "jsr305", "zstd-jni", "lz4-", "snappy-")


class Times(NamedTuple):
    """How long something took: on the clock, and of all processors."""

    clock: float
    processors: float


def timed(work: Callable[[], object]) -> Times:
    began, used = time.monotonic(), processor_seconds()
    work()
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


def make_topic(servers: str, topic: str, partitions: int) -> str:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(60)
    return topic


def fill(servers: str, topic: str, records: int) -> None:
    """Write records of some 70 bytes."""
    make_topic(servers, topic, PARTITIONS)
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
    out = make_topic(servers, f"out-{time.time_ns()}", 1)
    counts.map(lambda pair: f"{pair[0]} {pair[1]}").sink_to(write_to(servers, out))
    took = timed(partial(env.execute, "kafka to kafka"))
    check(servers, out, records, share)
    return took


def check(
    servers: str, topic: str, records: int, share: int, *, once_a_batch: bool = False
) -> None:
    """Compare the counts in a topic with what there must be.

    :param once_a_batch: a key's count is there once a batch: only the last one is known.
    """
    settings = {"group.id": "check", "enable.partition.eof": True, "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    partitions = consumer.list_topics(topic, 60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    last: dict[str, int] = {}
    lines, ended = 0, 0
    while ended < len(partitions):
        for message in consumer.consume(10_000, 1):
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ended += 1
                continue
            key, _, count = message.value().decode().partition(" ")
            last[key] = max(last.get(key, 0), int(count))
            lines += 1
    consumer.close()
    final = records // KEYS
    if not once_a_batch:
        assert lines == KEYS * (final // share), f"{lines} counts of {records} records"
        final -= final % share
    wrong = {key: count for key, count in last.items() if count != final}
    assert not wrong, f"{len(wrong)} keys have other counts than {final}: {list(wrong.items())[:3]}"
    assert len(last) == (KEYS if final else 0)


def peer(
    name: str, python: str, jars: list[str], servers: str, topic: str, records: int, share: int
) -> Times:
    """Run the same through another engine; return what it took, its start included."""
    out = make_topic(servers, f"out-{time.time_ns()}", 1)
    where = ["--servers", servers, "--topic", topic, "--out", out, "--jars", *jars]
    command = [python, "-m", f"bench.engines.kafka_{name}", *where]
    command += ["--records", str(records), "--share", str(share)]
    took = timed(partial(subprocess.run, command, cwd=ROOT, check=True))
    check(servers, out, records, share, once_a_batch=name == "spark" and share > 1)
    return took


def peers() -> dict[str, tuple[str, list[str]]]:
    """Return by name the interpreter and the packages of each peer that can be had."""
    flink = [path.as_uri() for path in sorted(fetch_jars(*FLINK_JARS).glob("*.jar"))]
    found = [path for path in fetch_jars(*SPARK_JARS).glob("*.jar") if _is_foreign(path)]
    spark = [str(path) for path in sorted(found)]
    ready = {"spark": (sys.executable, spark)}
    try:
        ready["pyflink"] = (python_of("pyflink"), flink)
    except NoEnvironmentError as error:
        print(f"without PyFlink: {error}")
    return ready


def _is_foreign(path: Path) -> bool:
    return not path.name.startswith(SPARKS_OWN)


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
    return timed(partial(env.execute, f"rows to {name}"))


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
    parser.add_argument("--peers", action="store_true", help="beside PyFlink and plain Spark")
    options = parser.parse_args()
    many = options.records // (4 if options.quick else 1)
    few = many // 5
    servers = address("kafka")["bootstrap_servers"]
    topics = {records: f"bench-{records}" for records in (few, many)}
    for records, topic in topics.items():
        fill(servers, topic, records)
    through_kafka(servers, topics[few], few, 1)  # warms up
    engines = peers() if options.peers else {}
    for what, share in (("in, every thousandth out", 1000), ("in and out", 1)):
        began = f"Kafka -> keyed count -> Kafka, {what}"
        took = [through_kafka(servers, topic, n, share) for n, topic in topics.items()]
        print(f"{began}, exactly once: {marginal(few, many, *took)}", flush=True)
        for name, engine in engines.items():
            took = [peer(name, *engine, servers, topic, n, share) for n, topic in topics.items()]
            print(f"{began}, {name}: {marginal(few, many, *took)}", flush=True)
    if options.peers:
        return
    make_tables()
    for name in ("mariadb", "postgres"):
        rows = options.rows
        seconds = [into_database(name, count) for count in (rows // 5, rows)]
        print(f"rows to {name}: {marginal(rows // 5, rows, *seconds)}")


if __name__ == "__main__":
    main()
