"""The two ends of an iteration: records that a batch sends back are read by the next one.

They travel with the batch's report: the coordinator records them with the batch and hands them to
the source of the next. So each goes round exactly once, whatever is run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.connectors.positions import make_position, split_entry
from penstock.core.io import (
    Committer,
    CommitterContext,
    EnumeratorContext,
    Position,
    ReadLimit,
    Sink,
    SinkWriter,
    Source,
    SourceBatch,
    SplitEnumerator,
    SplitRange,
    WriterContext,
)
from penstock.core.pickling import detached, dumps, loads
from penstock.core.time import MAX_WATERMARK

_SPLIT = "0"


class FeedbackSource(Source):
    """Read what the iteration's tail has sent back.

    :param wait_ms: how long to wait for more, once all other sources have ended.
    """

    parallel = False

    def __init__(self, wait_ms: int) -> None:
        self.wait_ms = wait_ms

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FeedbackEnumerator(context, self.wait_ms)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        assert split_range.payload is not None
        records = [record for part in loads(split_range.payload) for record in loads(part)]
        values, timestamps = map(list, zip(*records, strict=True))
        # What comes back holds no watermark back, as in Flink: it would wait for itself.
        yield SourceBatch(values, timestamps, [(0, MAX_WATERMARK)])


class FeedbackEnumerator(SplitEnumerator):
    """Count the batches that have sent something back. What they sent is offered from outside."""

    def __init__(self, context: EnumeratorContext, wait_ms: int) -> None:
        self._context = context
        self._wait_ms = wait_ms
        self._offered: list[bytes] = []
        self._others_ended = False
        self._waiting_since: int | None = None

    def offer(self, payloads: list[bytes], others_ended: bool) -> None:
        """Learn what the last batch sent back, and whether all other sources have ended."""
        self._offered = payloads
        self._others_ended = others_ended
        if payloads or not others_ended:
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = self._context.now()

    def initial(self) -> Position:
        return _position(0)

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at: int = start["splits"][_SPLIT]["at"]
        if self._offered:
            return _position(at + 1)
        due = self.next_wakeup()
        return _position(at, done=due is not None and self._context.now() >= due)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        first, last = (position["splits"][_SPLIT]["at"] for position in (start, end))
        if first == last:
            return [[]]
        return [[SplitRange(_SPLIT, first, last, dumps(self._offered))]]

    def next_wakeup(self) -> int | None:
        return None if self._waiting_since is None else self._waiting_since + self._wait_ms


def _position(at: int, *, done: bool = False) -> Position:
    # Idle: nothing waits for what may never come back.
    return make_position({_SPLIT: {**split_entry(at, 0, done=done), "idle": True}})


class FeedbackSink(Sink):
    """Send records back to the head of the iteration."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _FeedbackWriter()

    def create_committer(self, context: CommitterContext) -> Committer:
        return Committer()


class _FeedbackWriter(SinkWriter):
    def __init__(self) -> None:
        self._records: list[tuple[Any, int | None]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._records.append((detached(value), timestamp))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        records, self._records = self._records, []
        return [dumps(records)] if records else []
