"""The half of a file sink that publishes: finished parts get their names, leftovers go.

A finished part is renamed, which readers see all at once or not at all. Which file becomes which
part is noted first, so that a commit that was interrupted is completed and not repeated: a file
that is not there any more has been renamed. A name that another job has taken meanwhile is not
overwritten, the part takes the next free one.

The committer also knows all segments that the writers' state names (they tell with each batch). At
a restart, once everything that was logged is published, whatever else is there of this sink was
left by attempts that do not count, and is removed; so it is when all input has ended.
"""

from __future__ import annotations

from typing import Any

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_sink.parts import failing, is_inprogress_of, sync_folder
from penstock.connectors.file_sink.settings import FileSinkSettings, PreparedFiles, owner_of
from penstock.connectors.journal import Journal
from penstock.core.io import Committable, Committer, CommitterContext
from penstock.errors import SinkError

_JOURNAL = "parts.json"
#: File and the path that it is published under.
Move = tuple[str, str]


class FileSinkCommitter(Committer):
    """Publish the parts of all subtasks."""

    def __init__(self, settings: FileSinkSettings, context: CommitterContext) -> None:
        self._base = settings.base_path
        self._store = store_of(self._base)
        self._config = settings.config
        self._parallelism = context.parallelism
        self._owner = owner_of(context.job_id, context.uid)
        self._journal = Journal(context.directory, _JOURNAL)
        noted: dict[str, Any] | None = self._journal.read()
        self._batch = -1
        self._live: set[str] = set()
        self._ended: set[int] = set()
        #: The batch that is being published, and what becomes of its files.
        self._begun: tuple[int, list[Move]] | None = None
        if noted is not None and context.restored:
            self._load(noted)
        else:
            with failing(self._base):
                self._store.make_folder(self._base)
            if noted is not None:
                self._sweep()  # an earlier run of this job got nowhere
            self._note()

    def _load(self, noted: dict[str, Any]) -> None:
        self._batch = noted["batch"]
        self._live = set(noted["live"])
        self._ended = set(noted["ended"])
        if noted["begun"] is not None:
            batch, moves = noted["begun"]
            self._begun = batch, [(file, target) for file, target in moves]

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if batch_id <= self._batch:
            return
        prepared = [(c.subtask, PreparedFiles.load(c.payload)) for c in committables]
        self._publish(batch_id, prepared)
        for subtask, files in prepared:
            for path in files.removed:
                with failing(path):
                    self._store.delete(path)
            self._live.difference_update(files.removed, (entry[0] for entry in files.finished))
            self._live.update(files.opened)
            if files.ended:
                self._ended.add(subtask)
        if len(self._ended) == self._parallelism:
            self._sweep()
        self._batch = batch_id
        self._begun = None
        self._note()

    def recovered(self) -> None:
        self._sweep()

    # --- finished parts -------------------------------------------------------------------

    def _publish(self, batch_id: int, prepared: list[tuple[int, PreparedFiles]]) -> None:
        again = self._begun is not None and self._begun[0] == batch_id
        if not again:
            moves = self._choose_names(prepared)
            if not moves:
                return
            self._begun = batch_id, moves
            self._note()
        assert self._begun is not None
        for file, target in self._begun[1]:
            with failing(target):
                if self._store.exists(file):
                    self._store.rename(file, target)
                elif not again:
                    raise _gone(file, target)
        for folder in sorted({target.rpartition("/")[0] for _, target in self._begun[1]}):
            with failing(folder):
                sync_folder(folder)

    def _choose_names(self, prepared: list[tuple[int, PreparedFiles]]) -> list[Move]:
        moves: list[Move] = []
        taken: set[str] = set()
        for subtask, files in prepared:
            for file, _, folder, count in files.finished:
                target = join(folder, self._config.part_name(subtask, count))
                while target in taken or self._exists(target):
                    count += 1
                    target = join(folder, self._config.part_name(subtask, count))
                taken.add(target)
                moves.append((file, target))
        return moves

    def _exists(self, path: str) -> bool:
        with failing(path):
            return self._store.exists(path)

    # --- leftovers ------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Remove unfinished files of this sink that no state names."""
        with failing(self._base):
            if not self._store.is_folder(self._base):
                return
            live = {_name(path) for path in self._live}
            for found in self._store.list_files(self._base, recursive=True, hidden=True):
                name = _name(found.path)
                if name not in live and is_inprogress_of(name, self._owner):
                    self._store.delete(found.path)

    def _note(self) -> None:
        document = {
            "batch": self._batch,
            "live": sorted(self._live),
            "ended": sorted(self._ended),
            "begun": self._begun,
        }
        with failing(self._journal.path):
            self._journal.write(document)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _gone(file: str, target: str) -> SinkError:
    return SinkError(
        "a part that is to be published is not there any more",
        got=f"{file}, to become {target}",
        todo="leave the output alone while its job is running or can be resumed",
    )
