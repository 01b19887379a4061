"""Files as a source, with PyFlink's builder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.common.time import Duration
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file_paths import absolute, ensure_registered, registered_for
from penstock.connectors.file_source.discovery import Discovery
from penstock.connectors.file_source.enumerator import FileEnumerator
from penstock.connectors.file_source.file_format import FileFormat
from penstock.connectors.file_source.stream_format import BulkFormat, StreamFormat
from penstock.core.io import (
    CheckContext,
    EnumeratorContext,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import ConfigurationError, show_value


class FileProcessingMode(Enum):
    """Whether `read_file` ends with the files that are there, or goes on with those to come."""

    PROCESS_ONCE = 0
    PROCESS_CONTINUOUSLY = 1


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """Say how the files of a source are dealt to its subtasks."""

    splittable: bool = True

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Let several subtasks read a large file, each a part of it, if its format allows."""
        return FileEnumeratorProvider(splittable=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Let one subtask read the whole of a file: its records keep their order."""
        return FileEnumeratorProvider(splittable=False)


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Say which subtask reads which file."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Give a file to the subtask that has least to read; all are equally near."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    """Read files: those that are there, or for ever those that appear as well.

    A path is a file, a folder with all that is below it, or a pattern of `*`, `?`, `[...]` and
    `**`; hidden files and folders (`.name`, `_name`) and empty files are left out. Each file is
    read once, known by its path, up to the size that it had when it was found: what is appended
    later is not read. Write a file under a hidden name or elsewhere, and move it when it is
    complete. A file that becomes shorter or is replaced while it is being read fails the job.
    After a restart, files of which nothing has been read are taken as they are then; of one that
    has been read in part, the rest is, if the file still begins as it did.

    Large files are read in parallel, by ranges of bytes, if their format allows. Compressed ones
    (.gz, .gzip, .bz2, .xz, .zst, .deflate) are read to their end, by one subtask in one batch. The
    files must be at the same path on every worker.

    >>> lines = StreamFormat.text_line_format()
    >>> FileSource.for_record_stream_format(lines, "input").build().bounded
    True
    """

    def __init__(
        self,
        file_format: FileFormat,
        paths: Sequence[str | os.PathLike[str]],
        *,
        interval: int | None = None,
        recursive: bool = True,
        splittable: bool = True,
        only: str | None = None,
    ) -> None:
        self._format = file_format
        self._only = only
        self._paths = [absolute(path) for path in paths]
        self._file_systems = registered_for(self._paths)
        self._interval = interval
        self._recursive = recursive
        self._splittable = splittable
        self.bounded = interval is None
        self.fixed_splits = interval is None

    def identity(self) -> str:
        return ";".join(self._paths)

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat, *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder:
        """Begin to build a source of files that are read from front to back."""
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(
        bulk_format: BulkFormat, *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder:
        """Begin to build a source of files that have an index of their own."""
        return FileSourceBuilder(bulk_format, paths)

    def get_produced_type(self) -> TypeInformation | None:
        return self._format.produced_type

    def check(self, context: CheckContext) -> None:
        self._discovery(context.operator).check(patient=self._interval is not None)

    def _discovery(self, operator: str) -> Discovery:
        return Discovery(self._paths, recursive=self._recursive, operator=operator, only=self._only)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FileEnumerator(
            context,
            self._format,
            self._discovery(context.operator),
            interval=self._interval,
            splittable=self._splittable,
        )

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        ensure_registered(self._file_systems)
        for piece in split_range.end:
            for values in self._format.read(piece):
                yield SourceBatch(values)
            yield SourceBatch([], size=piece.end - piece.start)


class FileSourceBuilder:
    """Build a `FileSource`."""

    def __init__(self, file_format: FileFormat, paths: Sequence[str | os.PathLike[str]]) -> None:
        if not isinstance(file_format, FileFormat):
            raise ConfigurationError(
                "a file source needs a format",
                where="FileSource",
                got=show_value(file_format),
                todo="pass StreamFormat.text_line_format() or another format, then the paths",
            )
        if not paths:
            raise ConfigurationError(
                "a file source needs a path",
                where="FileSource",
                todo="pass files, folders or patterns behind the format",
            )
        self._format = file_format
        self._paths = paths
        self._interval: int | None = None
        self._splittable = True

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Go on for ever, and read files that appear.

        :param discovery_interval: time between two looks; above zero.
        :raises ConfigurationError: if it is not above zero.
        """
        interval = discovery_interval.to_millis()
        if interval <= 0:
            raise ConfigurationError(
                "the interval between two looks for new files must be above zero",
                where="monitor_continuously()",
                got=f"{interval} ms",
            )
        self._interval = interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end. The default."""
        self._interval = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Set whether large files are read in parallel. Default: they are."""
        self._splittable = file_enumerator.splittable
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Set which subtask reads which file; there is one way."""
        return self

    def build(self) -> FileSource:
        """Return the source."""
        return FileSource(
            self._format, self._paths, interval=self._interval, splittable=self._splittable
        )
