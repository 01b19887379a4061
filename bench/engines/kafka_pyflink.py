"""Kafka -> keyed count -> Kafka, exactly once, on PyFlink: the program of `bench_kafka`.

python -m bench.engines.kafka_pyflink --servers S --topic T --out O --records N --share 1000
"""

from __future__ import annotations

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)

from bench.engines.kafka_options import PARTITIONS, parse

CHECKPOINT_MS = 10_000


def main():
    options = parse(__doc__)
    configuration = Configuration()
    configuration.set_string("pipeline.jars", ";".join(options.jars))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.enable_checkpointing(CHECKPOINT_MS)
    ends = {
        KafkaTopicPartition(options.topic, n): options.records // PARTITIONS
        for n in range(PARTITIONS)
    }
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.servers)
        .set_topics(options.topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.offsets(ends))
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(options.out)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(options.out)
        # Flink's default is more than a broker allows by its own.
        .set_property("transaction.timeout.ms", "900000")
        .build()
    )
    share = options.share
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
    counts = (
        texts.map(lambda text: (text[:4], 1), pair)
        .key_by(lambda pair: pair[0], Types.STRING())
        .sum(1)
    )
    if share > 1:
        counts = counts.filter(lambda pair: pair[1] % share == 0)
    counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()).sink_to(sink)
    env.execute("kafka to kafka")


if __name__ == "__main__":
    main()
