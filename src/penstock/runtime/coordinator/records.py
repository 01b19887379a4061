"""Records of batches: what a batch produced and where it left the job, one file a batch.

A record is written when the engine commits a batch and replaced if the batch is run again. It
holds the complete state of the coordinator, so that a restart needs the last logged one alone.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, field
from typing import Any

from penstock.core.io import Committable
from penstock.errors import JobFailedError
from penstock.runtime import codec
from penstock.runtime.coordinator.offsets import Offset
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.report import BatchReport, SubtaskId
from penstock.runtime.savepoint.format import Part

_FOLDER = "records"
_SUFFIX = ".rec"
_INITIAL = "initial-{}.json"
_PUBLISHED = "published"
#: The engine's log holds the last recorded batch, or still the one before it.
_KEPT = 2


@dataclass(frozen=True)
class JobState:
    """What the coordinator knows of the tasks after a batch. Never changed in place."""

    #: State of the level-0 tasks by the source's uid and subtask, as they wrote it.
    level0: dict[SubtaskId, bytes] = field(default_factory=dict)
    #: Next processing-time timer by task.
    timers: dict[SubtaskId, int] = field(default_factory=dict)
    #: Accumulators by operator, subtask and name.
    accumulators: dict[SubtaskId, dict[str, Any]] = field(default_factory=dict)
    #: Metrics by operator, subtask and full name: kind and reading.
    metrics: dict[SubtaskId, dict[str, tuple[str, Any]]] = field(default_factory=dict)
    #: What the last batch sent back, by the uid of the iteration's head.
    feedback: dict[str, list[bytes]] = field(default_factory=dict)
    #: How far the subtasks of aligned sources are.
    alignment: dict[SubtaskId, int] = field(default_factory=dict)

    def after(self, report: BatchReport) -> JobState:
        """Return the state after a batch that changed what `report` says."""
        timers: dict[SubtaskId, int | None] = {**self.timers, **report.timers}
        return JobState(
            {**self.level0, **report.level0},
            {sender: time for sender, time in timers.items() if time is not None},
            {**self.accumulators, **report.accumulators},
            {**self.metrics, **report.metrics},
            report.feedback,
            {**self.alignment, **report.alignment},
        )


@dataclass(frozen=True)
class BatchRecord:
    """One batch: its end, its output by the uid of the sink, and the state after it."""

    batch_id: int
    end: Offset
    committables: dict[str, list[Committable]]
    state: JobState
    #: By task, what it wrote to the savepoint that the batch was to take; or why it could not.
    savepoint: dict[SubtaskId, list[Part] | str] = field(default_factory=dict)


class RecordLog:
    """The records of a job in its directory.

    The last ones stay in memory too: every batch reads the one before it.
    """

    def __init__(self, directory: JobDirectory) -> None:
        self._directory = directory
        self._recent: dict[int, BatchRecord] = {}
        directory.folder(_FOLDER)
        #: The last batch whose output is known to be published, -1 if none is.
        self.published = int(directory.read(_PUBLISHED) or -1)

    def initial(self, first_batch: int = 0) -> Offset | None:
        """Return the offset that the job began at with a batch, None if it has not."""
        data = self._directory.read(_INITIAL.format(first_batch))
        return None if data is None else json.loads(data)

    def write_initial(self, offset: Offset, first_batch: int = 0) -> None:
        """Keep the offset that the job begins at.

        The engine asks for it again if the first batch has to be repeated, and a source that
        begins "at the latest record" would by then name a later one.
        """
        self._directory.write(_INITIAL.format(first_batch), json.dumps(offset).encode())

    def write(self, record: BatchRecord) -> None:
        """Keep a record, in place of an earlier one of the same batch."""
        self._directory.write(_name(record.batch_id), codec.dumps(record))
        self._recent[record.batch_id] = record
        for batch_id in [b for b in self._recent if b <= record.batch_id - _KEPT]:
            del self._recent[batch_id]

    def read(self, batch_id: int) -> BatchRecord | None:
        """Return the record of a batch, None if there is none."""
        record = self._recent.get(batch_id)
        if record is None:
            data = self._directory.read(_name(batch_id))
            record = None if data is None else _decode(batch_id, data)
        return record

    def require(self, batch_id: int) -> BatchRecord:
        """Return the record of a batch that the engine has committed, and keep it at hand.

        :raises JobFailedError: if it is gone.
        """
        record = self.read(batch_id)
        if record is None:
            raise JobFailedError(
                f"the record of batch {batch_id} is missing, so the job cannot go on",
                where=f"job directory {self._directory.path}",
                todo="restore the whole job directory, or start the job anew in an empty one",
            )
        self._recent[batch_id] = record
        return record

    def require_behind(self, logged: int) -> None:
        """See that nothing is published which the engine does not know of.

        :raises JobFailedError: if something is.
        """
        if self.published > logged:
            raise JobFailedError(
                "the job's output is further than the engine's log, so the job cannot go on",
                where=f"job directory {self._directory.path}",
                got=f"batch {self.published} published, batch {logged} logged",
                todo="restore the whole job directory, or start the job anew in an empty one",
            )

    def ending_at(self, offset: Offset) -> BatchRecord | None:
        """Return the latest of the records at hand that ends at an offset."""
        matching = (r for b, r in sorted(self._recent.items(), reverse=True) if r.end == offset)
        return next(matching, None)

    def latest(self) -> BatchRecord | None:
        """Return the record of the last batch that is at hand."""
        return self._recent[max(self._recent)] if self._recent else None

    def batch_ids(self) -> list[int]:
        """Return the batches that have a record, in order."""
        names = self._directory.names(_FOLDER)
        return sorted(int(name.removesuffix(_SUFFIX)) for name in names)

    def mark_published(self, batch_id: int) -> None:
        """Note that the output of all batches up to this one is published."""
        self.published = batch_id
        self._directory.write(_PUBLISHED, str(batch_id).encode())

    def drop_after(self, batch_id: int) -> None:
        """Remove the records of batches that the engine has not committed."""
        for later in [b for b in self.batch_ids() if b > batch_id]:
            self._directory.remove(_name(later))
            self._recent.pop(later, None)

    def prune(self, published: int) -> None:
        """Remove what no restart can need: published and older than the last two batches."""
        recorded = self.batch_ids()
        for batch_id in recorded[:-_KEPT]:
            if batch_id <= published:
                self._directory.remove(_name(batch_id))


def _name(batch_id: int) -> str:
    return f"{_FOLDER}/{batch_id}{_SUFFIX}"


def _decode(batch_id: int, data: bytes) -> BatchRecord:
    try:
        record: BatchRecord = pickle.loads(data)
    except Exception as error:
        raise JobFailedError(
            f"the record of batch {batch_id} cannot be read",
            got=f"{type(error).__name__}: {error}",
            todo="keep the classes of accumulators where they were when the job was stopped, "
            "or start the job anew in an empty directory",
        ) from error
    return record
