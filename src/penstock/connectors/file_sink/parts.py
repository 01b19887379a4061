"""The files of open parts, and why no two attempts at a batch get into each other's way.

A batch may be run again, in another process, while an earlier attempt at it has not noticed yet
that it is given up: a driver was killed and its workers live a moment longer, a machine could not
be reached for a while. Such an attempt may write whenever it likes. Cutting a file back to the
length that the state knows, and going on behind it, is therefore not enough: what was cut off may
be written again, into what is by then another's data.

So a file has one writer. A part consists of *segments*, each a file
`.part-0-0.inprogress.<uuid>` of which the state knows path and valid length. A writer adds to a
segment only if it made it itself; one that comes from the state, made by whichever process, is
only ever read, and only up to its valid length. All that stragglers write is behind that length or
in files that nobody knows. And nothing is ever cut, appended to or renamed but by the one process
that made it and by the committer, so it works on stores that can only write whole files too.

When a part ends it must be one file. If the writer made its only segment, that is it. Otherwise the
valid parts of the segments are put into a new file. Segments that are not needed any more are
removed when the batch is published, as a replay of the batch would still read them.

A part that stays open for thousands of batches would gather as many segments. The last ones are
merged now and then, always with as much as there is before them, so that a byte is copied only as
often as the part doubles.

Whatever the state names is forced to the disk first: the state may be on a safer one.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_sink.formats import PartFormat
from penstock.connectors.file_sink.rolling import PartFileInfo
from penstock.connectors.file_stores import LocalStore
from penstock.errors import SinkError

#: A part's segments are merged when there are more.
_MOST_SEGMENTS = 16
#: How many are merged at least.
_MERGED = 8
_COPIED_AT_ONCE = 1 << 20

#: Path and valid length.
Segment = tuple[str, int]


@dataclass
class Part(PartFileInfo):
    """An open part of a bucket."""

    bucket: str
    count: int
    created: int
    updated: int
    size: int = 0
    segments: list[Segment] = field(default_factory=list)
    #: Records of this batch that are in no file yet.
    records: list[bytes] = field(default_factory=list)
    now: int = 0

    def get_bucket_id(self) -> str:
        return self.bucket

    def get_creation_time(self) -> int:
        return self.created

    def get_size(self) -> int:
        return self.size

    def get_last_update_time(self) -> int:
        return self.now if self.records else self.updated

    def save(self) -> tuple[Any, ...]:
        """Return what another process needs to go on with the part."""
        return self.bucket, self.count, self.created, self.updated, self.size, tuple(self.segments)

    @classmethod
    def load(cls, saved: tuple[Any, ...]) -> Part:
        """Undo `save`."""
        bucket, count, created, updated, size, segments = saved
        return cls(bucket, count, created, updated, size, list(segments))


class PartFiles:
    """Write the segments of one writer's parts.

    :param base: the sink's base path.
    :param owner: twelve hexadecimal digits that tell the files of this sink from all others.
    """

    def __init__(self, base: str, owner: str, part_format: PartFormat) -> None:
        self._base = base
        self._store = store_of(base)
        self._owner = owner
        self._format = part_format
        self._own: set[str] = set()
        #: Files that were made since the last state was saved.
        self._unsaved: set[str] = set()

    def folder(self, bucket: str) -> str:
        """Return the path of a bucket.

        :raises SinkError: if it would be outside of the base path.
        """
        parts = [part for part in bucket.split("/") if part not in ("", ".")]
        if bucket.startswith("/") or ".." in parts:
            raise SinkError(
                "a bucket must be a folder below the base path",
                got=repr(bucket),
                todo="let the bucket assigner return a relative path without '..'",
            )
        return join(self._base, *parts) if parts else self._base

    def is_taken(self, bucket: str, name: str) -> bool:
        """Tell whether there is a finished part of that name, of another job or an earlier one."""
        path = join(self.folder(bucket), name)
        with failing(path):
            return self._store.exists(path)

    def flush(self, part: Part, name: str) -> None:
        """Put the records that are in memory into a segment."""
        data = self._format.pack(part.records)
        part.records.clear()
        if part.segments and self._can_add_to(part.segments[-1]):
            path, length = part.segments[-1]
            with failing(path), self._store.open_append(path, length) as file:
                _write(file, data)
            part.segments[-1] = (path, length + len(data))
            return
        with self._new_file(part.bucket, name) as (path, file):
            _write(file, data)
        part.segments.append((path, len(data)))
        self._merge(part, name)

    def _can_add_to(self, segment: Segment) -> bool:
        return segment[0] in self._own and self._store.can_append

    def finish(self, part: Part, name: str) -> tuple[str, int]:
        """Make one file of a part, and return it with its length."""
        if not self._format.is_plain:
            return self._assemble(part, name)
        if part.records and (not part.segments or self._can_add_to(part.segments[-1])):
            self.flush(part, name)
        if not part.records and len(part.segments) == 1 and part.segments[0][0] in self._own:
            self._own.remove(part.segments[0][0])  # nobody adds to it any more
            return part.segments[0]
        return self._joined(part.bucket, name, part.segments, self._format.pack(part.records))

    def _assemble(self, part: Part, name: str) -> tuple[str, int]:
        packed = self._format.pack(part.records) if part.records else b""
        with self._new_file(part.bucket, name) as (path, file):
            self._format.assemble(self._packs(part.segments, packed), file)
            length = file.tell()
            sync_file(file)
        return path, length

    def _packs(self, segments: list[Segment], packed: bytes) -> Iterator[IO[bytes]]:
        for segment in segments:
            with self._opened(segment) as file:
                yield file
        if packed:
            yield io.BytesIO(packed)

    @contextmanager
    def _opened(self, segment: Segment) -> Iterator[IO[bytes]]:
        """Open a segment to read its valid length and nothing more."""
        path, length = segment
        with failing(path), self._store.open_input(path) as file:
            yield io.BufferedReader(_Valid(file, path, length), _COPIED_AT_ONCE)

    def _joined(self, bucket: str, name: str, segments: list[Segment], rest: bytes) -> Segment:
        total = len(rest)
        with self._new_file(bucket, name) as (path, file):
            for source, length in segments:
                with self._opened((source, length)) as data:
                    shutil.copyfileobj(data, file, _COPIED_AT_ONCE)
                total += length
            _write(file, rest)
        return path, total

    def _merge(self, part: Part, name: str) -> None:
        if len(part.segments) <= _MOST_SEGMENTS:
            return
        start = len(part.segments) - _MERGED
        total = sum(length for _, length in part.segments[start:])
        while start > 0 and part.segments[start - 1][1] <= total:
            start -= 1
            total += part.segments[start][1]
        merged = part.segments[start:]
        part.segments[start:] = [self._joined(part.bucket, name, merged, b"")]
        for path, _ in merged:
            if path in self._unsaved:
                self._forget(path)

    @contextmanager
    def _new_file(self, bucket: str, name: str) -> Iterator[tuple[str, IO[bytes]]]:
        path = join(self.folder(bucket), inprogress_name(name, self._owner))
        self._unsaved.add(path)
        with failing(path):
            with self._store.open_output(path) as file:
                yield path, file
            self._own.add(path)

    def saved(self) -> None:
        """Learn that the state now names what has been written."""
        self._unsaved.clear()

    def discard_unsaved(self) -> None:
        """Remove what was made since the last state was saved."""
        for path in list(self._unsaved):
            self._forget(path)

    def _forget(self, path: str) -> None:
        self._unsaved.discard(path)
        self._own.discard(path)
        with contextlib.suppress(OSError):
            self._store.delete(path)

    def retain(self, live: set[str]) -> None:
        """Forget which files were made here, other than those that can still be added to."""
        self._own &= live


class _Valid(io.RawIOBase):
    """The first bytes of a file, as many as are valid."""

    def __init__(self, file: IO[bytes], path: str, length: int) -> None:
        self._file = file
        self._path = path
        self._length = length
        self._left = length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(self._left, len(buffer)))
        if self._left and not data:
            raise _shortened(self._path, self._length - self._left, self._length)
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def inprogress_name(name: str, owner: str) -> str:
    """Return a new name for a file of a part that is not finished."""
    tail = uuid.uuid4().hex[12:]
    return f".{name}.inprogress.{uuid.UUID(owner + tail)}"


def is_inprogress_of(name: str, owner: str) -> bool:
    """Tell whether a file is of an unfinished part of a sink."""
    if not name.startswith("."):
        return False
    _, found, tail = name.rpartition(".inprogress.")
    return bool(found) and tail.replace("-", "").startswith(owner)


@contextmanager
def failing(path: str) -> Iterator[None]:
    """Turn an error of the file system into one that names the file."""
    try:
        yield
    except OSError as error:
        raise SinkError(
            "a file cannot be written",
            got=f"{error.filename or path} ({error.strerror or error})",
            todo="check the path, its permissions and the room on the disk; what was written "
            "before is not lost",
        ) from error


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    sync_file(file)


def sync_file(file: IO[bytes]) -> None:
    """Force a file to the disk, where there is such a thing."""
    file.flush()
    with contextlib.suppress(io.UnsupportedOperation):
        os.fsync(file.fileno())


def sync_folder(path: str) -> None:
    """Force the names of a folder to the disk, where there is such a thing."""
    if isinstance(store_of(path), LocalStore):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _shortened(path: str, found: int, wanted: int) -> SinkError:
    return SinkError(
        "an unfinished part has become shorter since it was written",
        got=f"{path}: {found} bytes, {wanted} were written",
        todo="leave the output alone while its job is running or can be resumed",
    )
