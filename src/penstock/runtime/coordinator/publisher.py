"""Publish recorded output, in order and idempotently by batch, through the sinks' committers.

A thread of its own does it while the next batches run. The records of batches are its queue, which
survives a restart. It may lag behind by some checkpoints; then no further batch begins.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.common.flink_options import CHECKPOINT_FAILURES
from penstock.common.options import IGNORE_UNCLAIMED, PENDING_CHECKPOINTS
from penstock.core.checkpoints import CheckpointTimes
from penstock.core.io import Committable, Committer, CommitterContext
from penstock.errors import PenstockError, SinkError, StateError
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import SinkSpec
from penstock.runtime.coordinator.blame import blame
from penstock.runtime.coordinator.offsets import Offset
from penstock.runtime.coordinator.records import BatchRecord, RecordLog
from penstock.runtime.coordinator.storage import JobDirectory

_logger = logging.getLogger(__name__)

#: Seconds before what could not be published is tried again, at most.
_LONGEST_PAUSE = 10.0


class Publisher:
    """The committers of a job, and the thread that calls them.

    :param interval_ms: publish with checkpoints only, several batches together; None: every batch.
    :param settings: how many checkpoints may wait, and how often in a row one may fail before the
        job does.
    :param stopping: tells whether the job has been told to end.
    :param on_published: called by the publishing thread with the end of each published batch.
    :param on_failure: called by the publishing thread with what a committer raised.
    """

    def __init__(
        self,
        plan: ExecutionPlan,
        directory: JobDirectory,
        log: RecordLog,
        *,
        job_id: str,
        interval_ms: int | None,
        settings: Mapping[str, Any],
        stopping: Callable[[], bool] = lambda: False,
        on_published: Callable[[int, Offset], None] = lambda batch_id, end: None,
        on_failure: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._sinks = {op.uid: op for op in plan.operators if isinstance(op.spec, SinkSpec)}
        self._directory = directory
        self._log = log
        self._job_id = job_id
        self._checkpoints = CheckpointTimes(interval_ms)
        self._max_pending = PENDING_CHECKPOINTS.read(settings)
        self._tolerable = CHECKPOINT_FAILURES.read(settings)
        self._ignore_unclaimed = IGNORE_UNCLAIMED.read(settings)
        self._failures = 0  # in a row
        self._stopping = stopping
        self._on_published = on_published
        self._on_failure = on_failure
        #: Time of the last batch that was asked for, or of the start.
        self._last_time = 0
        self._committers: dict[str, list[Committer]] = {}
        # Guards the wishes and the thread; never held while a committer is called.
        self._wishes = threading.Condition()
        self._wanted: deque[int] = deque()
        self._thread: threading.Thread | None = None
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
                stopping=self._stopping,
            )
            assert isinstance(operator.spec, SinkSpec)
            with _blamed(operator, "be opened"):
                mine = self._committers.setdefault(operator.uid, [])
                mine.append(operator.spec.sink.create_committer(context))
                behind = operator.spec.sink.create_global_committer(context)
                if behind is not None:
                    mine.append(behind)
        self.usable = True

    # ----------------------------------------------------------------- what the coordinator asks

    def is_due(self, now: int) -> bool:
        """Tell whether there has been a checkpoint since something was to be published."""
        return self._checkpoints.passed(self._last_time, now)

    def request(self, up_to: int, at: int | None = None) -> None:
        """Have all batches up to one that the engine has committed published, and return at once.

        :param at: processing time of that batch.
        """
        with self._wishes:
            last = self._wanted[-1] if self._wanted else self.published
            if up_to <= last or not self.usable:
                return
            if at is not None:
                self._last_time = at
            self._wanted.append(up_to)
            if self._thread is None:
                # Not for ever: a job that publishes nothing for a while keeps no thread.
                self._thread = threading.Thread(
                    target=self._work, name="penstock-publisher", daemon=True
                )
                self._thread.start()

    def is_behind(self) -> bool:
        """Tell whether so much waits that no further batch should begin."""
        return len(self._wanted) > self._max_pending

    def wait(self, seconds: float) -> bool:
        """Wait until all that was requested is published or cannot be; tell whether that is so."""
        with self._wishes:
            return self._wishes.wait_for(lambda: self._thread is None, seconds)

    # ------------------------------------------------------------------------------- publishing

    def publish(self, up_to: int) -> None:
        """Publish all recorded batches up to one, in this thread.

        :raises PenstockError: what a committer could not do.
        """
        if up_to <= self.published or not self.usable:
            return
        try:
            for batch_id in self._log.batch_ids():
                if self.published < batch_id <= up_to:
                    record = self._log.read(batch_id)
                    assert record is not None
                    self._publish(record)
        except Exception:
            self.usable = False
            raise
        self.published = up_to
        self._log.prune(up_to)

    def recovered(self) -> None:
        """Tell the committers that all which the engine had logged at a restart is published."""
        for uid, committers in self._committers.items():
            for committer in committers:
                with _blamed(self._sinks[uid], "be opened"):
                    committer.recovered()

    def close(self) -> None:
        """Close the committers. May be called again."""
        self.usable = False
        while self._committers:
            uid, committers = self._committers.popitem()
            for committer in committers:
                try:
                    committer.close()
                except Exception:
                    # What it had to publish it has published; that it fails now loses nothing.
                    name = self._sinks[uid].name
                    _logger.warning("sink %r cannot be closed", name, exc_info=True)

    def _work(self) -> None:
        while True:
            with self._wishes:
                if not self._wanted or not self.usable:
                    self._wanted.clear()
                    self._thread = None
                    self._wishes.notify_all()
                    return
                up_to = self._wanted[0]
            try:
                self.publish(up_to)
            except Exception as error:
                self._failures += 1
                if self._failures > self._tolerable or self._stopping():
                    self._on_failure(error)
                    continue
                _logger.warning("output could not be published, and will be tried again: %s", error)
                self.usable = True
                time.sleep(min(self._failures, _LONGEST_PAUSE))
            else:
                self._failures = 0
                with self._wishes:
                    self._wanted.popleft()

    def _publish(self, record: BatchRecord) -> None:
        any_output = False
        for uid, committables in sorted(record.committables.items()):
            if committables and self._is_known(uid, record.batch_id):
                any_output = True
                self._commit(self._sinks[uid], record.batch_id, committables)
        if any_output:
            # A batch without output leaves no mark: publishing it again does nothing.
            self._log.mark_published(record.batch_id)
        self.published = record.batch_id
        self._on_published(record.batch_id, record.end)

    def _is_known(self, uid: str, batch_id: int) -> bool:
        """Tell whether there is a sink for recorded output.

        :raises StateError: if there is none, and nobody has said that it may be dropped.
        """
        if uid in self._sinks:
            return True
        if not self._ignore_unclaimed:
            raise StateError(
                "the program has no sink for output that has not been published",
                where=f"job directory {self._directory.path}",
                got=f"output of batch {batch_id} for the sink with uid {uid!r}",
                todo="give the sink that the output belongs to that uid, with .uid('...'), or set "
                f"{IGNORE_UNCLAIMED.key}: true to drop it",
            )
        _logger.warning("output of batch %d for the sink with uid %r is dropped", batch_id, uid)
        return False

    def _commit(self, operator: PlanOperator, batch_id: int, output: list[Committable]) -> None:
        with _blamed(operator, f"publish batch {batch_id}"):
            for committer in self._committers[operator.uid]:
                committer.commit(batch_id, output)


@contextmanager
def _blamed(operator: PlanOperator, doing: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        failure: PenstockError = blame(error, operator, role="sink", doing=doing, kind=SinkError)
        raise failure from failure.__cause__
