"""A file sink with its two halves, driven batch by batch as a job does it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle

from penstock.connectors.file_sink import FileSinkBuilder
from penstock.core.checkpoints import CheckpointTimes
from penstock.core.io import Committable, CommitterContext, SinkWriter, WriterContext


class At(NamedTuple):
    """A record with a timestamp."""

    value: Any
    timestamp: int


class SinkDriver:
    """One subtask of a sink. Each batch is written by a worker that is named."""

    def __init__(
        self,
        builder: FileSinkBuilder[Any],
        journal: Path,
        *,
        interval: int | None = None,
        batch_mode: bool = False,
        now: int = 0,
        job_id: str = "job",
    ) -> None:
        self.sink = builder.build()
        self.now = now
        self.state: bytes | None = None
        self.batch_id = 0
        #: Committables of batches that have not been published yet.
        self.recorded: list[tuple[int, list[Committable]]] = []
        self._checkpoints = CheckpointTimes(interval, batch_mode)
        self._journal = journal
        self._job_id = job_id
        self._workers: dict[str, tuple[bytes | None, SinkWriter]] = {}
        self.restart(restored=False)

    def restart(self, *, restored: bool = True) -> None:
        """Let everything die but what is durable."""
        self._workers.clear()
        self._journal.mkdir(exist_ok=True)
        context = CommitterContext("uid", "sink", 1, str(self._journal), restored, self._job_id)
        self.committer = self.sink.create_committer(context)
        if restored:
            self.publish()
            self.committer.recovered()

    def writer(self, worker: str = "a") -> SinkWriter:
        """Return the writer that a worker has at hand, or one made from the state."""
        known = self._workers.pop(worker, None)
        if known is not None and known[0] == self.state:
            return known[1]
        if known is not None:
            known[1].close()
        shipped = cloudpickle.loads(cloudpickle.dumps(self.sink))
        restored = None if self.state is None else pickle.loads(self.state)
        context = WriterContext(
            0, 1, lambda: self.now, restored, checkpoints=self._checkpoints,
            uid="uid", job_id=self._job_id,
        )  # fmt: skip
        return shipped.create_writer(context)

    def attempt(
        self, values: Iterable[Any] = (), worker: str = "a", *, end: bool = False
    ) -> tuple[SinkWriter, list[Committable], bytes]:
        """Run a batch without committing it."""
        writer = self.writer(worker)
        wanted = writer.next_wakeup()
        if wanted is not None and wanted <= self.now:
            writer.wake_up(self.now)
        for value in values:
            writer.write(*(value if isinstance(value, At) else (value, None)))
        output = [Committable(0, payload) for payload in writer.prepare_commit(end)]
        return writer, output, pickle.dumps(writer.snapshot_state())

    def batch(
        self,
        values: Iterable[Any] = (),
        worker: str = "a",
        *,
        end: bool = False,
        publish: bool = True,
    ) -> None:
        """Run a batch and commit it."""
        writer, output, self.state = self.attempt(values, worker, end=end)
        self._workers[worker] = self.state, writer
        self.recorded.append((self.batch_id, output))
        self.batch_id += 1
        if publish:
            self.publish()

    def publish(self) -> None:
        """Publish what is recorded."""
        for batch_id, output in self.recorded:
            if output:
                self.committer.commit(batch_id, output)
        self.recorded.clear()

    def idle_until(self, time: int) -> None:
        """Let time pass, with a batch whenever the writer asked for one."""
        while (wanted := self.next_wakeup()) is not None and wanted <= time:
            assert wanted > self.now or self.now == 0, "a writer must not ask twice for one time"
            self.now = wanted
            self.batch()
        self.now = time

    def next_wakeup(self) -> int | None:
        """Return when the sink wants a batch, as its state tells."""
        return self.writer("nobody").next_wakeup()


def finished(base: Path) -> dict[str, str]:
    """Return the finished parts and their content, by path below the base."""
    found = sorted(path for path in base.rglob("*") if path.is_file())
    shown = [path for path in found if not path.name.startswith(".")]
    return {str(path.relative_to(base)): path.read_bytes().decode() for path in shown}


def unfinished(base: Path) -> list[str]:
    """Return the names of hidden files, without what makes each unique."""
    names = sorted(path.name for path in base.rglob(".*") if path.is_file())
    return [name.rpartition(".")[0] for name in names]
