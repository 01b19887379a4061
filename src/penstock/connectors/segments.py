"""A log of records in segment files: appended to by one process, read by byte ranges in others.

A *frame* holds the records of one flush, or of a piece of it. Records and watermarks are numbered
together, as *entries*, from zero on, through all segments; a segment's file name is the number of
its first entry. A flush becomes visible as a whole or not at all, also if it was written in parts:
what a process left unfinished when it died is cut off when the log is opened again. On a store
whose files cannot be appended to, every flush is a segment of its own, which appears when it is
complete.
"""

from __future__ import annotations

import contextlib
import struct
import threading
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from penstock.connectors.file_paths import join as join_path
from penstock.connectors.file_paths import store_of
from penstock.core.io import SourceBatch
from penstock.core.pickling import dumps_for_workers, loads
from penstock.errors import SourceError

SEGMENT_BYTES = 16 << 20
SEGMENT_FRAMES = 20_000
FRAME_BYTES = 4 << 20

_SUFFIX = ".log"
# Magic, flags, entries, bytes of state, bytes of records, checksum of both.
_HEADER = struct.Struct(">2sBIIII")
_MAGIC = b"PL"
_MORE_FOLLOWS, _HAS_STATE, _ENDED = 1, 2, 4


class ByteRange(NamedTuple):
    """Where entries stand: whole frames of one file, of which `take` entries behind `skip`."""

    path: str
    offset: int
    end: int
    skip: int
    take: int


@dataclass
class _Segment:
    path: str
    first: int
    #: Of each frame, the number of its first entry and its offset in the file.
    firsts: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    end: int = 0
    size: int = 0
    #: What was written behind `size` but is not to be seen yet: firsts, offsets, end and size.
    hidden: tuple[list[int], list[int], int, int] | None = None


class SegmentLog:
    """The writing side. Methods may be called from any thread.

    :param first: number of the first entry if there is no log in the folder yet.
    """

    def __init__(self, directory: str, first: int = 0) -> None:
        self._directory = directory
        self._store = store_of(directory)
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._segments: list[_Segment] = []
        self._first = first
        #: What was last given as `state`.
        self.state: bytes | None = None
        #: Whether the log has been closed for good.
        self.ended = False
        self._store.make_folder(directory)
        self._recover()

    @property
    def end(self) -> int:
        """Return the number of entries, those that have been removed included."""
        return self._segments[-1].end if self._segments else self._first

    def append(
        self, batch: SourceBatch, *, state: bytes | None = None, ended: bool = False
    ) -> None:
        """Add records, and replace the state if one is given; visible when this returns.

        :raises SourceError: if the file cannot be written.
        """
        frames = list(_encode(batch))
        with self._lock:
            begins = self._roll()
            changed = state is not None and state != self.state
            self.state = state if changed else self.state
            # Older segments will be removed: each one knows the state by itself.
            written = self.state if changed or begins else None
            self._write(frames, written, ended)
            if not self._store.can_append:
                self._complete()
            self._show()
            self.ended = self.ended or ended

    def append_part(self, batch: SourceBatch) -> None:
        """Add records that become visible with the next `append`, and not without it.

        :raises SourceError: if the file cannot be written.
        """
        frames = list(_encode(batch))
        with self._lock:
            self._roll()
            self._write(frames, None, more_follow=True)

    def reach(self, start: int, max_entries: int, max_bytes: int) -> int:
        """Return how far one may read from `start` on; at least one frame's part if there is."""
        with self._lock:
            end = min(self.end, start + max_entries)
            size = 0
            for segment in self._segments:
                if segment.end <= start:
                    continue
                for i in range(
                    max(bisect_right(segment.firsts, start) - 1, 0), len(segment.firsts)
                ):
                    if segment.firsts[i] >= end:
                        return end
                    length = _frame_end(segment, i) - segment.offsets[i]
                    if size and size + length > max_bytes:
                        return min(end, segment.firsts[i])
                    size += length
            return end

    def byte_ranges(self, start: int, end: int) -> list[ByteRange]:
        """Return where the entries between two numbers stand, one range for each segment."""
        with self._lock:
            if start < end and (not self._segments or start < self._segments[0].first):
                raise SourceError(
                    "records that are asked for are no longer in the receiver's log",
                    where=self._directory,
                    got=f"entries {start} to {end}, the log has {self._oldest()} to {self.end}",
                    todo="restore the whole job directory, or start the job anew in an empty one",
                )
            ranges = []
            for segment in self._segments:
                first, last = max(start, segment.first), min(end, segment.end)
                if first < last:
                    a = bisect_right(segment.firsts, first) - 1
                    b = bisect_right(segment.firsts, last - 1) - 1
                    skip = first - segment.firsts[a]
                    stop = _frame_end(segment, b)
                    place = ByteRange(segment.path, segment.offsets[a], stop, skip, last - first)
                    ranges.append(place)
            return ranges

    def remove_before(self, entry: int) -> None:
        """Remove the segments that hold only entries in front of one."""
        with self._lock:
            while len(self._segments) > 1 and self._segments[0].end <= entry:
                segment = self._segments.pop(0)
                self._store.delete(segment.path)

    def close(self) -> None:
        """Let go of the file, and of parts that were not finished. May be called again."""
        with self._lock:
            if self._segments and self._segments[-1].hidden is not None:
                self._cut(self._segments[-1])
            if self._file is not None:
                self._file.close()
                self._file = None

    def _oldest(self) -> int:
        return self._segments[0].first if self._segments else self._first

    def _roll(self) -> bool:
        """Begin a new segment if one is needed; tell whether the next frame is its first."""
        last = self._segments[-1] if self._segments else None
        full = (
            last is not None
            and last.hidden is None
            and (
                not self._store.can_append
                or last.size >= SEGMENT_BYTES
                or len(last.firsts) >= SEGMENT_FRAMES
            )
        )
        if last is None or (full and last.end > last.first):
            if self._file is not None:
                self._file.close()
                self._file = None
            number = self.end
            path = join_path(self._directory, f"{number:020d}{_SUFFIX}")
            last = _Segment(path, number, end=number)
            self._segments.append(last)
        if self._file is None:
            self._file = self._store.open_log(last.path)
        return last.size == 0

    def _write(
        self,
        frames: list[tuple[int, bytes]],
        state: bytes | None,
        ended: bool = False,
        *,
        more_follow: bool = False,
    ) -> None:
        segment = self._segments[-1]
        firsts, offsets, end, size = segment.hidden or ([], [], segment.end, segment.size)
        blob = bytearray()
        for i, (entries, body) in enumerate(frames):
            is_last = not more_follow and i == len(frames) - 1
            flags = 0 if is_last else _MORE_FOLLOWS
            told = state if is_last else None
            if told is not None:
                flags |= _HAS_STATE
            if is_last and ended:
                flags |= _ENDED
            firsts.append(end)
            offsets.append(size + len(blob))
            blob += _frame(flags, entries, told or b"", body)
            end += entries
        self._write_through(blob, segment)
        segment.hidden = firsts, offsets, end, size + len(blob)

    def _show(self) -> None:
        segment = self._segments[-1]
        assert segment.hidden is not None
        firsts, offsets, segment.end, segment.size = segment.hidden
        segment.firsts += firsts
        segment.offsets += offsets
        segment.hidden = None

    def _write_through(self, blob: bytearray, segment: _Segment) -> None:
        assert self._file is not None
        rest = memoryview(blob)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            # Half a frame in the middle of the log would hide what comes behind it.
            self._cut(segment)
            raise _unwritable(segment, error) from error

    def _complete(self) -> None:
        """Close a segment that cannot be appended to: it appears."""
        assert self._file is not None
        file, self._file = self._file, None
        try:
            file.close()
        except OSError as error:
            segment = self._segments[-1]
            self._cut(segment)
            raise _unwritable(segment, error) from error

    def _cut(self, segment: _Segment) -> None:
        segment.hidden = None
        if self._store.can_append:
            self._store.open_append(segment.path, segment.size).close()
            return
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
        self._segments.remove(segment)
        self._first = max(self._first, segment.first)
        self._store.delete(segment.path)

    def _recover(self) -> None:
        for name in self._store.names(self._directory):
            if not name.endswith(_SUFFIX):
                continue
            path = join_path(self._directory, name)
            segment = _Segment(path, int(name[: -len(_SUFFIX)]))
            segment.end = segment.first
            self._scan(segment)
            if segment.size == 0:
                self._store.delete(path)
            else:
                self._segments.append(segment)

    def _scan(self, segment: _Segment) -> None:
        """Find the frames of a segment and cut off what is not complete."""
        pending: list[tuple[int, int]] = []
        at, entry = 0, segment.first
        with self._store.open_input(segment.path) as file:
            while (read := _next_frame(file)) is not None:
                flags, entries, state, _ = read
                pending.append((entry, at))
                at, entry = file.tell(), entry + entries
                if flags & _MORE_FOLLOWS:
                    continue
                segment.firsts += [first for first, _ in pending]
                segment.offsets += [offset for _, offset in pending]
                pending.clear()
                segment.size, segment.end = at, entry
                if flags & _HAS_STATE:
                    self.state = state
                self.ended = self.ended or bool(flags & _ENDED)
        if self._store.can_append and self._store.size(segment.path) > segment.size:
            self._store.open_append(segment.path, segment.size).close()


def read_range(place: ByteRange) -> Iterator[SourceBatch]:
    """Read entries. Runs in a worker.

    :raises SourceError: if the file is not there or is damaged.
    """
    skip, left = place.skip, place.take
    try:
        with store_of(place.path).open_input(place.path) as file:
            file.seek(place.offset)
            while file.tell() < place.end:
                read = _next_frame(file)
                if read is None:
                    raise _unreadable(place.path, "a frame is damaged")
                _, entries, _, body = read
                take = min(entries - skip, left)
                if take > 0:
                    batch = cut_entries(SourceBatch(*loads(body)), skip, skip + take)
                    batch.size = len(body) * take // entries
                    yield batch
                skip, left = 0, left - take
    except OSError as error:
        raise _unreadable(place.path, error.strerror or str(error)) from error


def cut_entries(batch: SourceBatch, start: int, end: int) -> SourceBatch:
    """Return the entries between two numbers, records and watermarks counted together."""
    # A watermark in front of record p has p records and the earlier watermarks in front of it.
    numbers = [position + i for i, (position, _) in enumerate(batch.marks)]
    mark_start = sum(number < start for number in numbers)
    mark_end = sum(number < end for number in numbers)
    first, last = start - mark_start, end - mark_end
    times = batch.timestamps
    return SourceBatch(
        batch.values[first:last],
        None if times is None else times[first:last],
        [(position - first, mark) for position, mark in batch.marks[mark_start:mark_end]],
        batch.time,
    )


def count_entries(batch: SourceBatch) -> int:
    """Return how many records and watermarks there are."""
    return len(batch.values) + len(batch.marks)


def _encode(batch: SourceBatch) -> Iterator[tuple[int, bytes]]:
    """Yield frames that are not too large."""
    entries = count_entries(batch)
    body = dumps_for_workers((batch.values, batch.timestamps, list(batch.marks), batch.time))
    if len(body) <= FRAME_BYTES or entries < 2:
        yield entries, body
        return
    yield from _encode(cut_entries(batch, 0, entries // 2))
    yield from _encode(cut_entries(batch, entries // 2, entries))


def _frame(flags: int, entries: int, state: bytes, body: bytes) -> bytes:
    checksum = zlib.crc32(body, zlib.crc32(state))
    header = _HEADER.pack(_MAGIC, flags, entries, len(state), len(body), checksum)
    return b"".join((header, state, body))


def _next_frame(file: IO[bytes]) -> tuple[int, int, bytes, bytes] | None:
    """Return flags, entries, state and body; None at the end of what is complete."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    magic, flags, entries, state_size, body_size, checksum = _HEADER.unpack(header)
    if magic != _MAGIC:
        return None
    state, body = file.read(state_size), file.read(body_size)
    if len(body) < body_size or zlib.crc32(body, zlib.crc32(state)) != checksum:
        return None
    return flags, entries, state, body


def _frame_end(segment: _Segment, index: int) -> int:
    last = index + 1 == len(segment.offsets)
    return segment.size if last else segment.offsets[index + 1]


def _unwritable(segment: _Segment, error: OSError) -> SourceError:
    return SourceError(
        "the receiver's log cannot be written",
        where=segment.path,
        got=error.strerror or str(error),
        todo="make room on the disk, or set execution.checkpointing.dir to another one",
    )


def _unreadable(path: str, reason: str) -> SourceError:
    return SourceError(
        "a worker cannot read the receiver's log",
        where=path,
        got=reason,
        todo="set execution.checkpointing.dir to a folder that all workers share",
    )


def join(batches: Sequence[SourceBatch]) -> SourceBatch:
    """Return several batches as one, of the time of the last."""
    values: list[object] = []
    times: list[int | None] = []
    marks: list[tuple[int, int]] = []
    for batch in batches:
        marks += [(len(values) + position, mark) for position, mark in batch.marks]
        values += batch.values
        times += batch.timestamps or [None] * len(batch.values)
    known = any(batch.timestamps is not None for batch in batches)
    return SourceBatch(values, times if known else None, marks, batches[-1].time)
