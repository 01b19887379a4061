"""Envelopes: the rows that travel through Spark, each a header and a packed body.

The header says where an envelope is bound; a task opens only what is bound for it and passes the
rest on closed. A data envelope holds a chunk: many records of one edge, with their keys and
timestamps, and watermarks at positions between them.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import RecordTooLargeError, show_value
from penstock.runtime.codec import Frozen, dumps, pack_times, thaw, unpack_times

#: The level number of everything that is bound for the sink.
SINK_LEVEL = 0xFFFF

DATA = 0
COMMITTABLE = 1
LEVEL0_STATE = 2
TIMER = 3
ACCUMULATORS = 4
METRICS = 5
#: To a slot: write your state to the savepoint in this folder. From it: what it wrote.
SAVEPOINT = 6
#: What a task did: records, bytes, watermarks, time (`meter.py`).
COUNTS = 7
#: How far an aligned source is.
ALIGNMENT = 8

#: What an envelope of several records may weigh.
ENVELOPE_BYTES = 4 << 20
#: What one record may weigh.
RECORD_BYTES = 256 << 20

_HEADER = struct.Struct("<BHIHHIq?")


#: Where in the header it stands whether the body is parked.
_PARKED = _HEADER.size - 1


class Header(NamedTuple):
    """Where an envelope is bound and whose turn it is.

    `node` is the edge of a data envelope and the operator of any other; `channel` is the sender's
    subtask; `seq` counts the sender's envelopes to this slot within the batch; `time` is the
    processing time of its records; `parked` says that the body is in a file, whose name follows.
    """

    kind: int
    level: int
    node: int
    channel: int
    slot: int
    seq: int
    time: int
    parked: bool = False


def seal(header: Header, body: bytes) -> bytes:
    """Return header and body as one payload."""
    return _HEADER.pack(*header) + body


def header_of(payload: bytes) -> Header:
    """Read the header only."""
    return Header._make(_HEADER.unpack_from(payload))


def body_of(payload: bytes) -> bytes | memoryview:
    """Return what follows the header, or what was parked in its place."""
    if payload[_PARKED]:
        return Path(payload[_HEADER.size :].decode()).read_bytes()
    return memoryview(payload)[_HEADER.size :]


def park(payload: bytes, path: Path) -> bytes:
    """Put the body of an envelope into a file, and return an envelope that says where it is."""
    path.write_bytes(memoryview(payload)[_HEADER.size :])
    return seal(header_of(payload)._replace(parked=True), str(path).encode())


@dataclass
class Chunk:
    """Records of one edge from one channel, in order.

    `marks` are `(position, watermark)`: the watermark stands in front of the record at that
    position. The last chunk that a channel sends to a slot in a batch also says whether the
    channel has gone idle and whether it has ended.
    """

    values: list[Any]
    timestamps: list[Any] | None = None
    keys: list[Any] | None = None
    marks: list[tuple[int, int]] = field(default_factory=list)
    idle: bool | None = None
    ended: bool = False
    #: Bytes that it took on its way here.
    weight: int = field(default=0, compare=False)


#: How a list is packed: as it is, with frozen entries, or as the columns of tuples of one length.
_PLAIN, _FROZEN, _COLUMNS = 0, 1, 2


def pack_chunk(chunk: Chunk) -> bytes:
    """Encode a chunk; values and keys must be frozen already."""
    times = None if chunk.timestamps is None else pack_times(chunk.timestamps)
    values, keys = _pack_list(chunk.values), _pack_list(chunk.keys or [])
    marks = [pack_times(list(column)) for column in zip(*chunk.marks, strict=True)]
    return dumps((values, times, keys, chunk.keys is None, marks, chunk.idle, chunk.ended))


def pack_parts(chunk: Chunk) -> list[bytes]:
    """Encode a chunk as one body, or as several in order if it weighs too much for one envelope.

    :raises RecordTooLargeError: if one record weighs more than an envelope may.
    """
    body, count = pack_chunk(chunk), len(chunk.values)
    if len(body) <= ENVELOPE_BYTES:
        return [body]
    if count <= 1:
        if len(body) > RECORD_BYTES:
            raise _too_large(chunk.values[0], len(body))
        return [body]
    share = max(count * ENVELOPE_BYTES // len(body), 1)
    return [part for piece in _pieces(chunk, min(share, count - 1)) for part in pack_parts(piece)]


def _pieces(chunk: Chunk, share: int) -> Iterator[Chunk]:
    """Cut a chunk; a watermark stays in front of its record, what ends the chunk goes last."""
    marks = 0
    for first in range(0, len(chunk.values), share):
        end, is_last = first + share, first + share >= len(chunk.values)
        begin = marks
        while marks < len(chunk.marks) and (is_last or chunk.marks[marks][0] < end):
            marks += 1
        yield Chunk(
            chunk.values[first:end],
            None if chunk.timestamps is None else chunk.timestamps[first:end],
            None if chunk.keys is None else chunk.keys[first:end],
            [(position - first, watermark) for position, watermark in chunk.marks[begin:marks]],
            chunk.idle if is_last else None,
            chunk.ended and is_last,
        )


def _too_large(entry: Any, size: int) -> RecordTooLargeError:
    value = thaw(entry)
    return RecordTooLargeError(
        f"a record of {size / 1e6:,.0f} MB is too large to be sent to another task",
        got=f"a {type(value).__name__}: {show_value(value, 100)}",
        todo=f"send where the data is (a path, a key) instead of the data, or cut it into records "
        f"of less than {RECORD_BYTES >> 20} MB",
    )


def unpack_chunk(payload: bytes) -> Chunk:
    """Decode the chunk of a data envelope."""
    body = body_of(payload)
    values, times, keys, keyless, marks, idle, ended = pickle.loads(body)
    own_keys = None if keyless else _unpack_list(*keys)
    own_marks = list(zip(*map(unpack_times, marks), strict=True))
    return Chunk(
        _unpack_list(*values), unpack_times(times), own_keys, own_marks, idle, ended, len(body)
    )


def _pack_list(entries: list[Any]) -> tuple[int, list[Any]]:
    kinds = set(map(type, entries))
    if Frozen in kinds:
        return _FROZEN, entries
    # A tuple is an object to pickle, to remember and to make again for each record: columns
    # are a few for all of them.
    if kinds == {tuple} and len(set(map(len, entries))) == 1 and entries[0]:
        return _COLUMNS, list(zip(*entries, strict=True))
    return _PLAIN, entries


def _unpack_list(how: int, packed: list[Any]) -> list[Any]:
    if how == _COLUMNS:
        return list(zip(*packed, strict=True))
    return packed if how == _PLAIN else [thaw(entry) for entry in packed]


class Outbox:
    """Collect the rows that one task sends in one batch, each with the slot of its next hop."""

    def __init__(self, level: int, slot: int) -> None:
        self.level = level
        self.slot = slot
        self.time = 0
        self.rows: list[tuple[int, bytes]] = []
        self._sequence: dict[tuple[int, int], int] = {}

    def begin(self, time: int) -> None:
        """Start a batch."""
        self.time = time
        self.rows = []
        self._sequence = {}

    def send_chunk(self, edge: int, level: int, slot: int, channel: int, chunk: Chunk) -> int:
        """Send records along an edge to a slot of a later level; return their bytes."""
        target = (edge, slot)
        seq = self._sequence.get(target, 0)
        weight = 0
        for body in pack_parts(chunk):
            header = Header(DATA, level, edge, channel, slot, seq, self.time)
            self.rows.append((self._next_hop(header), seal(header, body)))
            seq += 1
            weight += len(body)
        self._sequence[target] = seq
        return weight

    def send_to_sink(self, kind: int, node: int, channel: int, body: bytes) -> None:
        """Send something to the sink: output, or what the coordinator must know."""
        header = Header(kind, SINK_LEVEL, node, channel, self.slot, 0, self.time)
        self.rows.append((self.slot, seal(header, body)))

    def send_control(self, kind: int, level: int, slot: int, body: bytes) -> None:
        """Tell a slot of a later level something that is no data."""
        header = Header(kind, level, 0, 0, slot, 0, self.time)
        self.rows.append((self._next_hop(header), seal(header, body)))

    def pass_on(self, payload: bytes) -> None:
        """Send an envelope that is bound for a later level on its way, unopened."""
        self.rows.append((self._next_hop(header_of(payload)), payload))

    def _next_hop(self, header: Header) -> int:
        # Only the last hop needs the right slot; until then an envelope stays where it is.
        return header.slot if header.level == self.level + 1 else self.slot
