"""The rows that Penstock sends through Spark: a grouping key and a closed envelope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

SCHEMA = "slot INT, payload BINARY"
ARROW_SCHEMA = pa.schema([pa.field("slot", pa.int32()), pa.field("payload", pa.binary())])
#: A column of binary values ends at 2 GB; envelopes of a few megabytes fill a batch to this.
_BATCH_BYTES = 16 << 20


def to_arrow(rows: Iterable[tuple[int, bytes]], slots: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
    """Pack rows of (slot index, envelope); `slots` has the grouping key of each slot.

    A row bound for the sink keeps the index of its subtask, of which there may be more than slots.
    """
    keys: list[int] = []
    payloads: list[bytes] = []
    size = 0
    for slot, payload in rows:
        keys.append(slots[slot % len(slots)])
        payloads.append(payload)
        size += len(payload)
        if size >= _BATCH_BYTES:
            yield _batch(keys, payloads)
            keys, payloads, size = [], [], 0
    if keys:
        yield _batch(keys, payloads)


def _batch(keys: list[int], payloads: list[bytes]) -> pa.RecordBatch:
    columns = [pa.array(keys, pa.int32()), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)
