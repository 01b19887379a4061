"""Bytes that sources tell they have read; those of files are in `test_counted_records.py`."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Message

from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.kafka.reader import KafkaReader
from penstock.connectors.kafka.schemas import ValueOnlySchema
from penstock.connectors.segments import SegmentLog, read_range
from penstock.core.io import ReaderContext, SourceBatch


def test_kafka_tells_the_bytes_of_the_values() -> None:
    schema = ValueOnlySchema(SimpleStringSchema())
    reader = KafkaReader(ReaderContext(0, 1), {"auto.offset.reset": "earliest"}, schema)
    messages = [Message(topic="t", value=value) for value in (b"four", None, b"seven77")]
    batch = reader._records(messages)
    assert (batch.values, batch.size) == (["four", "seven77"], 11)


def test_what_was_received_tells_the_bytes_of_its_log(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    values = [f"value {number}" for number in range(100)]
    log.append(SourceBatch(values))
    log.close()

    def size(start: int, end: int) -> int:
        return sum(b.size for place in log.byte_ranges(start, end) for b in read_range(place))

    (file,) = tmp_path.iterdir()
    assert sum(map(len, values)) < size(0, 100) < file.stat().st_size
    assert abs(size(0, 30) - 0.3 * size(0, 100)) <= 1
