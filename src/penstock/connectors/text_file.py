"""Text files as a source: one record a line."""

from __future__ import annotations

import os

from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import TextLineFormat


class TextFileSource(FileSource):
    """Read the lines of a file, of the files of a folder, or of all files that match a pattern.

    Unlike `FileSource` it leaves out the folders of a folder.

    :param path: a path or a URL; `*`, `?`, `[...]` and `**` make it a pattern.
    :param charset: name of the files' encoding.

    >>> TextFileSource("input/words.txt").bounded
    True
    """

    def __init__(self, path: str | os.PathLike[str], charset: str = "UTF-8") -> None:
        super().__init__(TextLineFormat(charset), [path], recursive=False)
