"""Drive a source as the coordinator does: latest, plan, read; positions pass through JSON."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    EnumeratorContext,
    Position,
    ReadLimit,
    Sink,
    Source,
    SourceBatch,
    SplitEnumerator,
    WriterContext,
)
from penstock.runtime.state.operator_state import WholeOperatorState

UNLIMITED = ReadLimit(1 << 40, 1 << 40)


class SourceDriver:
    """One run of a source. A second one on the same directory is the run after a restart."""

    def __init__(
        self,
        source: Source,
        directory: Path,
        *,
        parallelism: int = 1,
        restored: Position | None = None,
        clock: Callable[[], int] = lambda: 0,
    ) -> None:
        self.source = source
        #: As a worker has it.
        self.shipped: Source = cloudpickle.loads(cloudpickle.dumps(source))
        self.parallelism = parallelism
        self.failure: BaseException | None = None
        self.failed = threading.Event()
        self.news = threading.Event()
        context = EnumeratorContext(
            uid="source-1",
            operator="numbers",
            parallelism=parallelism,
            directory=str(directory),
            restored=restored,
            wake=self.news.set,
            fail=self._fail,
            now=clock,
            job_id="job-1",
            job_parameters={"city": "Delft"},
            operator_state=WholeOperatorState,
        )
        self.enumerator: SplitEnumerator = source.create_enumerator(context)
        self.enumerator.start()
        self.enumerator.begin()
        self.position = restored if restored is not None else as_json(self.enumerator.initial())
        #: What each batch so far read, by subtask.
        self.batches: list[list[list[SourceBatch]]] = []

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        self.failed.set()
        self.news.set()

    def batch(self, limit: ReadLimit = UNLIMITED) -> bool:
        """Run one batch if there is something to read; tell whether there was."""
        start = self.position
        end = as_json(self.enumerator.latest(start, limit))
        if end == start:
            return False
        self.batches.append(self.read(start, end))
        self.position = end
        return True

    def read(self, start: Position, end: Position) -> list[list[SourceBatch]]:
        planned = self.enumerator.plan(start, end)
        assert len(planned) == self.parallelism
        assert planned == self.enumerator.plan(start, end)
        return [
            [batch for split_range in ranges for batch in self.shipped.read(split_range)]
            for ranges in planned
        ]

    def run(self, limit: ReadLimit = UNLIMITED, *, until: Callable[[], bool] | None = None) -> None:
        """Run batches until the source has ended, or until a condition holds."""
        deadline = time.monotonic() + 10
        while not self.position["done"] and not (until and until()):
            if self.failure is not None:
                raise self.failure
            assert time.monotonic() < deadline, f"no end; read {self.values()[:100]}"
            self.news.clear()
            if not self.batch(limit):
                self.news.wait(0.01)

    def values(self, subtask: int | None = None) -> list[Any]:
        return [
            value
            for tasks in self.batches
            for number, batches in enumerate(tasks)
            for batch in batches
            for value in batch.values
            if subtask in (None, number)
        ]

    def commit(self) -> None:
        self.enumerator.committed(self.position)

    def close(self) -> None:
        self.enumerator.close()


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def committer_of(
    sink: Sink, directory: Path, *, parallelism: int = 1, restored: bool = False
) -> Committer:
    directory.mkdir(exist_ok=True)
    return sink.create_committer(
        CommitterContext("sink-1", "out", parallelism, str(directory), restored, "job-1")
    )


def written(sink: Sink, values: list[Any], *, subtask: int = 0, parallelism: int = 1) -> Any:
    """Return what a writer in a worker makes of the values of one batch."""
    shipped: Sink = cloudpickle.loads(cloudpickle.dumps(sink))
    writer = shipped.create_writer(WriterContext(subtask, parallelism, lambda: 0))
    for value in values:
        writer.write(value, None)
    payloads = writer.prepare_commit(False)
    assert writer.prepare_commit(True) == []
    writer.close()
    return [Committable(subtask, payload) for payload in payloads]
