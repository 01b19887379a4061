"""Savepoints of a running job: asked for, written with a batch, completed when it is published.

A savepoint is a control record in the offset of a batch. In that batch the slots write their state,
each to a file of its own. When the engine's log holds the batch and its output is published, the
coordinator adds what it knows itself and writes the manifest. A batch that is run again writes
other files; those that no manifest names are removed.
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.file_paths import absolute, join, store_of
from penstock.connectors.journal import NUMBERING_FILE
from penstock.errors import StateError
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.coordinator.records import BatchRecord
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.savepoint.format import (
    Manifest,
    Part,
    Savepoint,
    write_feedback,
    write_manifest,
)
from penstock.runtime.savepoint.program import describe_program
from penstock.runtime.savepoint.snapshot import LooseState, write_parts

#: Part of an offset's control records.
CONTROL = "savepoint"
#: Folders of the job's directory that belong to connectors, which go along.
_CONNECTORS = ("sources", "sinks")


@dataclass
class SavepointRequest:
    """Somebody waits for a savepoint."""

    folder: str
    #: End the job behind it.
    stop: bool = False
    #: Let all sources end first, so that all windows fire.
    drain: bool = False
    done: Future[str] = field(default_factory=Future)

    def control(self) -> dict[str, Any]:
        """Return it as a control record."""
        return {"folder": self.folder, "stop": self.stop}


class Savepoints:
    """The savepoints of one run of a job."""

    def __init__(self, plan: ExecutionPlan, directory: JobDirectory, job_id: str) -> None:
        self._plan = plan
        self._directory = directory
        self._job_id = job_id
        self._lock = threading.Lock()
        self._waiting: list[SavepointRequest] = []
        self._under_way: dict[str, SavepointRequest] = {}
        self._ended = False
        #: Whether the job is to end behind a savepoint that has been begun.
        self.stopping = False

    def request(self, target: str, *, stop: bool = False, drain: bool = False) -> SavepointRequest:
        """Ask for a savepoint in a new folder below `target`.

        :raises StateError: if the job has ended, or is being stopped.
        """
        name = f"savepoint-{self._job_id[:6]}-{uuid.uuid4().hex[:12]}"
        request = SavepointRequest(join(absolute(target), name), stop, drain)
        with self._lock:
            if self._ended or self.stopping:
                raise _too_late()
            self._waiting.append(request)
        return request

    def begin(self) -> SavepointRequest | None:
        """Take the next request up: the batch that is about to be offered will write it."""
        with self._lock:
            if not self._waiting or self.stopping:
                return None
            request = self._waiting.pop(0)
            self._under_way[request.folder] = request
            self.stopping = request.stop
            return request

    @property
    def wanted(self) -> bool:
        """Tell whether a batch should run for a savepoint."""
        return bool(self._waiting) and not self.stopping

    def complete(self, record: BatchRecord, now: int) -> SavepointRequest | None:
        """Write the manifest of a batch's savepoint; the batch is logged and published.

        :returns: who asked for it, if that was in this run.
        """
        folder = record.end["control"][CONTROL]["folder"]
        with self._lock:
            request = self._under_way.pop(folder, None)
        try:
            self._write(record, folder, now)
        except Exception as error:
            failure = error if isinstance(error, StateError) else _failed(folder, repr(error))
            failure.__cause__ = None if failure is error else error
            if request is not None:
                request.done.set_exception(failure)
        else:
            if request is not None:
                request.done.set_result(folder)
        return request

    def end(self, failure: BaseException | None = None) -> None:
        """Refuse what has not been completed: the job has ended, or this attempt at it."""
        with self._lock:
            self._ended = True
            left = [*self._waiting, *self._under_way.values()]
            self._waiting, self._under_way = [], {}
        for request in left:
            request.done.set_exception(_too_late(failure))

    def _write(self, record: BatchRecord, folder: str, now: int) -> None:
        problems = {
            str(task): part for task, part in record.savepoint.items() if isinstance(part, str)
        }
        if problems:
            remove_folder(folder)
            raise _failed(folder, "; ".join(f"{where}: {why}" for where, why in problems.items()))
        parts = [part for found in record.savepoint.values() for part in found]
        infos = {info.uid: info for info in describe_program(self._plan)}
        for (_, subtask), data in sorted(record.state.level0.items()):
            _, state = pickle.loads(data)
            loose = LooseState()
            loose.apply(state)
            parts += write_parts(loose, infos, subtask, folder)
        files = [file for name in _CONNECTORS for file in self._copy(name, folder)]
        manifest = Manifest(
            tuple(infos.values()),
            tuple(p for p in parts if isinstance(p, Part)),
            offset=without_control(record.end),
            files=tuple(files),
            feedback=write_feedback(folder, record.state.feedback),
            job_id=self._job_id,
            job_name=self._plan.job_name,
            batch=record.batch_id,
            created=now,
        )
        _remove_unnamed(folder, manifest)
        write_manifest(folder, manifest)

    def _copy(self, name: str, folder: str) -> Iterable[str]:
        """Take a connector's own files along."""
        for file in self._directory.files_below(name):
            if file.endswith(f"/{NUMBERING_FILE}"):
                continue
            data = self._directory.read(file)
            if data is not None:  # else it has been removed meanwhile: nobody needs it
                path = join(folder, file)
                with store_of(path).open_output(path) as stream:
                    stream.write(data)
                yield file


def without_control(offset: Mapping[str, Any]) -> dict[str, Any]:
    """Return an offset as one to begin at: only that sources have ended stays of its control."""
    control = {k: v for k, v in offset["control"].items() if k == "ended"}
    return {**offset, "control": control}


def _remove_unnamed(folder: str, manifest: Manifest) -> None:
    """Remove what attempts have left that were given up."""
    store = store_of(folder)
    named = {extent.file for part in manifest.parts for extent in part.extents()}
    if manifest.feedback is not None:
        named.add(manifest.feedback.file)
    for status in store.list_files(folder, recursive=False, hidden=True):
        if status.path.rpartition("/")[2] not in named:
            store.delete(status.path)


def remove_folder(folder: str) -> None:
    """Remove a savepoint's folder with all that is in it, the manifest first."""
    store_of(folder).delete(join(folder, "_metadata"))
    store_of(folder).delete_folder(folder)


def dispose(path: str) -> None:
    """Remove a savepoint.

    :raises StateError: if there is none.
    """
    remove_folder(Savepoint.open(path).path)


def _failed(folder: str, why: str) -> StateError:
    return StateError(
        "the savepoint could not be written; the job goes on",
        where=folder,
        got=why,
        todo="see that the folder can be written from all workers, and try again",
    )


def _too_late(failure: BaseException | None = None) -> StateError:
    return StateError(
        "no savepoint can be taken any more: the job has ended, or is being stopped",
        got=None if failure is None else f"{type(failure).__name__}: {failure}",
        todo="take it while the job runs",
    )


def redealt(offset: Mapping[str, Any], plan: ExecutionPlan, before: Mapping[str, int]) -> Any:
    """Return an offset for other sources: gone ones left out, splits dealt out anew.

    :param before: parallelism by uid.
    """
    sources = {}
    for operator in plan.sources():
        position = offset["sources"].get(operator.uid)
        if position is None:
            continue
        if before.get(operator.uid) != operator.parallelism:
            position = {**position, "splits": _dealt(position["splits"], operator.parallelism)}
        sources[operator.uid] = position
    known = {op.uid for op in plan.sources()}
    ended = {u: at for u, at in offset["control"].get("ended", {}).items() if u in known}
    return {**offset, "sources": sources, "control": {"ended": ended} if ended else {}}


def _dealt(splits: Mapping[str, Any], parallelism: int) -> dict[str, Any]:
    live = [name for name, entry in splits.items() if not entry["done"]]
    share = {name: i % parallelism for i, name in enumerate(live)}
    return {name: {**entry, "subtask": share.get(name, 0)} for name, entry in splits.items()}
