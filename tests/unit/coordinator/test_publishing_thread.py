"""Publishing beside the batches: in order, held up only by what is too far behind."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from penstock.core.io import Committable, Committer, CommitterContext
from tests.unit.coordinator.fakes import Engine, SteeredSink, SteeredSource, output, plan_of


class SlowSink(SteeredSink):
    """Publishes a batch when a test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = threading.Semaphore(0)
        self.entered = threading.Event()

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        self.entered.set()
        while not self.allowed.acquire(timeout=0.01):
            if self.contexts[-1].stopping():
                raise TimeoutError("given up")
        super().commit(batch_id, committables)


@pytest.fixture
def source() -> SteeredSource:
    return SteeredSource(a=100)


@pytest.fixture
def sink() -> SlowSink:
    return SlowSink()


@pytest.fixture
def engine(source: SteeredSource, sink: SlowSink, tmp_path: Path) -> Engine:
    options = {"settings": {"penstock.batch.max-records": 1}}
    engine = Engine(plan_of(source, sink=sink), tmp_path, options=options, patient=False)
    engine.work = lambda reads: output(*(str(r.start) for read in reads for r in read.ranges))
    return engine


def published(sink: SteeredSink) -> list[int]:
    return [batch_id for batch_id, _ in sink.published]


def test_the_next_batches_run_while_one_is_published(engine: Engine, sink: SlowSink) -> None:
    for _ in range(3):
        assert engine.batch() is not None
    assert published(sink) == []
    sink.allowed.release(2)
    engine.coordinator.wait_until_published()
    assert published(sink) == [0, 1]


def test_no_batch_begins_while_too_much_waits(engine: Engine, sink: SlowSink) -> None:
    assert engine.batches() == 3  # batches 0 to 2 wait, since the fourth was asked for
    assert engine.batch() is None
    sink.allowed.release(1)
    deadline = time.monotonic() + 30
    while engine.batch() is None:
        assert time.monotonic() < deadline
    assert published(sink) == [0]


def test_a_setting_says_how_much_may_wait(engine: Engine, sink: SlowSink) -> None:
    settings = {"penstock.batch.max-records": 1, "penstock.publish.max-pending-checkpoints": 5}
    engine.restart(settings=settings)
    assert engine.batches() == 6


def test_a_source_learns_what_is_published_from_the_publisher(
    engine: Engine, source: SteeredSource, sink: SlowSink
) -> None:
    source.available["a"] = 1
    engine.batch()
    engine.batch()
    assert source.enumerator.committed_positions == []
    sink.allowed.release(1)
    engine.coordinator.wait_until_published()
    [position] = source.enumerator.committed_positions
    assert position["splits"]["a"]["at"] == 1


def test_a_job_ends_when_its_last_batch_is_published(
    engine: Engine, source: SteeredSource, sink: SlowSink
) -> None:
    source.available["a"] = 1
    source.ended = True
    engine.batch()
    assert engine.batch() is None
    sink.entered.wait(30)
    assert not engine.coordinator.finished.is_set()
    sink.allowed.release(1)
    assert engine.coordinator.finished.wait(30)
    assert published(sink) == [0]


def test_closing_waits_until_all_is_published(engine: Engine, sink: SlowSink) -> None:
    engine.batch()
    engine.batch()
    threading.Timer(0.3, sink.allowed.release, [2]).start()
    engine.coordinator.close(last_committed=1)
    assert published(sink) == [0, 1]


def test_a_cancelled_job_does_not_wait_for_a_server(engine: Engine, sink: SlowSink) -> None:
    engine.batch()
    engine.batch()
    sink.entered.wait(30)
    engine.coordinator.cancel()
    engine.coordinator.close()
    assert published(sink) == []
    assert sink.closed == 1
    engine.committed = 1
    sink.allowed.release(2)
    engine.restart()
    assert published(sink) == [0, 1]


class Catalogue(Committer):
    def __init__(self) -> None:
        self.entries: list[tuple[int, list[int]]] = []
        self.told = 0

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        self.entries.append((batch_id, published(self.sink)))

    def recovered(self) -> None:
        self.told += 1

    sink: SteeredSink


class CataloguedSink(SteeredSink):
    def __init__(self) -> None:
        super().__init__()
        self.catalogue = Catalogue()
        self.catalogue.sink = self

    def create_global_committer(self, context: CommitterContext) -> Committer:
        return self.catalogue


def test_a_global_committer_comes_behind_the_committer(
    source: SteeredSource, tmp_path: Path
) -> None:
    sink = CataloguedSink()
    source.available["a"] = 1
    engine = Engine(plan_of(source, sink=sink), tmp_path, work=lambda reads: output("x"))
    engine.batch()
    engine.batch()
    assert sink.catalogue.entries == [(0, [0])]
    engine.restart()
    assert sink.catalogue.told == 1
