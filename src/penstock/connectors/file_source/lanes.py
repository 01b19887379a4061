"""Lanes: the files that each subtask reads one after another, noted in a log.

A position of a file source is small however many files there are: a place in each lane. Which
files stand in which lane is in a log in the source's own folder, to which every discovery adds one
entry. An entry is written before a position refers to it, so a place means the same after a
restart. An entry is a line of a file, or a file of its own where files cannot be appended to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_source.discovery import FoundFile
from penstock.connectors.file_stores import FileStatus


@dataclass
class KnownFile:
    """A file that the source has taken on."""

    found: FoundFile
    #: False if it can only be read as a whole, as a compressed file.
    divisible: bool

    @property
    def path(self) -> str:
        """Where it is."""
        return self.found.status.path

    @property
    def size(self) -> int:
        """How much of it is read."""
        return self.found.status.size


@dataclass(frozen=True)
class FilePart:
    """A stretch of a file, in one lane."""

    file: KnownFile
    start: int
    #: None for the last part, which goes as far as the file.
    stop: int | None

    @property
    def end(self) -> int:
        """The byte behind the last one; moves if the file is noted anew."""
        size = self.file.size
        return size if self.stop is None else min(self.stop, size)


#: Lane, first byte, and the byte behind the last one (None: as far as the file goes).
PlacedPart = tuple[int, int, "int | None"]


class Lane:
    """Parts by number. Those that will not be read again can be let go."""

    def __init__(self) -> None:
        self._parts: list[FilePart] = []
        self._gone = 0

    def __len__(self) -> int:
        return self._gone + len(self._parts)

    def __getitem__(self, number: int) -> FilePart:
        return self._parts[number - self._gone]

    def append(self, part: FilePart) -> None:
        """Add a part behind all others."""
        self._parts.append(part)

    def forget(self, number: int) -> None:
        """Let go of the parts in front of one."""
        if number > self._gone:
            del self._parts[: number - self._gone]
            self._gone = number

    def after(self, number: int) -> Iterator[tuple[int, FilePart]]:
        """Yield number and part from a number on."""
        return ((i, self[i]) for i in range(max(number, self._gone), len(self)))

    def remaining(self, at: list[int]) -> int:
        """Return how many bytes lie behind a place."""
        parts = self.after(at[0])
        return sum(
            part.end - (max(at[1], part.start) if number == at[0] else part.start)
            for number, part in parts
        )


class LaneLog:
    """The lanes of a source, and the log from which they can be made again.

    :param directory: the source's own folder.
    """

    def __init__(self, directory: str) -> None:
        self._path = join(directory, "files.jsonl")
        self._store = store_of(self._path)
        #: How many entries have been read and written.
        self._entries = 0
        self.lanes: list[Lane] = []
        #: All files that were ever taken on.
        self.paths: set[str] = set()
        #: Whether files have been looked for and noted, if only to find that there are none.
        self.has_looked = False

    def open(self, lanes: int) -> None:
        """Read the log, or begin one with so many lanes."""
        entries = self._read_lines() if self._store.can_append else self._read_files()
        for entry in entries:
            self._apply(json.loads(entry))
        if not entries:
            self._write({"lanes": lanes})

    def _read_lines(self) -> list[bytes]:
        try:
            with self._store.open_input(self._path) as file:
                content = file.read()
        except FileNotFoundError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            # The process died while it wrote: no position refers to that line.
            self._store.open_append(self._path, len(whole)).close()
        return whole.splitlines()

    def _read_files(self) -> list[bytes]:
        found = [self._store.read_whole(join(self._path, n)) for n in self._store.names(self._path)]
        return [data for data in found if data is not None]

    def take_on(self, files: Iterable[tuple[KnownFile, Sequence[PlacedPart]]]) -> None:
        """Note files and where their parts are."""
        entries = [[_flat(known.found), known.divisible, parts] for known, parts in files]
        self._write({"files": entries})

    def note_again(self, files: Iterable[FoundFile]) -> None:
        """Note files that look different from how they were noted."""
        self._write({"again": [_flat(found) for found in files]})

    def forget(self, places: Iterable[int]) -> None:
        """Let go of the parts in front of one number in each lane."""
        for lane, number in zip(self.lanes, places, strict=True):
            lane.forget(number)

    def files_left(self) -> dict[str, KnownFile]:
        """Return the files that lanes still hold parts of, by path."""
        return {part.file.path: part.file for lane in self.lanes for _, part in lane.after(0)}

    def _write(self, entry: dict[str, Any]) -> None:
        data = json.dumps(entry).encode()
        if self._store.can_append:
            self._store.make_folder(self._path.rpartition("/")[0])
            with self._store.open_log(self._path) as file:
                file.write(data + b"\n")
        else:
            self._store.write_whole(join(self._path, f"{self._entries:012d}"), data)
        self._apply(json.loads(json.dumps(entry)))

    def _apply(self, entry: dict[str, Any]) -> None:
        self._entries += 1
        if "lanes" in entry:
            self.lanes = [Lane() for _ in range(entry["lanes"])]
        self.has_looked = self.has_looked or "files" in entry
        for flat, divisible, parts in entry.get("files", ()):
            known = KnownFile(_found(flat), divisible)
            self.paths.add(known.path)
            for lane, start, stop in parts:
                self.lanes[lane].append(FilePart(known, start, stop))
        left = self.files_left() if "again" in entry else {}
        for found in map(_found, entry.get("again", ())):
            if found.status.path in left:
                left[found.status.path].found = found


def _flat(found: FoundFile) -> list[Any]:
    return [*found.status, found.head, found.tail]


def _found(flat: list[Any]) -> FoundFile:
    *status, head, tail = flat
    return FoundFile(FileStatus(*status), head, tail)
