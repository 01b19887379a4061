"""Count words from Kafka to Kafka exactly once, although a function fails at random.

    examples/kafka/word_count.py [--bootstrap-servers HOST:PORT]

Without arguments a broker is started. Needs the extra `kafka`.
"""

import argparse
import random
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.common import RestartStrategies, Types, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import FlatMapFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.services import address

LINES = ["to be or not to be", "that is the question", "to sleep to dream"]
FAILURES = 2


class Words(FlatMapFunction):
    """Fail at random, but not for ever: the restart strategy allows for some failures."""

    def open(self, runtime_context):
        self.attempt = runtime_context.get_attempt_number()

    def flat_map(self, line):
        for word in line.split():
            if self.attempt < FAILURES and random.randrange(5) > 2:
                raise RuntimeError("something is wrong ...")
            yield word, 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-servers")
    options, _ = parser.parse_known_args()
    servers = options.bootstrap_servers or address("kafka")["bootstrap_servers"]
    lines, counts = (f"{name}-{time.time_ns()}" for name in ("lines", "counts"))
    prepare(servers, lines, counts)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.enable_checkpointing(200)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(FAILURES + 1, 100))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(lines)
        .set_group_id("word-count")
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(counts)
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(counts)
        .set_property("transaction.timeout.ms", "60000")
        .build()
    )
    words = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").flat_map(Words())
    counted = words.key_by(lambda pair: pair[0]).sum(1)
    texts = counted.map(lambda pair: f"{pair[0]} ::: {pair[1]}", Types.STRING())
    texts.sink_to(sink)
    env.execute("word count")

    for text in sorted(committed(servers, counts)):
        print(text)


def prepare(servers, lines, counts):
    """Make the topics and write the lines."""
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(lines, 1), NewTopic(counts, 1)]).values():
        made.result(60)
    producer = Producer({"bootstrap.servers": servers})
    for line in LINES:
        producer.produce(lines, line)
    producer.flush(60)


def committed(servers, topic):
    """Return what a reader of committed messages finds in a topic."""
    settings = {"group.id": "reader", "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": servers, "enable.partition.eof": True, **settings})
    consumer.assign([TopicPartition(topic, 0, 0)])
    texts = []
    while True:
        message = consumer.poll(30)
        if message is None or message.error() is not None:
            assert message is None or message.error().code() == KafkaError._PARTITION_EOF
            consumer.close()
            return texts
        texts.append(message.value().decode())


if __name__ == "__main__":
    main()
