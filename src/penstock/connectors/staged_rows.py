"""Rows that another engine writes to files, one batch after another, as a source.

Who writes them is a *stager*: it puts the files of a batch into a folder of the job and then says
so. A batch is there as a whole, once its list of files is, or not at all. So a replay reads the
same rows, whatever has become of where they came from.
"""

from __future__ import annotations

import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_source.records import converter, rows, values_of
from penstock.connectors.positions import by_subtask, make_position, split_entry
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import SourceError

#: So many rows a file has at most: the least that a batch of the job reads.
ROWS_OF_A_FILE = 50_000
#: So many batches may wait to be read before the stager has to.
_WAITING_BATCHES = 8
#: A row takes up so much more room in memory than in a file.
_UNPACKED = 8
_CHUNK = 8192
_LIST = re.compile(r"(\d+)\.json")
_PART = re.compile(r"part-(\d+)")


class StagedFile(NamedTuple):
    """A file of rows."""

    path: str
    rows: int
    size: int
    #: The part of the other engine's batch that it belongs to; its files keep their order.
    part: int


class Stage:
    """The batches that have been staged, in order.

    :param directory: the source's own folder.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._folder = join(directory, "rows")
        self._store = store_of(directory)
        self._store.make_folder(self._folder)
        self._lock = threading.Condition()
        #: Files of the batches that are still there, and how many there were before them.
        self._files: list[StagedFile] = []
        self._before = 0
        #: Where each batch that is still there ends, by its number.
        self._ends: dict[int, int] = {}
        self._read = 0
        self._closed = False
        self.ended = False
        self._load()

    # ------------------------------------------------------------------------- the stager's calls

    def has(self, number: int) -> bool:
        """Tell whether a batch has been staged: it must not be staged again."""
        return bool(self._ends) and number <= max(self._ends)

    def folder_of(self, number: int) -> str:
        """Return the folder for the files of a batch; it may hold what is left of an attempt."""
        return join(self._folder, str(number))

    def add(self, number: int, *, last: bool = False) -> None:
        """Note that the files of a batch are there.

        :param last: no batch will follow.
        """
        files = sorted(self._written(number), key=lambda file: (file.part, file.path))
        with self._lock:
            first = self._before + len(self._files)
            listed = {"first": first, "last": last, "files": files}
            self._store.write_whole(self._list_of(number), json.dumps(listed).encode())
            self._take(number, listed)

    def wait_for_room(self) -> bool:
        """Wait until enough has been read; tell whether to go on."""
        with self._lock:
            while not self._closed and self._unread() >= _WAITING_BATCHES:
                self._lock.wait()
            return not self._closed

    # --------------------------------------------------------------------- the enumerator's calls

    @property
    def end(self) -> int:
        """Return how many files there have ever been."""
        return self._before + len(self._files)

    def files(self, start: int, end: int) -> list[StagedFile]:
        """Return files by their numbers."""
        return self._files[start - self._before : end - self._before]

    def note_read(self, at: int) -> None:
        """Learn how far batches of the job read."""
        with self._lock:
            self._read = at
            self._lock.notify_all()

    def remove_before(self, at: int) -> None:
        """Remove what will not be read again; the newest batch stays, to be known again."""
        with self._lock:
            newest = max(self._ends, default=-1)
            gone = [n for n, end in self._ends.items() if end <= at and n != newest]
            for number in sorted(gone):
                end = self._ends.pop(number)
                del self._files[: end - self._before]
                self._before = end
                self._store.delete_whole(self._list_of(number))
                self._store.delete_folder(self.folder_of(number))

    def close(self) -> None:
        """Let the stager wait no longer."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    # ------------------------------------------------------------------------------- the inside

    def _list_of(self, number: int) -> str:
        return join(self._folder, f"{number}.json")

    def _unread(self) -> int:
        return sum(end > self._read for end in self._ends.values())

    def _written(self, number: int) -> Iterator[StagedFile]:
        folder = self.folder_of(number)
        for name in self._store.names(folder):
            part = _PART.match(name)
            if part is not None:
                path = join(folder, name)
                with self._store.open_input(path) as stream:
                    count = parquet.read_metadata(stream).num_rows
                if count:
                    yield StagedFile(path, count, self._store.size(path), int(part[1]))

    def _load(self) -> None:
        found = (_LIST.fullmatch(name) for name in self._store.names(self._folder))
        for number in sorted(int(match[1]) for match in found if match is not None):
            listed = json.loads(self._store.read_whole(self._list_of(number)) or b"")
            if not self._ends:
                self._before = listed["first"]
            self._take(number, listed)

    def _take(self, number: int, listed: dict[str, Any]) -> None:
        for path, count, size, part in listed["files"]:
            # The folder may be another than when it was written: a savepoint's copy.
            place = join(self.folder_of(number), path.rpartition("/")[2])
            self._files.append(StagedFile(place, count, size, part))
        self._ends[number] = self.end
        self.ended = self.ended or bool(listed["last"])


class Stager(ABC):
    """Brings rows to a stage. Runs in the user's process."""

    @abstractmethod
    def start(
        self, stage: Stage, wake: Callable[[], None], fail: Callable[[BaseException], None]
    ) -> None:
        """Begin, and return at once; go on behind what the stage has.

        :param wake: to be called when a batch has been staged.
        :param fail: to be called with the error that ends the job.
        """

    @abstractmethod
    def stop(self) -> None:
        """End all activity."""


class StagedRowsSource(Source):
    """Read rows that a stager brings.

    :param make_stager: called for each attempt at the job.
    :param bounded: the stager ends by itself.
    """

    fixed_splits = True

    def __init__(
        self, make_stager: Callable[[], Stager], row_type: RowTypeInfo, *, bounded: bool
    ) -> None:
        self._make_stager: Callable[[], Stager] | None = make_stager
        self._row_type = row_type
        self.bounded = bounded

    def __getstate__(self) -> dict[str, Any]:
        # Workers only read files.
        return {**self.__dict__, "_make_stager": None}

    def get_produced_type(self) -> TypeInformation | None:
        return self._row_type

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        if self._make_stager is None:
            raise SourceError("rows are staged only in the process that made their source")
        return StagedRowsEnumerator(context, self._make_stager())

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        names = self._row_type.get_field_names()
        converters = [converter(kind) for kind in self._row_type.get_field_types()]
        for path in split_range.end:
            try:
                with store_of(path).open_input(path) as stream, parquet.ParquetFile(stream) as file:
                    for batch in file.iter_batches(_CHUNK):
                        pairs = zip(batch.columns, converters, strict=True)
                        yield SourceBatch(rows(names, [values_of(*pair) for pair in pairs]))
            except (OSError, pa.ArrowException) as error:
                raise SourceError("staged rows cannot be read", got=f"{path}: {error}") from error


class StagedRowsEnumerator(SplitEnumerator):
    """Let batches read what has been staged; the files of a part go to one subtask."""

    def __init__(self, context: EnumeratorContext, stager: Stager) -> None:
        self._context = context
        self._stager = stager
        self._stage = Stage(context.directory)

    def start(self) -> None:
        if not self._stage.ended:
            self._stager.start(self._stage, self._context.wake, self._context.fail)

    def initial(self) -> Position:
        return self._position(0)

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at = _place(start)
        self._stage.note_read(at)
        count = size = 0
        for file in self._stage.files(at, self._stage.end):
            count += file.rows
            size += file.size * _UNPACKED
            if at > _place(start) and (count > limit.max_records or size > limit.max_bytes):
                break
            at += 1
        return self._position(at)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        first, behind = _place(start), _place(end)
        parallelism = self._context.parallelism
        paths: dict[int, list[str]] = {}
        for file in self._stage.files(first, behind):
            paths.setdefault(file.part % parallelism, []).append(file.path)
        ranges = [
            (split_entry(behind, subtask), SplitRange(str(subtask), first, found))
            for subtask, found in sorted(paths.items())
        ]
        return by_subtask(ranges, parallelism)

    def committed(self, position: Position) -> None:
        self._stage.remove_before(_place(position))

    def close(self) -> None:
        self._stage.close()
        self._stager.stop()

    def _position(self, at: int) -> Position:
        # Asked first: what ended before the files were counted is counted with them.
        ended = self._stage.ended
        done = ended and at == self._stage.end
        subtasks = range(self._context.parallelism)
        return make_position({str(n): split_entry(at, n, done=done) for n in subtasks})


def _place(position: Position) -> int:
    """Return how many files have been read: each split of a position says the same."""
    return max(int(entry["at"]) for entry in position["splits"].values())
