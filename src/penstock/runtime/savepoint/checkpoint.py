"""A checkpoint as a savepoint: for a program of another shape, or for another job.

A checkpoint is what the engine keeps of the slots' logs, and the coordinator's record of the last
batch. Neither needs the program that wrote it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.file_paths import join, store_of
from penstock.errors import StateError
from penstock.runtime.coordinator.records import RecordLog
from penstock.runtime.coordinator.resumption import PROGRAM_FILE, first_batch_of
from penstock.runtime.coordinator.savepoints import without_control
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.savepoint.format import (
    Manifest,
    OperatorInfo,
    Part,
    write_feedback,
    write_manifest,
)
from penstock.runtime.savepoint.program import load_program
from penstock.runtime.savepoint.snapshot import LooseState, write_parts
from penstock.runtime.state.log import SlotLog, SlotStore

#: What connectors and the coordinator keep in files.
_FILES = ("sources", "sinks", "records")
_PUBLISHED = "published"


@dataclass(frozen=True)
class Checkpoint:
    """What a job left behind.

    :param directory: the coordinator's.
    :param last_committed: the last batch in the engine's log.
    :param slots: the slots' logs by slot, level after level.
    :param settings: of the job that wants it: they say where state is held while it is read.
    """

    directory: JobDirectory
    last_committed: int
    slots: Iterable[tuple[int, SlotStore]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def program(self) -> tuple[OperatorInfo, ...]:
        """Return the operators that it is of."""
        return recorded_program(self.directory)

    def write_savepoint(self, folder: str, *, with_files: bool) -> None:
        """Write it as a savepoint.

        :param with_files: take along what connectors keep, and what has not been published: for
            another job than this one.
        """
        log = RecordLog(self.directory)
        record = log.require(first_batch_of(self.directory) + self.last_committed)
        infos = {info.uid: info for info in self.program()}
        parts: list[Part] = []
        for slot, store in self.slots:
            loose = LooseState(self.settings)
            SlotLog().catch_up(store, loose)
            parts += write_parts(loose, infos, slot, folder)
            loose.close()
        for (_, subtask), data in sorted(record.state.level0.items()):
            loose = LooseState()
            loose.apply(pickle.loads(data)[1])
            parts += write_parts(loose, infos, subtask, folder)
        files = self._copy(folder) if with_files else ()
        manifest = Manifest(
            tuple(infos.values()),
            tuple(parts),
            offset=without_control(record.end),
            files=tuple(files),
            feedback=write_feedback(folder, record.state.feedback),
            batch=record.batch_id,
        )
        write_manifest(folder, manifest)

    def _copy(self, folder: str) -> list[str]:
        names = [name for part in _FILES for name in self.directory.files_below(part)]
        copied = []
        for name in [*names, _PUBLISHED]:
            data = self.directory.read(name)
            if data is not None:
                path = join(folder, name)
                with store_of(path).open_output(path) as stream:
                    stream.write(data)
                copied.append(name)
        return copied


def recorded_program(directory: JobDirectory) -> tuple[OperatorInfo, ...]:
    """Return the operators of the program that last ran in a directory.

    :raises StateError: if nothing is known of them.
    """
    data = directory.read(PROGRAM_FILE)
    if data is None:
        raise StateError(
            "nothing is known of the program that left this checkpoint",
            where=f"job directory {directory.path}",
            got=f"no file {PROGRAM_FILE}",
            todo="give the folder of a job, or of a savepoint",
        )
    return load_program(data)
