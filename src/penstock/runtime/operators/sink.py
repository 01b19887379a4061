"""Sinks: writers of the `Sink` contract, and the user's own sink functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from penstock.common.flink_options import CHECKPOINT_PAUSE
from penstock.common.options import CHECKPOINT_INTERVAL
from penstock.connectors.file_paths import store_of
from penstock.core.checkpoints import CheckpointTimes
from penstock.core.functions import SinkFunction
from penstock.core.io import SinkWriter, WriterContext
from penstock.runtime.codec import dumps, loads
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.operators.base import Operator


class SinkOperator(Operator):
    """Feed a sink's writer, and collect what it prepares for publishing at the end of a batch."""

    is_end = True
    _writer: SinkWriter
    _writer_state: bytes | None = None
    _published = 0

    def open(self) -> None:
        """Make the writer."""
        for function in self.spec.sink.functions:
            self.host(function)
        super().open()
        self._start_writer(None)

    def _start_writer(self, restored: Any) -> None:
        scope = self.scope
        context = WriterContext(
            self.subtask,
            self.plan.parallelism,
            lambda: scope.time,
            restored,
            watermark=lambda: self.watermark,
            checkpoints=CheckpointTimes.of(
                self.context.setting(CHECKPOINT_INTERVAL),
                self.context.setting(CHECKPOINT_PAUSE),
                batch_mode=self.batch_mode,
            ),
            uid=self.plan.uid,
            job_id=self.context.get_job_id(),
            directory=self._shared_folder(),
            runtime=self.context,
        )
        self._writer = self.spec.sink.create_writer(context)

    def _shared_folder(self) -> str | None:
        job = self.context.job_folder
        if job is None or not store_of(job).is_folder(job):
            return None
        return JobDirectory(job).folder("sinks", self.plan.uid)

    def process(self, value: Any) -> None:
        """Take one record."""
        self._writer.write(value, self.scope.timestamp)

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records."""
        if self._writer.write_all is not None:
            self._writer.write_all(values)
            return
        write, scope = self._writer.write, self.scope
        for value in values:
            write(value, scope.timestamp)

    def fire_processing_timers(self, time: int) -> None:
        """Wake the writer if it wanted that."""
        wanted = None if self.finished else self._writer.next_wakeup()
        if wanted is not None and wanted <= time:
            self._writer.wake_up(time)

    def next_processing_time(self) -> int | None:
        """Return when the writer wants a batch even if there is no data."""
        return None if self.finished else self._writer.next_wakeup()

    def take_committables(self) -> list[bytes]:
        """Return what must be published for this batch."""
        committables = self._writer.prepare_commit(self.finished)
        self._published += sum(map(len, committables))
        return committables

    def take_published(self) -> int:
        """Return how many bytes have gone to be published since the last call."""
        published, self._published = self._published, 0
        return published

    def close(self) -> None:
        """Close the writer."""
        super().close()
        self._writer.close()

    def snapshot(self) -> dict[str, Any]:
        """Return what the next batch must know."""
        state = super().snapshot()
        saved = self._writer.snapshot_state()
        self._writer_state = None if saved is None else dumps(saved)
        if self._writer_state is not None:
            state["writer"] = self._writer_state
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Undo `snapshot`."""
        super().restore(state)
        saved = state.get("writer")
        if saved != self._writer_state:  # also if another worker's writer left nothing behind
            self._writer_state = saved
            self._writer.close()
            self._start_writer(None if saved is None else loads(saved))


class _SinkContext(SinkFunction.Context):
    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.scope.time

    def current_watermark(self) -> int:
        return self._operator.watermark

    def timestamp(self) -> int | None:
        return self._operator.scope.timestamp


class SinkFunctionOperator(Operator):
    """Call the user's sink function for every record."""

    is_end = True

    def open(self) -> None:
        """Open the user's function."""
        function = self.host(self.spec.function)
        super().open()
        invoke = function.invoke
        context = _SinkContext(self)
        try:
            takes_context = len(inspect.signature(invoke).parameters) > 1
        except (TypeError, ValueError):
            takes_context = True
        self._invoke = invoke
        self._arguments: tuple[Any, ...] = (context,) if takes_context else ()

    def process(self, value: Any) -> None:
        """Take one record."""
        self._invoke(value, *self._arguments)
