"""Write sensor readings to an index of Elasticsearch, the last one of each sensor.

    examples/elasticsearch/sensor_readings.py [--url URL]

Without arguments a server (OpenSearch) is started. Needs the extra `opensearch`.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from opensearchpy import OpenSearch

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.services import address

INDEX = "sensor"


@dataclass
class SensorReading:
    """What a sensor has measured."""

    id: str
    timestamp: int
    temperature: float


READINGS = [
    SensorReading("sensor_1", 1547718199, 35.8),
    SensorReading("sensor_6", 1547718201, 15.4),
    SensorReading("sensor_7", 1547718202, 6.7),
    SensorReading("sensor_10", 1547718205, 38.1),
    SensorReading("sensor_1", 1547718207, 32.8),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    options, _ = parser.parse_known_args()
    url = options.url or address("opensearch")["url"]

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    sink = (
        Elasticsearch7SinkBuilder()
        .set_hosts([url])
        .set_emitter(ElasticsearchEmitter.static_index(INDEX, "id"))
        .set_bulk_flush_max_actions(100)
        .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 8, 250)
        .build()
    )
    env.from_collection(READINGS).sink_to(sink)
    env.execute("sensor readings")

    with OpenSearch([url], timeout=60) as client:
        client.indices.refresh(index=INDEX)
        found = client.search(index=INDEX, body={"query": {"match_all": {}}})
        for hit in sorted(found["hits"]["hits"], key=lambda hit: hit["_id"]):
            print(hit["_id"], hit["_source"]["temperature"])


if __name__ == "__main__":
    main()
