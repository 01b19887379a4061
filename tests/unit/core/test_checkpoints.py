"""Which batches are checkpoints, and when the next one will be."""

from __future__ import annotations

from penstock.common import Duration
from penstock.core.checkpoints import CheckpointTimes


def test_every_batch_without_an_interval() -> None:
    times = CheckpointTimes.of(None)
    assert times.passed(None, 5)
    assert times.passed(5, 5)
    assert times.next_after(5) is None


def test_the_first_batch_of_each_span_with_an_interval() -> None:
    times = CheckpointTimes.of(Duration.of_seconds(10))
    batches = [9_999, 10_000, 15_000, 19_999, 40_000, 40_001]
    before = [None, *batches[:-1]]
    passed = [times.passed(last, now) for last, now in zip(before, batches, strict=True)]
    assert passed == [False, True, False, False, True, False]
    assert [times.next_after(at) for at in (9_999, 10_000, 40_001)] == [10_000, 20_000, 50_000]


def test_none_before_the_end_in_batch_mode() -> None:
    times = CheckpointTimes.of(Duration.of_seconds(10), batch_mode=True)
    assert not times.passed(1, 100_000)
    assert times.next_after(1) is None
