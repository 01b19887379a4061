"""Compact finished parts: they wait, hidden, until there are enough, and become one file.

Who compacts is the committer (`committer.py`), in the user's process. What waits stands in its
journal; a compacted file gets its name and the parts that it was made of go away in one step of
that journal, as parts are published.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from penstock.errors import ConfigurationError

_COPIED_AT_ONCE = 1 << 20
#: In front of the name of a file that was compacted.
PREFIX = "compacted-"


@dataclass(frozen=True)
class FileCompactStrategy:
    """When the parts of a bucket are compacted. Use `FileCompactStrategy.builder()`.

    What waits when all input has ended is compacted then.

    >>> FileCompactStrategy.builder().enable_compaction_on_checkpoint(5).build()
    FileCompactStrategy(checkpoints=5, size=None, threads=1)
    """

    #: So many checkpoints after the bucket was compacted last.
    checkpoints: int | None
    #: As soon as so many bytes wait.
    size: int | None
    threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Return a builder of a strategy."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Build a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._checkpoints: int | None = None
            self._size: int | None = None
            self._threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compact when so many checkpoints have passed."""
            _require_positive("enable_compaction_on_checkpoint", num_checkpoints_before_compaction)
            self._checkpoints = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact when the parts have so many bytes together."""
            _require_positive("set_size_threshold", size_threshold)
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Take note of a number of threads: files are compacted one after another here."""
            _require_positive("set_num_compact_threads", num_compact_threads)
            self._threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """Return the strategy.

            :raises ConfigurationError: if it would never compact.
            """
            if self._checkpoints is None and self._size is None:
                raise ConfigurationError(
                    "the strategy does not say when to compact",
                    where="FileCompactStrategy.builder()",
                    todo="call enable_compaction_on_checkpoint() or set_size_threshold()",
                )
            return FileCompactStrategy(self._checkpoints, self._size, self._threads)

    def is_due(self, size: int, checkpoints: int) -> bool:
        """Tell whether parts of some size are compacted, so many checkpoints after the last."""
        if self.size is not None and size >= self.size:
            return True
        return self.checkpoints is not None and checkpoints >= self.checkpoints


class FileCompactor(ABC):
    """How several parts become one file."""

    #: Whether it can make one file of several.
    merges = True

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Put parts one behind the other, with some bytes between them if need be."""
        return ConcatFileCompactor(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Leave each part a file of its own."""
        return IdenticalFileCompactor()

    @abstractmethod
    def compact(self, inputs: list[IO[bytes]], output: IO[bytes]) -> None:
        """Write one file from several."""


@dataclass(frozen=True)
class ConcatFileCompactor(FileCompactor):
    """Put parts one behind the other."""

    delimiter: bytes = b""

    def compact(self, inputs: list[IO[bytes]], output: IO[bytes]) -> None:
        for number, file in enumerate(inputs):
            if number and self.delimiter:
                output.write(self.delimiter)
            shutil.copyfileobj(file, output, _COPIED_AT_ONCE)


class IdenticalFileCompactor(FileCompactor):
    """Leave each part a file of its own."""

    merges = False

    def compact(self, inputs: list[IO[bytes]], output: IO[bytes]) -> None:
        [only] = inputs
        shutil.copyfileobj(only, output, _COPIED_AT_ONCE)


class FinishedPart(NamedTuple):
    """A part that has ended and is not published yet."""

    file: str
    length: int
    #: The path of its bucket.
    folder: str
    #: The number in its name.
    number: int
    subtask: int


class Waiting:
    """The parts of all buckets that wait to be compacted.

    :param strategy: None to let nothing wait.
    """

    def __init__(self, strategy: FileCompactStrategy | None) -> None:
        self._strategy = strategy
        self._parts: dict[str, list[FinishedPart]] = {}
        #: Checkpoints since each bucket was compacted last.
        self._passed: dict[str, int] = {}

    @property
    def files(self) -> set[str]:
        """Return the files of all parts that wait."""
        return {part.file for parts in self._parts.values() for part in parts}

    def add(self, parts: list[FinishedPart], *, checkpoint: bool) -> None:
        """Let parts wait, and count a checkpoint."""
        for part in parts:
            self._parts.setdefault(part.folder, []).append(part)
        if checkpoint:
            for folder in self._parts:
                self._passed[folder] = self._passed.get(folder, 0) + 1

    def take_due(self, *, all_of_them: bool) -> list[list[FinishedPart]]:
        """Return the parts whose time has come, by bucket; they wait no longer."""
        due = []
        for folder, parts in list(self._parts.items()):
            size = sum(part.length for part in parts)
            strategy = self._strategy
            if (
                all_of_them
                or strategy is None
                or strategy.is_due(size, self._passed.get(folder, 0))
            ):
                due.append(self._parts.pop(folder))
                self._passed.pop(folder, None)
        return due

    def save(self) -> Any:
        """Return it as plain JSON."""
        return [[parts, self._passed.get(folder, 0)] for folder, parts in self._parts.items()]

    def load(self, saved: Any) -> None:
        """Undo `save`."""
        for parts, passed in saved:
            found = [FinishedPart(*part) for part in parts]
            self._parts[found[0].folder] = found
            self._passed[found[0].folder] = passed


def _require_positive(method: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(
            f"{method}() takes a whole number above zero",
            where="FileCompactStrategy.builder()",
            got=repr(value),
        )
