"""INSERT OVERWRITE: rows are written aside, and take the place of the old ones at the end."""

from __future__ import annotations

from typing import Any

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_sink import FileSink
from penstock.connectors.file_sink.parts import failing
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

#: A hidden folder below the table's path.
STAGING = ".overwrite"
_END = b"end"


class OverwriteSink(Sink):
    """Replace a table's files, or those of the partitions that have rows.

    :param inner: writes the files below the hidden folder.
    :param folder: what is replaced in any case: a partition that the statement names, or "" for a
        table without partitions; None: only partitions that have rows.
    """

    def __init__(self, inner: FileSink, path: str, folder: str | None) -> None:
        self._inner = inner
        self._path = path
        self._folder = folder

    def check(self, context: CheckContext) -> None:
        self._inner.check(context)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _EndingWriter(self._inner.create_writer(context))

    def create_committer(self, context: CommitterContext) -> Committer:
        if not context.restored:
            with failing(self._path):
                # An earlier run may have got nowhere.
                store_of(self._path).delete_folder(join(self._path, STAGING))
        inner = self._inner.create_committer(context)
        return _ReplacingCommitter(inner, context, self._path, self._folder)


class _EndingWriter(SinkWriter):
    """Tell the committer when the input has ended."""

    def __init__(self, writer: SinkWriter) -> None:
        self._writer = writer

    def write(self, value: Any, timestamp: int | None) -> None:
        self._writer.write(value, timestamp)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        done = self._writer.prepare_commit(end_of_input)
        return [*done, _END] if end_of_input else done

    def snapshot_state(self) -> Any:
        return self._writer.snapshot_state()

    def next_wakeup(self) -> int | None:
        return self._writer.next_wakeup()

    def wake_up(self, time: int) -> None:
        self._writer.wake_up(time)

    def close(self) -> None:
        self._writer.close()


class _ReplacingCommitter(Committer):
    """Publish aside; when all subtasks have ended, move the files and remove the old ones.

    Which files go where is noted first: an interrupted move is completed, not repeated.
    """

    def __init__(
        self, inner: Committer, context: CommitterContext, path: str, folder: str | None
    ) -> None:
        self._inner = inner
        self._store = store_of(path)
        self._path = path
        self._folder = folder
        self._parallelism = context.parallelism
        self._journal = Journal(context.directory, "overwrite.json")
        noted = self._journal.read() if context.restored else None
        self._ended: set[int] = set(noted["ended"]) if noted else set()
        self._moves: list[list[str]] | None = noted["moves"] if noted else None
        self._removed: bool = noted["removed"] if noted else False

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        self._inner.commit(batch_id, [each for each in committables if each.payload != _END])
        ended = {each.subtask for each in committables if each.payload == _END}
        if ended - self._ended:
            self._ended |= ended
            self._note()
        if len(self._ended) == self._parallelism:
            self._replace()

    def recovered(self) -> None:
        self._inner.recovered()

    def close(self) -> None:
        self._inner.close()

    def _replace(self) -> None:
        staging = join(self._path, STAGING)
        with failing(self._path):
            if self._moves is None:
                self._moves = self._planned(staging)
                self._note()
            if not self._removed:
                # No file has been moved yet: whatever is there is old.
                for folder in self._replaced():
                    self._remove(folder, staging)
                self._removed = True
                self._note()
            for file, target in self._moves:
                if self._store.exists(file):
                    self._store.make_folder(target.rpartition("/")[0])
                    self._store.rename(file, target)
            self._store.delete_folder(staging)

    def _planned(self, staging: str) -> list[list[str]]:
        if not self._store.is_folder(staging):
            return []
        return [
            [file.path, join(self._path, file.path[len(staging) :].strip("/"))]
            for file in self._store.list_files(staging, recursive=True)
        ]

    def _replaced(self) -> list[str]:
        """Return the folders whose files go."""
        if self._folder is not None:
            return [join(self._path, self._folder) if self._folder else self._path]
        return sorted({target.rpartition("/")[0] for _, target in self._moves or ()})

    def _remove(self, folder: str, staging: str) -> None:
        if self._store.is_folder(folder):
            for found in self._store.list_files(folder, recursive=True, hidden=True):
                if not found.path.startswith(f"{staging}/"):
                    self._store.delete(found.path)

    def _note(self) -> None:
        self._journal.write(
            {"ended": sorted(self._ended), "moves": self._moves, "removed": self._removed}
        )
