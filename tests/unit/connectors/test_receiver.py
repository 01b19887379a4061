"""When a receiver's records are written, and what keeps it waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.connectors.receiver import (
    ReceiverLog,
    ReceiverSettings,
    ReceiverSource,
    ReceiverStopped,
)
from penstock.connectors.segments import SegmentLog
from penstock.core.io import EnumeratorContext, SourceBatch, SplitEnumerator, SplitRange
from penstock.errors import SerializationError


class Recorder(SegmentLog):
    """A log that notes when what was written."""

    def __init__(self, directory: Path) -> None:
        super().__init__(str(directory))
        self.flushes: list[tuple[float, int, bytes | None]] = []

    def append(
        self, batch: SourceBatch, *, state: bytes | None = None, ended: bool = False
    ) -> None:
        super().append(batch, state=state, ended=ended)
        self.flushes.append((time.monotonic(), len(batch.values), state))


class Rig:
    def __init__(self, directory: Path, settings: ReceiverSettings) -> None:
        self.log = Recorder(directory)
        self.flushed = threading.Event()
        self.failures: list[BaseException] = []
        self.receiver = ReceiverLog(
            self.log, settings, wake=self.flushed.set, fail=self.failures.append, now=lambda: 7
        )
        self.receiver.start()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, ReceiverSettings(flush_seconds=0.2, max_unread=5000))
    yield rig
    rig.receiver.close()


def wait_for(rig: Rig, entries: int) -> None:
    deadline = time.monotonic() + 5
    while rig.log.end < entries:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_after_a_pause_a_record_is_written_at_once(rig: Rig) -> None:
    began = time.monotonic()
    rig.receiver.append("a")
    assert rig.flushed.wait(1)
    assert rig.log.flushes[0][0] - began < 0.15


def test_records_that_follow_are_written_together(rig: Rig) -> None:
    rig.receiver.append("a")
    wait_for(rig, 1)
    for value in range(50):
        rig.receiver.append(value)
    wait_for(rig, 51)
    (first, _, _), (second, size, _) = rig.log.flushes
    assert size == 50
    assert second - first >= 0.19


def test_many_records_are_not_waited_for(rig: Rig) -> None:
    rig.receiver.append("a")
    wait_for(rig, 1)
    began = time.monotonic()
    rig.receiver.extend(list(range(1000)))
    wait_for(rig, 1001)
    assert time.monotonic() - began < 0.15


def test_a_receiver_waits_until_batches_have_read(rig: Rig) -> None:
    rig.receiver.extend([0] * 5000)
    done = threading.Event()

    def add() -> None:
        rig.receiver.append("one too many")
        done.set()

    threading.Thread(target=add, daemon=True).start()
    assert not done.wait(0.1)
    rig.receiver.note_read(1)
    assert done.wait(1)


def test_what_belongs_to_the_records_is_taken_under_the_lock(rig: Rig) -> None:
    state = b"before"
    rig.receiver.snapshot = lambda: state
    with rig.receiver.lock:
        rig.receiver.append("a")
        time.sleep(0.05)
        state = b"behind"
    wait_for(rig, 1)
    assert rig.log.flushes[0][2] == b"behind"


def test_a_receiver_that_goes_on_is_stopped(rig: Rig) -> None:
    rig.receiver.append("a")
    rig.receiver.stop()
    assert rig.log.end == 1
    with pytest.raises(ReceiverStopped):
        rig.receiver.append("b")
    with pytest.raises(ReceiverStopped):
        rig.receiver.extend(["b"])
    with pytest.raises(ReceiverStopped):
        rig.receiver.mark(1)


def test_one_that_waits_is_stopped_too(rig: Rig) -> None:
    rig.receiver.extend([0] * 5000)
    stopped = threading.Event()

    def add() -> None:
        try:
            rig.receiver.append(1)
        except ReceiverStopped:
            stopped.set()

    threading.Thread(target=add, daemon=True).start()
    assert not stopped.wait(0.05)
    rig.receiver.stop()
    assert stopped.wait(1)


def test_a_flush_that_fails_ends_the_job(rig: Rig) -> None:
    # Only append() looks at each record; extend() is for records that its caller has made.
    rig.receiver.extend([threading.Lock()])
    deadline = time.monotonic() + 2
    while not rig.failures and time.monotonic() < deadline:
        time.sleep(0.001)
    assert isinstance(rig.failures[0], SerializationError)
    with pytest.raises(ReceiverStopped):
        rig.receiver.append("a")


def test_records_are_logged_with_the_time_of_their_arrival(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    for value, at in enumerate((1000, 1020, 1049, 1050, 1300)):
        log.append(SourceBatch([value], time=at))
    log.append(SourceBatch(list(range(5, 2000)), time=1301))
    log.append(SourceBatch([2000], time=1302))
    ranges = [list(place) for place in log.byte_ranges(0, log.end)]
    read = list(Logged().read(SplitRange("0", 0, ranges)))
    # Within 50 ms they have one time, that of the last of them.
    assert [(batch.time, len(batch.values)) for batch in read] == [
        (1049, 3), (1050, 1), (1301, 1996), (1302, 1)
    ]  # fmt: skip
    log.close()


class Logged(ReceiverSource):
    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        raise AssertionError("nobody asks")
