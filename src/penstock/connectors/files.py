"""Files as splits: find them, cut large ones into parts, deal the parts to subtasks.

What is read of a file is a range of its bytes; which records lie in a range is the business of a
format (`penstock.connectors.text_lines` is the one for lines).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlparse

from penstock.connectors.journal import Journal
from penstock.connectors.positions import by_subtask, make_position, split_entry, subtask_of
from penstock.core.io import EnumeratorContext, Position, ReadLimit, SplitEnumerator, SplitRange
from penstock.errors import SourceError

_SMALLEST_PART = 1 << 20
_LARGEST_PART = 64 << 20
_SAMPLE = 1 << 16


class FilePart(NamedTuple):
    """The bytes of a file from `start` on, in front of `end`."""

    path: str
    start: int
    end: int
    #: False if it can only be read as a whole, as a compressed file.
    divisible: bool


def local_path(path: str, operator: str) -> str:
    """Return a path or a `file:` URI as an absolute path.

    :raises SourceError: for a URI of another kind.
    """
    if "://" not in path and not path.startswith("file:"):
        return os.path.abspath(path)
    uri = urlparse(path)
    if uri.scheme != "file" or uri.netloc not in ("", "localhost"):
        raise SourceError(
            f"files can only be read from a mounted file system, not from {uri.scheme}://",
            where=operator,
            got=path,
            todo="mount the file system on every worker and pass the path",
        )
    return os.path.abspath(unquote(uri.path))


def find_files(path: str) -> list[str]:
    """Return the files that a path names: a file, the files of a folder, or those of a pattern.

    Hidden files of a folder, whose names start with `.` or `_`, are left out, and so are its
    folders. Returns an empty list if the path names nothing that exists.
    """
    if os.path.isdir(path):
        return _files_in(path)
    if os.path.exists(path):
        return [path]
    found: list[str] = []
    for match in sorted(glob.glob(path, recursive=True)):
        found.extend(_files_in(match) if os.path.isdir(match) else [match])
    return list(dict.fromkeys(found))


def _files_in(folder: str) -> list[str]:
    names = sorted(name for name in os.listdir(folder) if name[0] not in "._")
    paths = (os.path.join(folder, name) for name in names)
    return [path for path in paths if os.path.isfile(path)]


def cut(sizes: dict[str, int], lanes: int, divisible: Callable[[str], bool]) -> list[FilePart]:
    """Cut files into parts of such a size that every lane gets some, in order."""
    wanted = -(-sum(sizes.values()) // lanes)
    size_of_part = min(max(wanted, _SMALLEST_PART), _LARGEST_PART)
    parts = []
    for path, size in sizes.items():
        if not divisible(path):
            parts.append(FilePart(path, 0, size, False))
            continue
        for start in range(0, size, size_of_part):
            parts.append(FilePart(path, start, min(start + size_of_part, size), True))
    return parts


def deal(parts: list[FilePart], lanes: int) -> list[list[FilePart]]:
    """Give each part to the lane that has least so far; the same answer for the same parts."""
    dealt: list[list[FilePart]] = [[] for _ in range(lanes)]
    loads = [0] * lanes
    for part in parts:
        lane = loads.index(min(loads))
        dealt[lane].append(part)
        # A file costs something even if it is empty.
        loads[lane] += part.end - part.start + 1
    return dealt


class FileEnumerator(SplitEnumerator):
    """Read files once, from front to back.

    There is one split for each subtask, a *lane*: parts of files that are read one after another.
    A lane's place is `[number of the part, byte]`. So a position stays small however many files
    there are. Which parts there are is noted at the first start: a file that comes later is not
    read, one that has become longer is read up to its old size.

    The end of a planned range is the list of its pieces: `(path, first byte, end)`.

    :param path: file, folder or pattern.
    :param divisible: whether the file of a path may be read in pieces.
    """

    def __init__(
        self, context: EnumeratorContext, path: str, divisible: Callable[[str], bool]
    ) -> None:
        self._context = context
        self._path = path
        self._divisible = divisible
        self._journal = Journal(context.directory, "files.json")
        self._lanes: list[list[FilePart]] = []
        self._record_bytes = 1.0

    def start(self) -> None:
        noted = self._journal.read()
        if noted is None:
            lanes = self._context.parallelism
            noted = {"lanes": lanes, "parts": cut(self._sizes(), lanes, self._divisible)}
            self._journal.write(noted)
        parts = [FilePart(*part) for part in noted["parts"]]
        self._lanes = deal(parts, noted["lanes"])
        self._record_bytes = _record_bytes(parts)

    def initial(self) -> Position:
        splits = {}
        for lane, parts in enumerate(self._lanes):
            splits[str(lane)] = split_entry([0, 0], lane, done=not parts)
            if parts:
                splits[str(lane)]["at"] = [0, parts[0].start]
        return make_position(splits)

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        live = sum(not entry["done"] for entry in start["splits"].values())
        by_count = int(limit.max_records * self._record_bytes)
        budget = max(min(limit.max_bytes, by_count) // max(live, 1), 1)
        splits = {}
        for name, entry in start["splits"].items():
            lane = int(name)
            subtask = subtask_of(entry, lane, self._context.parallelism)
            parts = self._lanes[lane]
            at = _advance(parts, entry["at"], budget)
            splits[name] = split_entry(at, subtask, done=at[0] == len(parts))
        return make_position(splits)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = []
        for name, entry in end["splits"].items():
            at = start["splits"][name]["at"]
            pieces = list(_between(self._lanes[int(name)], at, entry["at"]))
            if pieces:
                ranges.append((entry, SplitRange(name, at, pieces)))
        return by_subtask(ranges, self._context.parallelism)

    def _sizes(self) -> dict[str, int]:
        operator = f"source {self._context.operator!r}"
        path = local_path(self._path, operator)
        try:
            files = find_files(path)
            if not files and not os.path.isdir(path):
                raise SourceError(
                    "there is no such file or folder, and no file that matches it as a pattern",
                    where=operator,
                    got=path,
                    todo="check the path; it must exist on this machine and on every worker",
                )
            return {file: _size(file) for file in files}
        except OSError as error:
            raise SourceError(
                "a path cannot be read",
                where=operator,
                got=f"{error.filename or path} ({error.strerror or error})",
                todo="check that the path may be read by this user",
            ) from error


def _size(path: str) -> int:
    # Opened, not only looked at: a file that may not be read is found out before the job starts.
    with open(path, "rb") as file:
        return os.fstat(file.fileno()).st_size


def _record_bytes(parts: list[FilePart]) -> float:
    """Return how long a line is on average, by the beginning of the first file."""
    for part in parts:
        if part.divisible and part.end > part.start:
            try:
                with open(part.path, "rb") as file:
                    sample = file.read(min(_SAMPLE, part.end))
            except OSError:
                # Reading it will say so, and better: this is an estimate.
                return 1.0
            return max(len(sample) / max(sample.count(b"\n"), 1), 1.0)
    return 1.0


def _advance(parts: list[FilePart], at: list[int], budget: int) -> list[int]:
    """Return the place that is `budget` bytes further, or a little more for whole files."""
    number, byte = at
    while number < len(parts):
        part = parts[number]
        if part.divisible and part.end - byte > budget:
            return [number, byte + budget] if budget > 0 else [number, byte]
        if budget <= 0:
            break
        # An empty file is not free: a folder of very many must not end up in one batch.
        budget -= max(part.end - byte, 1)
        number += 1
        byte = parts[number].start if number < len(parts) else 0
    return [number, byte]


def _between(
    parts: list[FilePart], start: list[int], end: list[int]
) -> Iterator[tuple[str, int, int]]:
    first, byte = start
    for number in range(first, min(end[0] + 1, len(parts))):
        part = parts[number]
        begin = byte if number == first else part.start
        stop = end[1] if number == end[0] else part.end
        if begin < stop:
            yield part.path, begin, stop
