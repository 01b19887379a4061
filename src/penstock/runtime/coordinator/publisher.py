"""Publish recorded output, in order and idempotently by batch, through the sinks' committers."""

from __future__ import annotations

import logging

from penstock.core.checkpoints import CheckpointTimes
from penstock.core.io import Committable, Committer, CommitterContext
from penstock.errors import PenstockError, SinkError
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import SinkSpec
from penstock.runtime.coordinator.blame import blame
from penstock.runtime.coordinator.records import BatchRecord, RecordLog
from penstock.runtime.coordinator.storage import JobDirectory

_logger = logging.getLogger(__name__)


class Publisher:
    """The committers of a job.

    :param interval_ms: publish with checkpoints only, several batches together; None: every batch.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        directory: JobDirectory,
        log: RecordLog,
        *,
        job_id: str,
        interval_ms: int | None,
    ) -> None:
        self._sinks = {op.id: op for op in plan.operators if isinstance(op.spec, SinkSpec)}
        self._directory = directory
        self._log = log
        self._job_id = job_id
        self._checkpoints = CheckpointTimes(interval_ms)
        #: Time of the last batch that was published, or of the start.
        self._last_time = 0
        self._committers: dict[int, Committer] = {}
        #: The last batch that has been published.
        self.published = log.published
        #: False before the committers are there, and after one has failed: what is recorded
        #: then waits for a restart.
        self.usable = False

    def start(self, *, restored: bool, now: int) -> None:
        """Create the committers."""
        self._last_time = now
        for operator in self._sinks.values():
            context = CommitterContext(
                uid=operator.uid,
                operator=operator.name,
                parallelism=operator.parallelism,
                directory=self._directory.folder("sinks", operator.uid),
                restored=restored,
                job_id=self._job_id,
            )
            assert isinstance(operator.spec, SinkSpec)
            try:
                self._committers[operator.id] = operator.spec.sink.create_committer(context)
            except Exception as error:
                failure = _blamed(error, operator, "be opened")
                raise failure from failure.__cause__
        self.usable = True

    def is_due(self, now: int) -> bool:
        """Tell whether there has been a checkpoint since something was published."""
        return self._checkpoints.passed(self._last_time, now)

    def publish(self, up_to: int) -> bool:
        """Publish all recorded batches up to one that the engine has committed.

        :returns: whether there was a batch that had not been published.
        """
        if up_to <= self.published or not self.usable:
            return False
        for batch_id in self._log.batch_ids():
            if self.published < batch_id <= up_to:
                record = self._log.read(batch_id)
                assert record is not None
                self._publish(record)
        self.published = up_to
        self._log.prune(up_to)
        return True

    def _publish(self, record: BatchRecord) -> None:
        any_output = False
        for operator_id, committables in sorted(record.committables.items()):
            if committables:
                any_output = True
                self._commit(self._sinks[operator_id], record.batch_id, committables)
        if any_output:
            # A batch without output leaves no mark: publishing it again does nothing.
            self._log.mark_published(record.batch_id)
        self.published = record.batch_id
        self._last_time = record.end["time"]

    def recovered(self) -> None:
        """Tell the committers that all which the engine had logged at a restart is published."""
        for operator_id, committer in self._committers.items():
            try:
                committer.recovered()
            except Exception as error:
                failure = _blamed(error, self._sinks[operator_id], "be opened")
                raise failure from failure.__cause__

    def _commit(self, operator: PlanOperator, batch_id: int, output: list[Committable]) -> None:
        try:
            self._committers[operator.id].commit(batch_id, output)
        except Exception as error:
            self.usable = False
            failure = _blamed(error, operator, f"publish batch {batch_id}")
            raise failure from failure.__cause__

    def close(self) -> None:
        """Close the committers. May be called again."""
        while self._committers:
            operator_id, committer = self._committers.popitem()
            try:
                committer.close()
            except Exception:
                # What it had to publish it has published; that it fails now loses nothing.
                name = self._sinks[operator_id].name
                _logger.warning("sink %r cannot be closed", name, exc_info=True)


def _blamed(error: Exception, operator: PlanOperator, doing: str) -> PenstockError:
    return blame(error, operator, role="sink", doing=doing, kind=SinkError)
