"""A job that goes on from a savepoint: where its sources stand and what its connectors had."""

from __future__ import annotations

import json

from penstock.common.options import CLAIM_MODE
from penstock.connectors.file_paths import join, store_of
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.coordinator.offsets import Offset
from penstock.runtime.coordinator.records import JobState, RecordLog
from penstock.runtime.coordinator.savepoints import dispose, redealt
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.savepoint.format import Savepoint
from penstock.runtime.savepoint.program import (
    describe_program,
    dump_program,
    load_program,
    require_same,
)
from penstock.runtime.savepoint.restore import savepoint_of

#: File with the savepoint that a run began from.
RESUMED_FILE = "resumed.json"
#: File with the operators of the program that the state belongs to.
PROGRAM_FILE = "operators.json"


def check_program(plan: ExecutionPlan, directory: JobDirectory, *, restored: bool) -> None:
    """See that the state which is there is the state of this program, and keep what it is.

    :param restored: there is state.
    :raises StateError: if it belongs to another program.
    """
    program = describe_program(plan)
    recorded = directory.read(PROGRAM_FILE)
    if recorded is not None and restored:
        require_same(load_program(recorded), program, f"job directory {directory.path}")
    directory.write(PROGRAM_FILE, dump_program(program))


def first_batch_of(directory: JobDirectory) -> int:
    """Return the number of the batch that the engine's first one is."""
    recorded = directory.read(RESUMED_FILE)
    return 0 if recorded is None else int(json.loads(recorded)["first_batch"])


class Resumption:
    """What a run takes over from a savepoint, and whether it has done so.

    :param fresh: the engine has not committed a batch of this run.
    """

    def __init__(self, plan: ExecutionPlan, directory: JobDirectory, *, fresh: bool) -> None:
        self._plan = plan
        self._directory = directory
        self.savepoint: Savepoint | None = savepoint_of(plan) if fresh else None
        if self.savepoint is not None:
            self.first_batch = self.savepoint.manifest.batch + 1
            self._lay_out(self.savepoint)
        else:
            self.first_batch = first_batch_of(directory)

    def begin(self) -> Offset | None:
        """Return the offset to begin at; None for no savepoint."""
        if self.savepoint is None:
            return None
        before = {info.uid: info.parallelism for info in self.savepoint.manifest.operators}
        offset: Offset = redealt(self.savepoint.manifest.offset, self._plan, before)
        return offset

    def state(self) -> JobState:
        """Return what the coordinator knows at the beginning."""
        if self.savepoint is None or self.savepoint.manifest.feedback is None:
            return JobState()
        return JobState(feedback=self.savepoint.read(self.savepoint.manifest.feedback))

    def settle(self) -> None:
        """Let go of the savepoint: the job has a checkpoint of its own."""
        if self.savepoint is not None and CLAIM_MODE.read(self._plan.settings) == "CLAIM":
            dispose(self.savepoint.path)
        self.savepoint = None

    def _lay_out(self, savepoint: Savepoint) -> None:
        """Take over what connectors had, unless that has been done before."""
        if RecordLog(self._directory).initial(self.first_batch) is not None:
            return
        facts = {"savepoint": savepoint.path, "first_batch": self.first_batch}
        self._directory.write(RESUMED_FILE, json.dumps(facts).encode())
        for name in savepoint.manifest.files:
            path = join(savepoint.path, name)
            with store_of(path).open_input(path) as file:
                self._directory.write(name, file.read())
