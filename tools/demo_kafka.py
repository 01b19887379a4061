"""Watch a pipeline at work: Kafka -> windows -> MySQL, with servers and readings of its own.

    python -m tools.demo_kafka [--seconds N]

A generator writes sensor readings to a topic; the job keeps, for each sensor and second, the number
of readings and the highest temperature in a table; what is new in the table is shown.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pymysql
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.common import Duration, Row, Types, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.window import TumblingEventTimeWindows
from tools.services import address

TOPIC = "readings"
SENSORS = 5
ROW = Types.ROW([Types.STRING(), Types.LONG(), Types.INT(), Types.DOUBLE()])


class Summary(ProcessWindowFunction):
    """The number of readings in a window, and the highest."""

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Row]:
        """Summarize one window of one sensor."""
        temperatures = [reading["temperature"] for reading in elements]
        yield Row(key, context.window().start, len(temperatures), max(temperatures))


def main() -> None:
    """Start everything, show what arrives, end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="how long to go on")
    options = parser.parse_args()
    print("starting Kafka and MariaDB ...", flush=True)
    servers, database = address("kafka")["bootstrap_servers"], address("mariadb")
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(60)
    rows = Table(database)
    threading.Thread(target=generate, args=(servers,), daemon=True).start()
    print("starting the job ...", flush=True)
    client = build(servers, database).execute_async("readings")
    end: float | None = None
    while end is None or time.monotonic() < end:
        for sensor, second, count, highest in rows.new():
            clock = time.strftime("%H:%M:%S", time.localtime(second / 1000))
            print(f"{clock}  {sensor}  {count:4} readings, at most {highest:.1f}", flush=True)
            end = end or time.monotonic() + options.seconds
        time.sleep(0.2)
    client.cancel().result()


def build(servers: str, database: dict[str, Any]) -> StreamExecutionEnvironment:
    """Return the program."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.enable_checkpointing(500)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(TOPIC)
        .set_group_id("demo")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(200))
    readings = env.from_source(source, strategy, "readings").map(json.loads)
    windows = readings.key_by(lambda reading: reading["sensor"]).window(
        TumblingEventTimeWindows.of(Duration.of_seconds(1))
    )
    account = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(database["url"])
        .with_user_name(database["user"])
        .with_password(database["password"])
        .build()
    )
    insert = "INSERT INTO summaries (sensor, second, count, highest) VALUES (?, ?, ?, ?)"
    windows.process(Summary(), ROW).add_sink(JdbcSink.sink(insert, ROW, account))
    return env


def generate(servers: str) -> None:
    """Write readings for as long as the process lives."""
    producer = Producer({"bootstrap.servers": servers})
    while True:
        for number in range(SENSORS):
            reading = {"sensor": f"sensor_{number}", "temperature": random.gauss(20 + number, 2)}
            producer.produce(TOPIC, json.dumps(reading), str(number))
        producer.poll(0)
        time.sleep(0.02)


class Table:
    """The table that the job writes, and what has been shown of it."""

    def __init__(self, database: dict[str, Any]) -> None:
        account = {key: value for key, value in database.items() if key != "url"}
        self._connection = pymysql.connect(**account, autocommit=True)
        with self._connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE summaries (id BIGINT AUTO_INCREMENT PRIMARY KEY, "
                "sensor VARCHAR(20), second BIGINT, count INT, highest DOUBLE)"
            )
        self._last = 0

    def new(self) -> list[tuple[str, int, int, float]]:
        """Return the rows that have come since the last call."""
        query = "SELECT id, sensor, second, count, highest FROM summaries WHERE id > %s ORDER BY id"
        with self._connection.cursor() as cursor:
            cursor.execute(query, (self._last,))
            rows = cursor.fetchall()
        if rows:
            self._last = rows[-1][0]
        return [row[1:] for row in rows]


if __name__ == "__main__":
    main()
