"""Host the enumerators: call them, and name the source when one of them fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from penstock.connectors.feedback import FeedbackEnumerator
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    SourceProgress,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import PenstockError, SourceError
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import SourceSpec
from penstock.runtime.coordinator.blame import blame
from penstock.runtime.coordinator.offsets import as_json
from penstock.runtime.report import SubtaskId
from penstock.runtime.state.operator_state import WholeOperatorState

_logger = logging.getLogger(__name__)


class HostedSource:
    """One source's enumerator, called by one thread at a time.

    :param wake: called, from any thread, when the source has something new.
    :param fail: called, from any thread, with the error that ends the job.
    """

    def __init__(
        self,
        operator: PlanOperator,
        directory: str,
        *,
        restored: Position | None,
        now: Callable[[], int],
        wake: Callable[[], None],
        fail: Callable[[BaseException], None],
        job_id: str = "",
        job_parameters: Mapping[str, str] | None = None,
        attempt: int = 0,
    ) -> None:
        self._attempt = attempt
        self._job_id = job_id
        self._job_parameters = job_parameters or {}
        self.operator = operator
        self.uid = operator.uid
        self._directory = directory
        self._restored = restored
        self._now = now
        self._wake_coordinator = wake
        self._fail_job = fail
        self._enumerator: SplitEnumerator | None = None
        self._ask_again = True
        self._ask_at: int | None = None
        self._closed = False

    def start(self) -> None:
        """Create the enumerator and let it begin its work."""
        spec = self.operator.spec
        assert isinstance(spec, SourceSpec)
        context = EnumeratorContext(
            uid=self.uid,
            operator=self.operator.name,
            parallelism=self.operator.parallelism,
            directory=self._directory,
            restored=self._restored,
            wake=self._wake,
            fail=self._fail,
            now=self._now,
            job_id=self._job_id,
            max_parallelism=self.operator.max_parallelism,
            job_parameters=self._job_parameters,
            attempt=self._attempt,
            operator_state=WholeOperatorState,
        )
        with self._blamed("be started"):
            self._enumerator = spec.source.create_enumerator(context)
            self._enumerator.start()

    @property
    def receives(self) -> bool:
        """Tell whether records come by themselves, from `begin` on."""
        spec = self.operator.spec
        return isinstance(spec, SourceSpec) and bool(spec.source.receives)

    def begin(self) -> None:
        """Let the enumerator take records in."""
        with self._blamed("be started"):
            self._running().begin()

    def initial(self) -> Position:
        """Return the position in front of the first record."""
        with self._blamed("be started"):
            return self._checked(self._running().initial())

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        """Return how far a batch may read; `start` itself if no further."""
        if not self._ask_again and self._ask_at is not None and self._now() < self._ask_at:
            return start
        # Before asking: a wake-up that comes while the enumerator looks must not be lost.
        self._ask_again = False
        with self._blamed("be read"):
            enumerator = self._running()
            position = enumerator.latest(start, limit)
            self._ask_at = enumerator.next_wakeup()
            if position == start:
                return start
            # The limit may have cut it short: there may be more, whatever next_wakeup says.
            self._ask_again = True
            return self._checked(position)

    def offer(self, payloads: list[bytes], others_ended: bool) -> None:
        """Tell the head of an iteration what came back."""
        enumerator = self._running()
        assert isinstance(enumerator, FeedbackEnumerator)
        enumerator.offer(payloads, others_ended)
        self._ask_again = True

    def next_question(self) -> int | None:
        """Return when the enumerator wants to be asked again, None for no certain time."""
        return self._ask_at

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        """Return the ranges between two positions, one list for each subtask."""
        parallelism = self.operator.parallelism
        if start == end:
            return [[] for _ in range(parallelism)]
        with self._blamed("be planned"):
            ranges = self._running().plan(start, end)
            if len(ranges) != parallelism:
                raise SourceError(
                    "the enumerator planned for a wrong number of subtasks",
                    got=f"{len(ranges)} lists of ranges, parallelism {parallelism}",
                    todo="return one list for each subtask from plan(), empty ones too",
                )
            return ranges

    def committed(self, position: Position) -> None:
        """Tell the enumerator what will not be read again."""
        with self._blamed("take note of what is committed"):
            self._running().committed(position)

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        """Return how far the source is."""
        enumerator = self._enumerator
        return SourceProgress() if enumerator is None else enumerator.progress(initial, at)

    def accumulators(self) -> dict[SubtaskId, dict[str, Any]]:
        """Return the accumulators of functions that run here, by operator and subtask."""
        found = {} if self._enumerator is None else self._enumerator.accumulators()
        return {(self.uid, subtask): held for subtask, held in found.items()}

    def metrics(self) -> dict[str, Any]:
        """Return the readings of the metrics of functions that run here."""
        return {} if self._enumerator is None else self._enumerator.metrics()

    def close(self) -> None:
        """End all activity. May be called again."""
        if self._enumerator is None or self._closed:
            return
        self._closed = True
        try:
            self._enumerator.close()
        except Exception:
            # All its records have been read, or nobody wants them any more.
            _logger.warning("source %r cannot be closed", self.operator.name, exc_info=True)

    def _running(self) -> SplitEnumerator:
        if self._enumerator is None or self._closed:
            raise SourceError("the source is not running: its job has ended")
        return self._enumerator

    def _wake(self) -> None:
        self._ask_again = True
        self._wake_coordinator()

    def _fail(self, error: BaseException) -> None:
        # Being closed makes a receiver fail; that ends nothing that has not ended.
        if not self._closed:
            self._fail_job(self._described(error, "be read"))

    @contextmanager
    def _blamed(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            failure = self._described(error, doing)
            raise failure from failure.__cause__

    def _described(self, error: BaseException, doing: str) -> PenstockError:
        return blame(error, self.operator, role="source", doing=doing, kind=SourceError)

    @staticmethod
    def _checked(position: Position) -> Position:
        try:
            plain = as_json(position)
        except (TypeError, ValueError) as error:
            raise SourceError(
                "the enumerator returned a position that is no JSON",
                got=f"{type(error).__name__}: {error}",
                todo="use plain numbers, strings, lists and dicts in a Position",
            ) from None
        if not isinstance(plain, dict) or "splits" not in plain or "done" not in plain:
            raise SourceError(
                "the enumerator returned something that is no position",
                got=repr(position),
                todo='return {"splits": {...}, "done": bool}',
            )
        return cast("Position", plain)
