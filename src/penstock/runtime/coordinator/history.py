"""The last checkpoints of a job, as its dashboard shows them; kept with the job, and bounded.

Every batch that is published is a checkpoint. What it wrote is what all batches since the one
before it wrote.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.report import BatchReport, SubtaskId

_FILE = "checkpoints.json"
_KEPT = 50
#: At least so many milliseconds between two writes of the file.
_PAUSE = 1000


@dataclass(frozen=True)
class CheckpointFacts:
    """One checkpoint."""

    #: Of its last batch.
    number: int
    #: When its first batch began, in epoch milliseconds, and how long all took until its last one
    #: was recorded.
    begin: int
    duration: int
    #: Bytes that the whole state of all slots takes, and bytes that were written for this.
    state_size: int
    bytes_written: int
    #: By operator (uid), one number a subtask: bytes written, and bytes of its whole state.
    written: dict[str, list[int]] = field(default_factory=dict)
    state: dict[str, list[int]] = field(default_factory=dict)
    #: Folder, for one that is a savepoint.
    savepoint: str | None = None


class CheckpointHistory:
    """Gather facts batch by batch.

    :param uids: of operators, by their numbers in the plan.
    """

    def __init__(self, directory: JobDirectory, uids: Mapping[int, str]) -> None:
        self._directory = directory
        self._uids = uids
        data = directory.read(_FILE)
        found = [] if data is None else json.loads(data)
        self._kept = deque((CheckpointFacts(**facts) for facts in found), maxlen=_KEPT)
        #: By task, and by subtask of an operator.
        self._weights: dict[SubtaskId, int] = {}
        self._state: dict[SubtaskId, int] = {}
        self._written: Counter[SubtaskId] = Counter()
        self._began: int | None = None
        self._last = 0
        self._saved = 0

    def entries(self) -> list[CheckpointFacts]:
        """Return what is known, the latest last."""
        return list(self._kept)

    def begin(self, now: int) -> None:
        """Take note that a batch begins."""
        self._began = now if self._began is None else self._began

    def add(self, report: BatchReport, now: int) -> None:
        """Take note of what a batch wrote."""
        for task, counts in report.counts.items():
            if counts.written is None:
                continue
            self._weights[task] = counts.weight
            for uid, size in counts.written.items():
                self._written[uid, task[1]] += size
            for one, weight in zip(counts.operators, counts.state_bytes(), strict=True):
                self._state[self._uids[one.operator], task[1]] = weight
        for task, state in report.level0.items():
            self._weights[task] = self._state[task] = len(state)
            self._written[task] += len(state)
        self._last = now

    def close(self, number: int, savepoint: str | None = None) -> CheckpointFacts | None:
        """End a checkpoint with a batch, and return it; None if no batch has begun since."""
        if self._began is None:
            return None
        facts = CheckpointFacts(
            number,
            self._began,
            max(self._last - self._began, 0),
            sum(self._weights.values()),
            self._written.total(),
            _by_operator(self._written),
            _by_operator(self._state),
            savepoint,
        )
        self._kept.append(facts)
        self._began = None
        self._written.clear()
        if self._last - self._saved >= _PAUSE or savepoint is not None:
            self.save()
        return facts

    def save(self) -> None:
        """Write it down."""
        self._saved = self._last
        document = [asdict(facts) for facts in self._kept]
        self._directory.write(_FILE, json.dumps(document).encode())


def _by_operator(sizes: Mapping[SubtaskId, int]) -> dict[str, list[int]]:
    """Return sizes by subtask; what a task keeps for itself is nobody's."""
    found: dict[str, list[int]] = {}
    for (uid, subtask), size in sizes.items():
        if size and not uid.startswith("\0"):
            row = found.setdefault(uid, [])
            row.extend([0] * (subtask + 1 - len(row)))
            row[subtask] = size
    return found
