"""A queue in memory takes a million timers."""

from __future__ import annotations

import random
import time

import pytest

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.timers import TimerQueue


@pytest.mark.slow
def test_a_million_timers() -> None:
    order = list(range(1_000_000))
    random.Random(7).shuffle(order)
    keys = [f"key-{number}" for number in range(100_000)]
    queue = TimerQueue()
    start = time.process_time()
    for number in order:
        queue.register(number // 10, keys[number % 100_000])
    delta = queue.take_delta()
    other = TimerQueue()
    other.apply(delta)
    other.settle()
    for number in order[::2]:
        other.delete(number // 10, keys[number % 100_000])
    calls = [timestamp for timestamp, _ in other.due(MAX_WATERMARK)]
    assert len(calls) == 500_000
    assert calls == sorted(calls)
    assert time.process_time() - start < 60
