"""Write records to text files, one a line, exactly once."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Any

from penstock.connectors.file_paths import check_writable
from penstock.connectors.journal import Journal
from penstock.core.io import (
    CheckContext,
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import ConfigurationError, SinkError, show_value


class WriteMode(Enum):
    """What to do if the output of a file sink exists already."""

    NO_OVERWRITE = 0
    OVERWRITE = 1


class TextSink(Sink):
    """Write to a file, or in parallel to the files `1`, `2` ... of a folder.

    Output is added to the files as batches are published, exactly once: a file that an interrupted
    attempt has made longer is cut back first.

    :param write_mode: a `WriteMode` or its name; None: `NO_OVERWRITE`, an error if the output is
        there already.
    :param encode: turns a value into text or bytes; default: `str`.
    :param delimiter: follows each value.

    >>> sink = TextSink("out/words.txt", write_mode="OVERWRITE")
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        write_mode: WriteMode | str | None = None,
        encode: Callable[[Any], str | bytes] | None = None,
        delimiter: str = "\n",
    ) -> None:
        self._path = os.path.abspath(os.fspath(path).removeprefix("file://"))
        self._mode = mode_of(write_mode)
        self._encode = encode or str
        self._delimiter = delimiter

    def identity(self) -> str:
        return self._path

    def check(self, context: CheckContext) -> None:
        files = _files(self._path, context.parallelism)
        _check_free(self._path, files, context.parallelism, self._mode, context.operator)
        for file in files:
            check_writable(file, f"sink {context.operator!r}", folder=False)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _LineWriter(self._encode, self._delimiter.encode())

    def create_committer(self, context: CommitterContext) -> Committer:
        return _TextCommitter(context, self._path, self._mode)


def mode_of(mode: WriteMode | str | None) -> WriteMode:
    """Return the mode that a `WriteMode`, its name or None means.

    :raises ConfigurationError: if there is no such mode.
    """
    if mode is None:
        return WriteMode.NO_OVERWRITE
    try:
        return mode if isinstance(mode, WriteMode) else WriteMode[mode.upper()]
    except (KeyError, AttributeError):
        raise ConfigurationError(
            "there is no such write mode",
            where="file sink",
            got=show_value(mode),
            todo="pass NO_OVERWRITE or OVERWRITE",
        ) from None


class _LineWriter(SinkWriter):
    def __init__(self, encode: Callable[[Any], str | bytes], delimiter: bytes) -> None:
        self._encode = encode
        self._delimiter = delimiter
        self._lines: list[bytes] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        line = self._encode(value)
        self._lines.append(line.encode() if isinstance(line, str) else line)
        self._lines.append(self._delimiter)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        data = b"".join(self._lines)
        self._lines.clear()
        return [data] if data else []


class _TextCommitter(Committer):
    """Append to the files and note their lengths, in this order.

    A commit that was interrupted has left files longer than noted; the next one cuts them back.
    """

    def __init__(self, context: CommitterContext, path: str, mode: WriteMode) -> None:
        self._operator = context.operator
        self._path = path
        self._mode = mode
        self._parallelism = context.parallelism
        self._journal = Journal(context.directory, "output.json")
        noted = self._journal.read()
        self._batch: int = -1
        self._lengths: dict[str, int] = {}
        try:
            if noted is not None and context.restored:
                self._batch, self._lengths = noted["batch"], noted["lengths"]
                self._add_files(own=[])
            else:
                # Files that an attempt of this very job has left are its own, and it starts anew.
                self._begin(own=[] if noted is None else list(noted["lengths"]))
        except OSError as error:
            raise self._failed(error) from error

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if batch_id <= self._batch:
            return
        try:
            self._cut_back()
            lengths = dict(self._lengths)
            for committable in sorted(committables, key=lambda c: c.subtask):
                file = self._file(committable.subtask)
                _append(file, committable.payload)
                lengths[file] = lengths.get(file, 0) + len(committable.payload)
            self._note(batch_id, lengths)
        except OSError as error:
            raise self._failed(error) from error

    def _file(self, subtask: int) -> str:
        return self._files()[subtask]

    def _files(self) -> list[str]:
        return _files(self._path, self._parallelism)

    def _begin(self, own: list[str]) -> None:
        self._check_free([file for file in self._files() if file not in own])
        if self._parallelism > 1:
            self._make_folder()
        os.makedirs(os.path.dirname(self._file(0)), exist_ok=True)
        self._add_files(own=self._files())

    def _add_files(self, own: list[str]) -> None:
        """Make the files that are not there yet: all, or those of a greater parallelism."""
        new = [file for file in self._files() if file not in self._lengths]
        self._check_free([file for file in new if file not in own])
        # Noted before they are made: should this be interrupted, they are known as our own.
        self._note(self._batch, {**self._lengths, **dict.fromkeys(new, 0)})
        for file in new:
            with open(file, "wb"):
                pass

    def _check_free(self, files: list[str]) -> None:
        _check_free(self._path, files, self._parallelism, self._mode, self._operator)

    def _make_folder(self) -> None:
        """Make the folder, without files of an earlier job that had a greater parallelism."""
        if os.path.isfile(self._path):
            os.remove(self._path)
        os.makedirs(self._path, exist_ok=True)
        if self._mode is WriteMode.OVERWRITE:
            for name in os.listdir(self._path):
                if name.isdecimal() and os.path.isfile(os.path.join(self._path, name)):
                    os.remove(os.path.join(self._path, name))

    def _cut_back(self) -> None:
        for file, length in self._lengths.items():
            # A file that has nothing yet may not have been made either.
            size = os.path.getsize(file) if os.path.exists(file) else 0
            if size < length:
                raise SinkError(
                    "an output file has become shorter since it was written",
                    where=f"sink {self._operator!r}",
                    got=f"{file}: {size} bytes, {length} were written",
                    todo="leave the output alone while its job is running or can be resumed",
                )
            if size > length:
                os.truncate(file, length)

    def _note(self, batch_id: int, lengths: dict[str, int]) -> None:
        self._journal.write({"batch": batch_id, "lengths": lengths})
        self._batch, self._lengths = batch_id, lengths

    def _failed(self, error: OSError) -> SinkError:
        return SinkError(
            "a file cannot be written",
            where=f"sink {self._operator!r}",
            got=f"{error.filename or self._path} ({error.strerror or error})",
            todo="check the path, its permissions and the room on the disk",
        )


def _append(path: str, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def _files(path: str, parallelism: int) -> list[str]:
    """Return the output of each subtask."""
    if parallelism == 1:
        return [path]
    return [os.path.join(path, str(subtask + 1)) for subtask in range(parallelism)]


def _check_free(
    path: str, files: list[str], parallelism: int, mode: WriteMode, operator: str
) -> None:
    taken = [file for file in files if os.path.exists(file)]
    if parallelism > 1 and os.path.isfile(path):
        taken = [path]
    folders = [file for file in taken if os.path.isdir(file)]
    if folders or (taken and mode is WriteMode.NO_OVERWRITE):
        remedy = "" if folders else ", or write with WriteMode.OVERWRITE"
        raise SinkError(
            "the output is there already" if not folders else "the output is a folder",
            where=f"sink {operator!r}",
            got=(folders or taken)[0],
            todo=f"remove it, choose another path{remedy}",
        )
