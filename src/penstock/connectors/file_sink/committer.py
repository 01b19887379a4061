"""The half of a file sink that publishes: finished parts get their names, leftovers go.

A finished part is renamed, which readers see all at once or not at all. Which file becomes which
part is noted first, so that a commit that was interrupted is completed and not repeated: a file
that is not there any more has been renamed. A name that another job has taken meanwhile is not
overwritten, the part takes the next free one.

A sink that compacts lets finished parts wait (`compaction.py`), and makes one file of several
before that gets its name.

The committer also knows all segments that the writers' state names (they tell with each batch). At
a restart, once everything that was logged is published, whatever else is there of this sink was
left by attempts that do not count, and is removed; so it is when all input has ended.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_sink.compaction import PREFIX, FinishedPart, Waiting
from penstock.connectors.file_sink.parts import (
    failing,
    inprogress_name,
    is_inprogress_of,
    sync_file,
    sync_folder,
)
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
        self._compactor = settings.compactor
        self._waiting = Waiting(settings.strategy)
        self._parallelism = context.parallelism
        self._owner = owner_of(context.job_id, context.uid)
        self._journal = Journal(context.directory, _JOURNAL)
        noted: dict[str, Any] | None = self._journal.read()
        self._batch = -1
        self._live: set[str] = set()
        self._ended: set[int] = set()
        #: The batch that is being published, what becomes of its files, and which ones go.
        self._begun: tuple[int, list[Move], list[str]] | None = None
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
        self._waiting.load(noted.get("waiting", ()))
        if noted["begun"] is not None:
            batch, moves, *spent = noted["begun"]
            named = [(file, target) for file, target in moves]
            self._begun = batch, named, spent[0] if spent else []

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if batch_id <= self._batch:
            return
        prepared = [(c.subtask, PreparedFiles.load(c.payload)) for c in committables]
        self._ended.update(subtask for subtask, files in prepared if files.ended)
        self._publish(batch_id, prepared)
        for _, files in prepared:
            for path in files.removed:
                with failing(path):
                    self._store.delete(path)
            self._live.difference_update(files.removed, (entry[0] for entry in files.finished))
            self._live.update(files.opened)
        if self._all_ended:
            self._sweep()
        self._batch = batch_id
        self._begun = None
        self._note()

    @property
    def _all_ended(self) -> bool:
        return len(self._ended) == self._parallelism

    def recovered(self) -> None:
        self._sweep()

    # --- finished parts -------------------------------------------------------------------

    def _publish(self, batch_id: int, prepared: list[tuple[int, PreparedFiles]]) -> None:
        again = self._begun is not None and self._begun[0] == batch_id
        if not again:
            parts = [
                FinishedPart(*entry, sub) for sub, files in prepared for entry in files.finished
            ]
            checkpoint = any(files.checkpoint for _, files in prepared)
            self._waiting.add(parts, checkpoint=checkpoint)
            groups = self._waiting.take_due(all_of_them=self._all_ended)
            if not groups:
                return
            self._begun = batch_id, *self._choose_names(groups)
            self._note()
        assert self._begun is not None
        _, moves, spent = self._begun
        for file, target in moves:
            with failing(target):
                if self._store.exists(file):
                    self._store.rename(file, target)
                elif not again:
                    raise _gone(file, target)
        for folder in sorted({target.rpartition("/")[0] for _, target in moves}):
            with failing(folder):
                sync_folder(folder)
        for path in spent:
            with failing(path):
                self._store.delete(path)

    def _choose_names(self, groups: list[list[FinishedPart]]) -> tuple[list[Move], list[str]]:
        """Return which file gets which name, and which files are not needed any more then."""
        moves: list[Move] = []
        spent: list[str] = []
        taken: set[str] = set()
        for parts in groups:
            if self._compactor is not None and self._compactor.merges:
                first = parts[0]
                moves.append((self._compact(parts), self._free_name(first, PREFIX, taken)))
                spent += [part.file for part in parts]
            else:
                moves += [(part.file, self._free_name(part, "", taken)) for part in parts]
        return moves, spent

    def _free_name(self, part: FinishedPart, prefix: str, taken: set[str]) -> str:
        count = part.number
        while True:
            name = prefix + self._config.part_name(part.subtask, count)
            target = join(part.folder, name)
            if target not in taken and not self._exists(target):
                taken.add(target)
                return target
            count += 1

    def _compact(self, parts: list[FinishedPart]) -> str:
        """Make one file of several; whoever is interrupted leaves one that is swept away."""
        assert self._compactor is not None
        name = PREFIX + self._config.part_name(parts[0].subtask, parts[0].number)
        path = join(parts[0].folder, inprogress_name(name, self._owner))
        with ExitStack() as files:
            files.enter_context(failing(path))
            inputs = [files.enter_context(self._store.open_input(part.file)) for part in parts]
            output = files.enter_context(self._store.open_output(path))
            self._compactor.compact(inputs, output)
            sync_file(output)
        return path

    def _exists(self, path: str) -> bool:
        with failing(path):
            return self._store.exists(path)

    # --- leftovers ------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Remove unfinished files of this sink that no state names."""
        with failing(self._base):
            if not self._store.is_folder(self._base):
                return
            live = {_name(path) for path in self._live | self._waiting.files}
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
            "waiting": self._waiting.save(),
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
