"""Receivers: for sources that cannot be read a second time.

What a receiver takes in is written to a log in the job's folder before a batch may see it. Batches
read the log, as often as they must; a process that starts again goes on at the log's end.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.connectors.file_paths import join as join_path
from penstock.connectors.positions import (
    by_subtask,
    make_position,
    records_between,
    split_entry,
    subtask_of,
)
from penstock.connectors.segments import ByteRange, SegmentLog, count_entries, join, read_range
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    Source,
    SourceBatch,
    SourceProgress,
    SplitEnumerator,
    SplitRange,
)
from penstock.core.pickling import detached

_log = logging.getLogger(__name__)

_CHUNK = 1024
#: Records that arrived within so many milliseconds have one processing time: each one costs an
#: envelope for every slot.
_TIME_STEP = 50
#: How long a job that ends waits for a function that holds on to the lock.
_LOCK_SECONDS = 1.0


@dataclass(frozen=True)
class ReceiverSettings:
    """How a receiver's records are written.

    The first record after a pause is written at once; while more follow, they are written after
    `flush_seconds`, or when there are `flush_records` of them.
    """

    flush_seconds: float = 0.02
    flush_records: int = 1000
    #: Make the receiver wait while so many records have been taken in but not been read.
    max_unread: int = 100_000
    #: How long a job that ends waits for a receiver to return.
    patience_seconds: float = 3.0


class ReceiverStopped(BaseException):
    """Raised in a receiver's thread that goes on after the job has ended.

    No `Exception`, so that a loop which catches those ends too.
    """


class Receiver(ABC):
    """Take records from somewhere. Runs in a thread of its own in the user's process."""

    #: True if a run after a failure gives the records behind the last flush again.
    repeats: bool = False

    @abstractmethod
    def run(self) -> None:
        """Take records until there are no more; the source ends when this returns."""

    def cancel(self) -> None:  # noqa: B027 - optional hook
        """Make `run` return soon. Called from another thread, when no record is wanted any more."""

    def snapshot(self) -> bytes | None:
        """Return what `run` would need after a restart, as of the last record.

        Called under the log's lock with each flush; None: nothing new.
        """
        return None


class CheckpointLock:
    """Keep the flush out while records and what belongs to them change together.

    Taking it waits until there is room for more records.
    """

    def __init__(self, wait_for_room: Callable[[], None]) -> None:
        self._wait_for_room = wait_for_room
        self.lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> CheckpointLock:
        # Not while holding it: room comes only after a flush, and the flush needs the lock.
        me = threading.get_ident()
        if self._owner != me:
            self._wait_for_room()
        self.lock.acquire()
        self._owner = me
        self._depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
        self.lock.release()


class ReceiverLog:
    """Take what a receiver has, and flush it to the log after the settings' policy.

    :param wake: called after each flush.
    :param fail: called with the error if a flush fails.
    :param now: gives the processing time, which is logged with each flush.
    """

    def __init__(
        self,
        log: SegmentLog,
        settings: ReceiverSettings,
        *,
        wake: Callable[[], None],
        fail: Callable[[BaseException], None],
        now: Callable[[], int],
    ) -> None:
        self.log = log
        self._now = now
        self.lock = CheckpointLock(self._wait_for_room)
        #: Set by whoever knows what belongs to the records.
        self.snapshot: Callable[[], bytes | None] = lambda: None
        self._settings = settings
        self._wake = wake
        self._fail = fail
        self._buffer = SourceBatch([], [], [])
        self._has_times = False
        self._idle = False
        self._stopped = False
        # Numbers of entries: read by batches, written to the log, taken from the receiver.
        self._read = self._flushed = self._taken = log.end
        self._room = threading.Condition()
        self._pending = threading.Event()
        self._full = threading.Event()
        self._last_flush = 0.0
        self._flush_cost = 0.0
        self._thread = threading.Thread(target=self._flush_on_time, name="flush", daemon=True)

    # --------------------------------------------------------------------- the receiver's calls

    def append(self, value: Any, timestamp: int | None = None) -> None:
        """Take a record."""
        value = detached(value)
        with self.lock:
            self._check()
            assert self._buffer.timestamps is not None
            self._buffer.values.append(value)
            self._buffer.timestamps.append(timestamp)
            if timestamp is not None:
                self._has_times = True
            self._note_new(1)

    def extend(self, values: list[Any]) -> None:
        """Take several records without timestamps, all of a kind that cannot change."""
        with self.lock:
            self._check()
            assert self._buffer.timestamps is not None
            self._buffer.values.extend(values)
            self._buffer.timestamps.extend([None] * len(values))
            self._note_new(len(values))

    def mark(self, watermark: int) -> None:
        """Take a watermark, behind the records so far."""
        with self.lock:
            self._check()
            assert isinstance(self._buffer.marks, list)
            self._buffer.marks.append((len(self._buffer.values), watermark))
            self._note_new(1)

    def mark_idle(self) -> None:
        """Note that nothing is to be expected until the next record."""
        with self.lock:
            self._check()
            self._idle = True
        self._wake()

    # ------------------------------------------------------------------ calls of the enumerator

    def start(self) -> None:
        """Begin to flush."""
        self._thread.start()

    def note_read(self, entry: int) -> None:
        """Learn how far batches have read: there is room for as much again."""
        with self._room:
            self._read = entry
            self._room.notify_all()

    @property
    def read_to(self) -> int:
        """Return up to where batches have read."""
        return self._read

    def is_idle_at(self, entry: int) -> bool:
        """Tell whether the receiver is idle and `entry` is behind all that it took in."""
        return self._idle and not self._pending.is_set() and entry == self.log.end

    def end(self) -> None:
        """Flush, and note that nothing will ever follow."""
        self._flush(ended=True)
        self._stop()

    def stop(self, *, flush: bool = True) -> None:
        """Take no more, and flush what has been taken or forget it. May be called again."""
        if flush and not self._stopped and self.lock.lock.acquire(timeout=_LOCK_SECONDS):
            try:
                self._flush()
            finally:
                self.lock.lock.release()
        self._stop()

    def close(self) -> None:
        """Let go of the files."""
        self._stop()
        self.log.close()

    # ------------------------------------------------------------------------------- the inside

    def _check(self) -> None:
        if self._stopped:
            raise ReceiverStopped

    def _note_new(self, entries: int) -> None:
        self._idle = False
        self._taken += entries
        buffered = self._taken - self._flushed
        if buffered >= self._settings.flush_records:
            self._full.set()
        if count_entries(self._buffer) > self._settings.max_unread:
            # Only inside a lock that the user's function holds on to. Its attributes may be half
            # changed: the records leave memory, and are to be seen when the lock is let go.
            self.log.append_part(self._take_buffer())
        self._pending.set()

    def _wait_for_room(self) -> None:
        if self._taken - self._read < self._settings.max_unread:
            return
        with self._room:
            while not self._stopped and self._taken - self._read >= self._settings.max_unread:
                self._room.wait()

    def _flush_on_time(self) -> None:
        while not self._stopped:
            self._pending.wait()
            # A snapshot that takes long must not keep the receiver from its work.
            pause = max(self._settings.flush_seconds, 4 * self._flush_cost)
            delay = self._last_flush + pause - time.monotonic()
            if delay > 0:
                self._full.wait(delay)
            if not self._stopped:
                self._flush()

    def _flush(self, *, ended: bool = False) -> None:
        began = time.monotonic()
        try:
            with self.lock.lock:
                if self._stopped:
                    return
                if ended or self._taken > self._flushed:
                    self._write(self.snapshot(), ended=ended)
        except Exception as error:
            self._stop()
            self._fail(error)
            return
        self._last_flush = time.monotonic()
        self._flush_cost = self._last_flush - began
        self._wake()

    def _write(self, state: bytes | None, *, ended: bool = False) -> None:
        self._pending.clear()
        self._full.clear()
        self.log.append(self._take_buffer(), state=state, ended=ended)
        self._flushed = self._taken

    def _take_buffer(self) -> SourceBatch:
        batch, self._buffer = self._buffer, SourceBatch([], [], [])
        if not self._has_times:
            batch.timestamps = None
        self._has_times = False
        batch.time = self._now()
        return batch

    def _stop(self) -> None:
        with self._room:
            self._stopped = True
            self._room.notify_all()
        # The flushing thread looks at `_stopped` when it wakes up.
        self._pending.set()
        self._full.set()


class ReceiverSource(Source):
    """Base of sources whose records come from a receiver's log."""

    receives = True

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        gathered: list[SourceBatch] = []
        records = 0
        for place in split_range.end:
            for batch in read_range(ByteRange(*place)):
                if gathered and (records >= _CHUNK or _apart(gathered[0], batch)):
                    yield join(gathered)
                    gathered, records = [], 0
                gathered.append(batch)
                records += len(batch.values)
        if gathered:
            yield join(gathered)


def _apart(first: SourceBatch, batch: SourceBatch) -> bool:
    """Tell whether a batch arrived so long after another that it has a time of its own."""
    if first.time is None or batch.time is None:
        return False
    return batch.time - first.time >= _TIME_STEP


class _Hosted:
    """One receiver with its log and its thread."""

    def __init__(self, log: ReceiverLog, receiver: Receiver | None, context: EnumeratorContext):
        self.log = log
        self.receiver = receiver
        self._context = context
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)

    def start(self) -> None:
        if self.log.log.ended:
            return
        self.log.start()
        if self.receiver is None:
            self.log.end()
            return
        self.log.snapshot = self.receiver.snapshot
        self._thread.start()

    def ask_to_end(self) -> None:
        """Take no more records and tell the receiver; what is logged stays as it is."""
        # First: a function's attributes after cancel() are not what it must go on with.
        self.log.stop()
        if self.receiver is not None and self._thread.is_alive():
            try:
                self.receiver.cancel()
            except Exception:
                _log.warning("cancel() of %r raised", self._context.operator, exc_info=True)

    def close(self, deadline: float) -> None:
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(max(deadline - time.monotonic(), 0))
            if self._thread.is_alive():
                _log.warning("source %r goes on after its job's end", self._context.operator)
        self.log.close()

    def _run(self) -> None:
        assert self.receiver is not None
        try:
            self.receiver.run()
            self.log.end()
        except ReceiverStopped:
            return
        except BaseException as error:
            # What belongs to the records may be half changed. If they come again, nothing is lost
            # by going back to the last flush; if not, they are better kept.
            self.log.stop(flush=not self.receiver.repeats)
            self._context.fail(error)


class ReceiverEnumerator(SplitEnumerator):
    """Host one receiver for each subtask, and let batches read what they have logged.

    A split's place is the number of an entry of its log.

    :param make_receiver: called with the subtask and where to put its records; with what
        `Receiver.snapshot` returned last before a restart, or None.
    """

    def __init__(
        self,
        context: EnumeratorContext,
        make_receiver: Callable[[int, ReceiverLog, bytes | None], Receiver],
        settings: ReceiverSettings | None = None,
    ) -> None:
        self._context = context
        self._make_receiver = make_receiver
        self._settings = settings or ReceiverSettings()
        self._hosted: dict[str, _Hosted] = {}

    def start(self) -> None:
        restored = (self._context.restored or {"splits": {}})["splits"]
        known = {int(name) for name in restored} | set(range(self._context.parallelism))
        for number in sorted(known):
            name = str(number)
            at = restored[name]["at"] if name in restored else 0
            self._hosted[name] = self._host(number, at)

    def begin(self) -> None:
        for hosted in self._hosted.values():
            hosted.start()

    def initial(self) -> Position:
        return make_position(
            {str(subtask): split_entry(0, subtask) for subtask in range(self._context.parallelism)}
        )

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        return SourceProgress(records_between(initial, at))

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        share = max(limit.max_records // len(self._hosted), 1)
        share_bytes = max(limit.max_bytes // len(self._hosted), 1)
        splits = {}
        for name, hosted in self._hosted.items():
            number = int(name)
            before = start["splits"].get(name) or split_entry(0, number)
            subtask = subtask_of(before, number, self._context.parallelism)
            hosted.log.note_read(before["at"])
            log = hosted.log.log
            at = log.reach(before["at"], share, share_bytes)
            splits[name] = split_entry(at, subtask, done=log.ended and at == log.end)
            if hosted.log.is_idle_at(at):
                splits[name]["idle"] = True
        return make_position(splits)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = []
        for name, entry in end["splits"].items():
            before = start["splits"].get(name)
            first = before["at"] if before else 0
            if first < entry["at"]:
                places = self._hosted[name].log.log.byte_ranges(first, entry["at"])
                ranges.append((entry, SplitRange(name, first, [list(p) for p in places])))
        return by_subtask(ranges, self._context.parallelism)

    def committed(self, position: Position) -> None:
        for name, entry in position["splits"].items():
            if name in self._hosted:
                self._hosted[name].log.log.remove_before(entry["at"])

    def close(self) -> None:
        for hosted in self._hosted.values():
            hosted.ask_to_end()
        deadline = time.monotonic() + self._settings.patience_seconds
        for hosted in self._hosted.values():
            hosted.close(deadline)

    def _host(self, number: int, at: int) -> _Hosted:
        directory = join_path(self._context.directory, str(number))
        log = ReceiverLog(
            SegmentLog(directory, first=at),
            self._settings,
            wake=self._context.wake,
            fail=self._context.fail,
            now=self._context.now,
        )
        log.note_read(at)
        receiver = None
        # A log of a time with more subtasks is read to its end; nobody adds to it any more.
        if number < self._context.parallelism and not log.log.ended:
            receiver = self._make_receiver(number, log, log.log.state)
        return _Hosted(log, receiver, self._context)
