"""The half of a file sink that works in a worker: records into parts, parts into files."""

from __future__ import annotations

import sys
from typing import Any

from penstock.connectors.file_paths import ensure_registered
from penstock.connectors.file_sink.assigners import BucketAssigner, constant_bucket
from penstock.connectors.file_sink.parts import Part, PartFiles
from penstock.connectors.file_sink.rolling import DefaultRollingPolicy, OnCheckpointRollingPolicy
from penstock.connectors.file_sink.settings import FileSinkSettings, PreparedFiles, owner_of
from penstock.core.io import SinkWriter, WriterContext

#: How often a policy of the user's is asked about time, unless the sink says otherwise.
DEFAULT_CHECK_INTERVAL = 60_000
#: How soon a batch follows, without input, where every batch is a checkpoint and some are owed.
_IDLE_CHECKPOINT_MS = 1000


class _BucketContext(BucketAssigner.Context):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self.current: int | None = None

    def current_processing_time(self) -> int:
        return self._context.now()

    def current_watermark(self) -> int:
        return self._context.watermark()

    def timestamp(self) -> int | None:
        return self.current


class FileSinkWriter(SinkWriter):
    """Write the parts of one subtask."""

    def __init__(self, settings: FileSinkSettings, context: WriterContext) -> None:
        ensure_registered(settings.file_systems)
        self._settings = settings
        self._subtask = context.subtask
        self._now = context.now
        self._checkpoints = context.checkpoints
        owner = owner_of(context.job_id, context.uid)
        self._files = PartFiles(settings.base_path, owner, settings.part_format)
        self._encode = settings.part_format.encoder()
        self._assign = settings.assigner.get_bucket_id
        self._policy = settings.policy
        self._longest = _known_limit(settings.policy)
        self._context = _BucketContext(context)
        self._prepared = PreparedFiles()
        #: The part that each bucket has open.
        self._parts: dict[str, Part] = {}
        #: Numbers of the next parts of the buckets that had one in this batch.
        self._next_counts: dict[str, int] = {}
        #: Parts beside another one of their bucket: they end with the batch.
        self._surplus: list[Part] = []
        self._largest_count = 0
        self._checked = 0
        self._last_span: int | None = None
        self._ended = False
        #: Checkpoints that the committer is told of: parts wait for them to be compacted.
        self._owed = 0
        self._live: set[str] = set()
        #: The part that all records of this batch go to, if there can be only one bucket.
        self._only_part: Part | None = None
        self._bucket_at = constant_bucket(settings.assigner)
        if self._longest is not None and self._bucket_at is not None:
            self.write = self._write_to_only_bucket  # type: ignore[method-assign]
        if context.restored is not None:
            self._restore(context.restored)

    # --- records --------------------------------------------------------------------------

    def write(self, value: Any, timestamp: int | None) -> None:
        context = self._context
        context.current = timestamp
        bucket = self._assign(value, context)
        if bucket.__class__ is not str:
            bucket = str(bucket)
        part = self._parts.get(bucket)
        if part is None:
            part = self._open(bucket)
        elif self._longest is None:
            part.now = self._now()
            if self._policy.should_roll_on_event(part, value):
                self._finish(part)
                part = self._open(bucket)
        elif part.size > self._longest:
            self._finish(part)
            part = self._open(bucket)
        data = self._encode(value)
        part.records.append(data)
        part.size += len(data)

    def _write_to_only_bucket(self, value: Any, timestamp: int | None) -> None:
        part = self._only_part
        if part is None or part.size > self._longest:  # type: ignore[operator]
            part = self._only_part = self._part_of_batch()
        data = self._encode(value)
        part.records.append(data)
        part.size += len(data)

    def _part_of_batch(self) -> Part:
        assert self._bucket_at is not None and self._longest is not None
        bucket = self._bucket_at(self._now())
        part = self._parts.get(bucket)
        if part is not None and part.size > self._longest:
            self._finish(part)
            part = None
        return self._open(bucket) if part is None else part

    def _open(self, bucket: str) -> Part:
        now = self._now()
        if not self._parts:
            self._checked = max(self._checked, now)
        count = self._next_counts.get(bucket, self._largest_count)
        while self._files.is_taken(bucket, self._name(count)):
            count += 1
        self._next_counts[bucket] = count + 1
        self._largest_count = max(self._largest_count, count + 1)
        part = self._parts[bucket] = Part(bucket, count, now, now)
        return part

    def _finish(self, part: Part) -> None:
        self._hand_over(part)
        del self._parts[part.bucket]

    def _hand_over(self, part: Part) -> None:
        path, length = self._files.finish(part, self._name(part.count))
        folder = self._files.folder(part.bucket)
        self._prepared.finished.append((path, length, folder, part.count))
        if self._settings.strategy is not None:
            self._owed = self._settings.strategy.checkpoints or 0

    def _name(self, count: int) -> str:
        return self._settings.config.part_name(self._subtask, count)

    def open_buckets(self) -> list[str]:
        """Return the buckets that have an open part."""
        return [part.bucket for part in [*self._parts.values(), *self._surplus]]

    # --- time -----------------------------------------------------------------------------

    def next_wakeup(self) -> int | None:
        times: list[int | None] = []
        for part in self._parts.values():
            roll = self._policy.next_roll_time(part)
            if roll is not None:
                times.append(self._check_at(roll))
            if self._policy.should_roll_on_checkpoint(part):
                seen = max(part.get_last_update_time(), self._last_span or 0, self._checked)
                times.append(self._checkpoints.next_after(seen))
        if self._owed:
            seen = max(self._last_span or 0, self._checked)
            times.append(self._checkpoints.next_after(seen) or seen + _IDLE_CHECKPOINT_MS)
        return min((time for time in times if time is not None), default=None)

    def _check_at(self, roll: int) -> int:
        interval = self._settings.check_interval
        if interval is None and self._longest is not None:
            return max(roll, self._checked + 1)
        interval = interval or DEFAULT_CHECK_INTERVAL
        return -(-max(roll, self._checked + 1) // interval) * interval

    def wake_up(self, time: int) -> None:
        self._checked = time
        for part in list(self._parts.values()):
            if self._policy.should_roll_on_processing_time(part, time):
                self._finish(part)

    # --- the end of a batch ---------------------------------------------------------------

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        now = self._now()
        self._only_part = None
        for part in self._surplus:
            self._hand_over(part)
        self._surplus = []
        checkpoint = self._is_checkpoint(now)
        for part in list(self._parts.values()):
            part.now = now
            if end_of_input or (checkpoint and self._policy.should_roll_on_checkpoint(part)):
                self._finish(part)
            elif part.records:
                part.updated = now
                self._files.flush(part, self._name(part.count))
        self._next_counts = {part.bucket: part.count + 1 for part in self._parts.values()}
        if self._owed:
            self._checked = max(self._checked, now)
            self._prepared.checkpoint = checkpoint
            self._owed -= checkpoint
        return self._committables(end_of_input)

    def _is_checkpoint(self, now: int) -> bool:
        passed = self._checkpoints.passed(self._last_span, now)
        interval = self._checkpoints.interval
        # The span alone, so that the state does not change with every batch.
        self._last_span = None if interval is None else now // interval * interval
        return passed

    def _committables(self, end_of_input: bool) -> list[bytes]:
        prepared, self._prepared = self._prepared, PreparedFiles()
        live = {path for part in self._parts.values() for path, _ in part.segments}
        done = {path for path, *_ in prepared.finished}
        prepared.opened = sorted(live - self._live)
        prepared.removed = sorted(self._live - live - done)
        prepared.ended = end_of_input and not self._ended
        self._live = live
        self._ended = end_of_input
        self._files.retain(live)
        return [prepared.dump()] if prepared != PreparedFiles() else []

    def snapshot_state(self) -> Any:
        self._files.saved()
        parts = [part.save() for part in self._parts.values()]
        span, ended, owed = self._last_span, self._ended, self._owed
        return parts, self._largest_count, self._checked, span, ended, (), owed

    def _restore(self, state: Any) -> None:
        parts, largest, self._checked, self._last_span, self._ended, taken, self._owed = whole(
            state
        )
        self._largest_count = largest
        self._parts = {part.bucket: part for part in map(Part.load, parts)}
        for part in map(Part.load, taken):
            self._take_over(part)
        self._next_counts = {part.bucket: part.count + 1 for part in self._parts.values()}
        open_parts = [*self._parts.values(), *self._surplus]
        self._live = {path for part in open_parts for path, _ in part.segments}

    def _take_over(self, part: Part) -> None:
        """Go on with a part of a writer that is no more, under a number of one's own."""
        part.count = self._largest_count
        while self._files.is_taken(part.bucket, self._name(part.count)):
            part.count += 1
        self._largest_count = part.count + 1
        if part.bucket in self._parts:
            self._surplus.append(part)
        else:
            self._parts[part.bucket] = part

    def close(self) -> None:
        self._files.discard_unsaved()


def whole(state: Any) -> Any:
    """Return a writer's state in its present form; of the end earlier versions had less."""
    return (*state, *((), 0)[len(state) - 5 :])


def _known_limit(policy: Any) -> int | None:
    """Return the size beyond which a record rolls, None if the policy itself must be asked."""
    if type(policy) is DefaultRollingPolicy:
        return policy.part_size
    return sys.maxsize if type(policy) is OnCheckpointRollingPolicy else None
