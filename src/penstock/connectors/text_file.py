"""Text files as a source: one record a line."""

from __future__ import annotations

import os
from collections.abc import Iterator

from penstock.connectors.files import FileEnumerator
from penstock.connectors.text_lines import LineFormat
from penstock.core.io import EnumeratorContext, Source, SourceBatch, SplitEnumerator, SplitRange


class TextFileSource(Source):
    """Read the lines of a file, of the files of a folder, or of all files that match a pattern.

    Large files are read in parallel, by ranges of bytes; files that end in .gz, .bz2 or .xz are
    unpacked, each by one subtask in one batch. In a folder, hidden files (`.name`, `_name`) and
    folders are left out. The files must be at the same path on every worker.

    :param path: a path or a `file:` URI; `*`, `?`, `[...]` and `**` make it a pattern.
    :param charset: name of the files' encoding.

    >>> TextFileSource("input/words.txt").bounded
    True
    """

    fixed_splits = True
    bounded = True

    def __init__(self, path: str | os.PathLike[str], charset: str = "UTF-8") -> None:
        self._path = os.fspath(path)
        self._format = LineFormat(charset)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FileEnumerator(context, self._path, self._format.is_divisible)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for path, start, end in split_range.end:
            for lines in self._format.read(path, start, end):
                yield SourceBatch(lines)
