"""A worker keeps tasks within its budget, and closes those that must go."""

from __future__ import annotations

import logging

import pytest

from penstock.runtime.cache import TaskCache


class Kept:
    def __init__(self, fails: bool = False) -> None:
        self.closed = 0
        self.fails = fails

    def close(self) -> None:
        self.closed += 1
        if self.fails:
            raise RuntimeError("cannot close")


def test_a_task_is_taken_out_once() -> None:
    cache, task = TaskCache(), Kept()
    assert cache.take("a") is None
    cache.put("a", task, 10, budget=100)
    assert cache.take("a") is task
    assert cache.take("a") is None
    assert task.closed == 0


def test_the_least_recently_used_goes_first() -> None:
    cache, tasks = TaskCache(), [Kept() for _ in range(4)]
    for number in range(3):
        cache.put(number, tasks[number], 30, budget=100)
    cache.put(0, cache.take(0), 30, budget=100)
    cache.put(3, tasks[3], 60, budget=100)
    assert [task.closed for task in tasks] == [0, 1, 1, 0]
    assert cache.take(1) is None
    assert cache.take(0) is tasks[0]


def test_the_last_one_stays_however_large_it_is() -> None:
    cache, small, large = TaskCache(), Kept(), Kept()
    cache.put("small", small, 1, budget=100)
    cache.put("large", large, 1000, budget=100)
    assert (small.closed, large.closed) == (1, 0)
    assert cache.take("large") is large
    cache.put("small", small, 50, budget=100)
    cache.put("other", Kept(), 50, budget=100)
    assert cache.take("small") is small, "what was taken out weighs nothing"


def test_a_task_that_cannot_be_closed_does_not_disturb_the_one_at_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache = TaskCache()
    cache.put("broken", Kept(fails=True), 100, budget=10)
    with caplog.at_level(logging.WARNING):
        cache.put("good", Kept(), 100, budget=10)
    assert [record.message for record in caplog.records] == ["a function could not be closed"]


def test_a_worker_that_dies_closes_nothing() -> None:
    cache, task = TaskCache(), Kept()
    cache.put("a", task, 1, budget=10)
    cache.clear()
    assert cache.take("a") is None
    assert task.closed == 0


class Connected:
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_what_an_earlier_attempt_left_behind_is_closed() -> None:
    cache = TaskCache()
    mine, others = Connected(), Connected()
    cache.enter("job", "first")
    cache.put(("first", "source", 1), mine, 1, 100)
    cache.enter("another job", "x")
    cache.put(("x", "source", 1), others, 1, 100)
    cache.enter("job", "first")
    assert not mine.closed
    cache.enter("job", "second")
    assert mine.closed and not others.closed
    assert cache.take(("first", "source", 1)) is None
