"""Files that a DataSet program writes: text and CSV, whole or not at all."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from typing import IO, Any

from penstock.connectors.file_paths import absolute, join, store_of
from penstock.connectors.text_sink import WriteMode, mode_of
from penstock.core.batch.formats import OutputFormat
from penstock.errors import SinkError


class LineOutputFormat(OutputFormat[Any]):
    """Write a line per record to a file, or in parallel to the files `1`, `2` ... of a folder.

    A subtask writes to a hidden file and gives it its name when it is complete: a task that is
    run again, or fails, leaves no half file behind.

    :param encode: turns a record into the text of a line.
    :param mode: a `WriteMode` or its name; None: an error if the output is there already.
    :param delimiter: ends each line.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encode: Callable[[Any], str],
        mode: WriteMode | str | None = None,
        delimiter: str = "\n",
        charset: str = "UTF-8",
    ) -> None:
        self._path = absolute(path)
        self._encode = encode
        self._mode = mode_of(mode)
        self._delimiter = delimiter
        self._charset = charset
        self._file: IO[bytes] | None = None
        self._hidden = self._target = ""

    def initialize_global(self, parallelism: int) -> None:
        store = store_of(self._path)
        if store.exists(self._path):
            if self._mode is WriteMode.NO_OVERWRITE:
                raise SinkError(
                    "the output exists already",
                    where=f"file sink {self._path}",
                    todo="remove it, or pass WriteMode.OVERWRITE",
                )
            self._remove_output(parallelism)
        if parallelism > 1:
            store.make_folder(self._path)

    def _remove_output(self, parallelism: int) -> None:
        store = store_of(self._path)
        if not store.is_folder(self._path):
            store.delete(self._path)
            return
        for file in store.list_files(self._path, recursive=False, hidden=True):
            store.delete(file.path)
        if parallelism == 1:
            store.delete_folder(self._path)

    def open(self, task_number: int, num_tasks: int) -> None:
        name = str(task_number + 1)
        attempt = uuid.uuid4().hex
        if num_tasks == 1:
            self._target = self._path
            folder, _, name = self._path.rpartition("/")
            self._hidden = f"{folder}/.{name}.{attempt}"
        else:
            self._target = join(self._path, name)
            self._hidden = join(self._path, f".{name}.{attempt}")
        self._file = store_of(self._path).open_output(self._hidden)

    def write_record(self, record: Any) -> None:
        assert self._file is not None
        self._file.write((self._encode(record) + self._delimiter).encode(self._charset))

    def try_cleanup_on_error(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            store_of(self._path).delete(self._hidden)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            store_of(self._path).rename(self._hidden, self._target)


class PrintingOutputFormat(OutputFormat[Any]):
    """Print records where the subtask runs, behind `prefix:subtask> ` as Flink does.

    :param to_err: print to standard error.
    """

    def __init__(self, prefix: str = "", to_err: bool = False) -> None:
        self._prefix = prefix
        self._to_err = to_err
        self._start = ""

    def open(self, task_number: int, num_tasks: int) -> None:
        place = str(task_number + 1) if num_tasks > 1 else ""
        label = ":".join(part for part in (self._prefix, place) if part)
        self._start = f"{label}> " if label else ""

    def write_record(self, record: Any) -> None:
        print(f"{self._start}{record}", file=sys.stderr if self._to_err else sys.stdout)
