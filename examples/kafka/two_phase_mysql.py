"""Write from Kafka to MySQL in transactions of two phases; the record 15 makes the job fail once.

    examples/kafka/two_phase_mysql.py

Starts a broker and a MariaDB server. Needs the extras `kafka` and `mysql`.
"""

import json
import sys
import time
from pathlib import Path

import pymysql
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.common import RestartStrategies, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import StreamExecutionEnvironment, TwoPhaseCommitSinkFunction
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, XaTransaction
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.services import address


class MySqlTwoPhaseCommitSink(TwoPhaseCommitSinkFunction):
    """A transaction is passed on by its name: whoever commits it has a connection of its own."""

    def __init__(self, options):
        self.options = options
        self.attempt = 0

    def open(self, runtime_context):
        self.attempt = runtime_context.get_attempt_number()

    def begin_transaction(self):
        return XaTransaction.begin(self.options)

    def invoke(self, transaction, value, context):
        transaction.execute("INSERT INTO t_test (value) VALUES (?)", (value,))
        if value == 15 and self.attempt == 0:
            raise ArithmeticError("the fifteenth is bad luck")

    def pre_commit(self, transaction):
        transaction.prepare()

    def commit(self, transaction):
        transaction.commit(self.options)

    def abort(self, transaction):
        transaction.rollback(self.options)


def main():
    servers, database = address("kafka")["bootstrap_servers"], address("mariadb")
    topic = f"numbers-{time.time_ns()}"
    write_numbers(servers, topic)
    ask(
        database,
        "DROP TABLE IF EXISTS t_test",
        "CREATE TABLE t_test (id BIGINT AUTO_INCREMENT PRIMARY KEY, value INT)",
    )

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.enable_checkpointing(200)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(database["url"])
        .with_user_name(database["user"])
        .with_password(database["password"])
        .build()
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    values = numbers.map(lambda text: int(json.loads(text)["value"]))
    values.add_sink(MySqlTwoPhaseCommitSink(options)).name("MySqlTwoPhaseCommitSink")
    env.execute("two phases")

    for (value,) in ask(database, "SELECT value FROM t_test ORDER BY value"):
        print("row", value)


def write_numbers(servers, topic):
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(60)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(1, 21):
        producer.produce(topic, json.dumps({"value": str(number)}))
    producer.flush(60)


def ask(database, *statements):
    """Execute statements; return the rows of the last one."""
    account = {key: value for key, value in database.items() if key != "url"}
    with pymysql.connect(**account, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()


if __name__ == "__main__":
    main()
