"""A broker that is gone for long: jobs wait, and nothing is lost or doubled when it is back.

`PENSTOCK_OUTAGE_SECONDS=60` keeps it away for a minute.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.common import WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaSource,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import SourceError
from penstock.testing.local_executor import LocalJob
from tests.services.test_kafka_sink import builder
from tests.services.topics import Topic
from tests.unit.process.jobs import environment
from tools.services import Server

OUTAGE = float(os.environ.get("PENSTOCK_OUTAGE_SECONDS", "15"))
#: What a job may take beside the outage.
PATIENCE = 120.0

pytestmark = pytest.mark.timeout(OUTAGE + 300)


def _return(kafka: Server) -> None:
    time.sleep(OUTAGE)
    kafka.start()


@contextmanager
def gone(kafka: Server) -> Iterator[None]:
    """Have no broker from now on; it is back after the outage, whatever is done meanwhile."""
    kafka.kill()
    back = threading.Thread(target=_return, args=(kafka,))
    back.start()
    try:
        yield
    finally:
        back.join()


def through(folder: Path, source: Topic, targets: dict[DeliveryGuarantee, Topic]) -> LocalJob:
    env = environment()
    reading = (
        KafkaSource.builder()
        .set_bootstrap_servers(source.servers)
        .set_topics(source.name)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    values = env.from_source(reading, WatermarkStrategy.no_watermarks(), "in").uid("in")
    for guarantee, topic in targets.items():
        values.sink_to(builder(topic, guarantee).build()).uid(guarantee.name)
    return LocalJob(build_plan(env), folder, cuts=100)


def test_a_job_that_reads_and_writes_waits(kafka: Server, tmp_path: Path) -> None:
    source = Topic(kafka, "numbers")
    targets = {
        guarantee: Topic(kafka, guarantee.name.lower())
        for guarantee in (DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE)
    }
    values = [str(number) for number in range(500)]
    source.write(*values)
    job = through(tmp_path, source, targets)
    job.step()
    with gone(kafka):
        began = time.monotonic()
        # The end is known, so that batches go on being read, and published, without a broker.
        job.run()
    assert time.monotonic() - began < OUTAGE + PATIENCE
    assert targets[DeliveryGuarantee.EXACTLY_ONCE].values() == values
    assert list(dict.fromkeys(targets[DeliveryGuarantee.AT_LEAST_ONCE].values())) == values


def test_a_job_that_is_started_meanwhile(
    kafka: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.connectors.kafka.lookup._SECONDS", 3.0)
    source = Topic(kafka, "numbers")
    target = Topic(kafka, "out")
    source.write(*"abc")
    with gone(kafka):
        with pytest.raises(SourceError) as caught:
            through(tmp_path, source, {DeliveryGuarantee.AT_LEAST_ONCE: target}).run()
        assert f"Kafka at {source.servers} does not answer" in caught.value.what
    through(tmp_path, source, {DeliveryGuarantee.AT_LEAST_ONCE: target}).run()
    assert target.values() == ["a", "b", "c"]
