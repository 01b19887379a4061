"""Decide how far the next batch reads of which file."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from penstock.connectors.file_paths import store_of
from penstock.connectors.file_source.dealing import deal
from penstock.connectors.file_source.discovery import Discovery, note
from penstock.connectors.file_source.file_format import FileFormat, FilePiece
from penstock.connectors.file_source.lanes import KnownFile, Lane, LaneLog
from penstock.connectors.file_source.opening import replaced, shorter
from penstock.connectors.file_stores import FileStatus
from penstock.connectors.positions import by_subtask, make_position, split_entry, subtask_of
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    SourceProgress,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import SourceError

_logger = logging.getLogger(__name__)


class FileEnumerator(SplitEnumerator):
    """Read each file once, from front to back.

    There is one split for each subtask, a *lane* (see `lanes.py`): parts of files that are read
    one after another. A lane's place is `[number of the part, byte]`. The end of a planned range
    is the list of its pieces.

    :param interval: milliseconds between two looks for new files; None to look once.
    :param splittable: False to let one subtask read the whole of a file.
    """

    def __init__(
        self,
        context: EnumeratorContext,
        file_format: FileFormat,
        discovery: Discovery,
        *,
        interval: int | None,
        splittable: bool,
    ) -> None:
        self._context = context
        self._format = file_format
        self._discovery = discovery
        self._interval = interval
        self._splittable = splittable
        self._log = LaneLog(context.directory)
        self._next_look: int | None = None
        self._record_bytes: float | None = None
        #: Bytes of all files that were there at the start.
        self._total = 0

    def start(self) -> None:
        self._log.open(self._context.parallelism)
        if self._context.restored is not None:
            self._compare(self._context.restored)
        if not self._log.has_looked:
            self._look([0] * len(self._log.lanes))
        elif self._interval is not None:
            self._next_look = self._context.now()
        self._total = sum(lane.remaining([0, 0]) for lane in self._log.lanes)

    def initial(self) -> Position:
        return make_position(
            {
                str(number): split_entry([0, 0], number, done=self._is_done(lane, [0, 0]))
                for number, lane in enumerate(self._log.lanes)
            }
        )

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        places = _places(start)
        if self._next_look is not None and self._context.now() >= self._next_look:
            lanes = zip(self._log.lanes, places, strict=True)
            self._look([lane.remaining(at) for lane, at in lanes])
        busy = sum(at[0] < len(lane) for lane, at in zip(self._log.lanes, places, strict=True))
        budget = max(self._most_bytes(limit) // max(busy, 1), 1)
        splits = {}
        for name, entry in start["splits"].items():
            lane = self._log.lanes[int(name)]
            subtask = subtask_of(entry, int(name), self._context.parallelism)
            at = _advance(lane, entry["at"], budget)
            splits[name] = split_entry(at, subtask, done=self._is_done(lane, at))
        position = make_position(splits)
        self._check_unchanged(places, _places(position))
        return position

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = []
        for name, entry in end["splits"].items():
            at = start["splits"][name]["at"]
            pieces = list(_between(self._log.lanes[int(name)], at, entry["at"]))
            if pieces:
                ranges.append((entry, SplitRange(name, at, pieces)))
        return by_subtask(ranges, self._context.parallelism)

    def committed(self, position: Position) -> None:
        self._log.forget(at[0] for at in _places(position))

    def next_wakeup(self) -> int | None:
        return self._next_look

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        if self._interval is not None or not self._total:
            return SourceProgress()
        lanes = zip(self._log.lanes, _places(at), strict=True)
        return SourceProgress(share=1 - sum(lane.remaining(p) for lane, p in lanes) / self._total)

    def _is_done(self, lane: Lane, at: list[int]) -> bool:
        return self._interval is None and at[0] == len(lane)

    # ------------------------------------------------------------------------------- finding files

    def _look(self, loads: list[int]) -> None:
        watching = self._interval is not None
        found = self._discovery.look(self._log.paths, patient=watching)
        if found or not self._log.has_looked:
            dealt = deal(
                found, loads, divisible=self._format.is_divisible, splittable=self._splittable
            )
            self._log.take_on(dealt)
        if self._interval is not None:
            self._next_look = self._context.now() + self._interval

    def _most_bytes(self, limit: ReadLimit) -> int:
        if self._record_bytes is None:
            self._record_bytes = self._estimate()
        per_record = 1.0 if self._record_bytes is None else self._record_bytes
        return min(limit.max_bytes, int(limit.max_records * per_record))

    def _estimate(self) -> float | None:
        """Return how long a record is on average, by the first file; None if there is none yet."""
        for known in self._log.files_left().values():
            try:
                return self._format.record_bytes(known.path, known.size)
            except (OSError, SourceError):
                # Reading it will say so, and better: this is an estimate.
                return 1.0
        return None

    # --------------------------------------------------------------------- files that have changed

    def _check_unchanged(self, start: list[list[int]], end: list[list[int]]) -> None:
        """Make sure that the files of a batch are those that were found.

        :raises SourceError: if one has lost bytes or become another. One that has grown is read
            up to the size that it had.
        """
        files = {}
        for lane, first, last in zip(self._log.lanes, start, end, strict=True):
            for number in range(first[0], min(last[0] + 1, len(lane))):
                if first != last:
                    files[lane[number].file.path] = lane[number].file
        for known in files.values():
            status = _look_at(known)
            noted = known.found.status
            if status is None or status == noted:
                continue
            if status.size < noted.size:
                raise shorter(known.path, status.size, noted.size)
            if status.inode != noted.inode:
                raise replaced(known.path, "it is another file of the same name")
            if status.size == noted.size:
                raise replaced(known.path, "its time of change is another one, its length the same")
            if not _has_grown(known, status):
                raise replaced(known.path, "it is longer, and not the same up to its old length")

    def _compare(self, restored: Position) -> None:
        """Take on files that have been changed, after a restart, as they are now.

        One that has only grown is read up to its old size still. One that has been read in part
        must at least begin as it did.
        """
        places = _places(restored)
        self._log.forget(at[0] for at in places)
        again = []
        for known, read in self._unfinished(places):
            status = _look_at(known)
            noted = known.found.status
            if status is None or status == noted:
                continue
            if _has_grown(known, status):
                again.append(note(status, noted.size))
                continue
            begins_alike = note(status, noted.size).head == known.found.head
            if read and (status.size < read or not begins_alike):
                raise SourceError(
                    "a file has been replaced by another before it was read to its end",
                    where=known.path,
                    got=f"{status.size} bytes, {noted.size} bytes when it was found",
                    todo="put the file back, or start the job anew in an empty checkpoint folder",
                )
            _logger.warning("%s has changed; it is read as it is now", known.path)
            again.append(note(status))
        if again:
            self._log.note_again(again)

    def _unfinished(self, places: list[list[int]]) -> Iterator[tuple[KnownFile, int]]:
        """Yield the files that are not read to their end, and how far they are read; 0: not at all.

        The parts in front of the places must be gone.
        """
        unread: dict[str, int] = {}
        furthest: dict[str, int] = {}
        for lane, (first, byte) in zip(self._log.lanes, places, strict=True):
            for number, part in lane.after(first):
                path = part.file.path
                begin = max(byte, part.start) if number == first else part.start
                unread[path] = unread.get(path, 0) + part.end - begin
                if begin > part.start:
                    furthest[path] = max(begin, furthest.get(path, 0))
        for path, known in self._log.files_left().items():
            # A part that has been read is not in a lane any more, but missing in the sum.
            yield known, furthest.get(path, min(known.size - unread[path], 1))


def _places(position: Position) -> list[list[int]]:
    splits = position["splits"]
    return [splits[str(lane)]["at"] for lane in range(len(splits))]


def _look_at(known: KnownFile) -> FileStatus | None:
    """Return what a file looks like; None if it cannot be told, which reading it will do better."""
    try:
        return store_of(known.path).status(known.path)
    except OSError:
        return None


def _has_grown(known: KnownFile, status: FileStatus) -> bool:
    """Tell whether a file is what it was, with something added behind it or nothing at all."""
    found = known.found
    if status.size < found.status.size:
        return False
    now = note(status, found.status.size)
    return (now.head, now.tail) == (found.head, found.tail)


def _advance(lane: Lane, at: list[int], budget: int) -> list[int]:
    """Return the place that is `budget` bytes further, or a little more for whole files."""
    number, byte = at
    while number < len(lane):
        part = lane[number]
        byte = max(byte, part.start)
        if part.file.divisible and part.end - byte > budget:
            return [number, byte + budget] if budget > 0 else [number, byte]
        if budget <= 0:
            break
        budget -= max(part.end - byte, 1)
        number += 1
        byte = 0
    return [number, byte]


def _between(lane: Lane, start: list[int], end: list[int]) -> Iterator[FilePiece]:
    first, byte = start
    for number in range(first, min(end[0] + 1, len(lane))):
        part = lane[number]
        begin = max(byte, part.start) if number == first else part.start
        stop = min(end[1], part.end) if number == end[0] else part.end
        if begin < stop:
            yield FilePiece(part.file.path, begin, stop, part.file.size)
