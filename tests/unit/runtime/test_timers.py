"""Timers fire once, in order, whatever happened to the queue in between."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.functions import KeyedProcessFunction
from penstock.core.time import MAX_WATERMARK
from penstock.errors import ProgramError
from penstock.runtime import timers
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.runtime.timers import TimerQueue
from penstock.testing.function_harness import OneInputHarness
from tests.unit.process.jobs import run

pytestmark = pytest.mark.usefixtures("backend")

_backends: WeakKeyDictionary[TimerQueue, KeyedBackend] = WeakKeyDictionary()


def new_queue(*, patient: bool = False) -> TimerQueue:
    backend = make_backend("operator 'test'", lambda: 0, {})
    queue = backend.processing_timers if patient else backend.event_timers
    _backends[queue] = backend
    return queue


def flush(queue: TimerQueue) -> None:
    _backends[queue].flush()


def fired(queue: TimerQueue, until: int) -> list[tuple[int, Any]]:
    return list(queue.due(until))


def copied(delta: Any) -> Any:
    return pickle.loads(pickle.dumps(delta))


def test_timers_fire_by_time_and_then_in_the_order_of_registration() -> None:
    queue = new_queue()
    for timestamp, key in [(20, "x"), (10, 5), (20, None), (20, ("a",)), (10, "x")]:
        queue.register(timestamp, key)
    assert queue.next_time() == 10
    assert fired(queue, 9) == []
    assert fired(queue, 20) == [
        (10, 5), (10, "x"), (20, "x"), (20, None), (20, ("a",)),
    ]  # fmt: skip
    assert queue.next_time() is None
    assert len(queue) == 0


def test_the_same_timer_is_set_once_for_each_owner() -> None:
    queue = new_queue()
    for _ in range(3):
        queue.register(10, "a")
        queue.register(10, ("a", "window"))
        queue.register(10, "b")
    assert len(queue) == 3
    assert fired(queue, 10) == [(10, "a"), (10, ("a", "window")), (10, "b")]


def test_a_deleted_timer_does_not_fire() -> None:
    queue = new_queue()
    queue.register(10, "a")
    queue.register(11, "a")
    queue.delete(10, "a")
    queue.delete(10, "a")
    queue.delete(99, "nobody")
    assert queue.next_time() == 11
    assert fired(queue, 20) == [(11, "a")]


def test_a_timer_that_was_deleted_and_set_again_fires_once_and_in_its_new_turn() -> None:
    queue = new_queue()
    queue.register(10, "a")
    queue.register(10, "b")
    queue.delete(10, "a")
    queue.register(10, "a")
    assert fired(queue, 10) == [(10, "b"), (10, "a")]


def test_a_callback_may_set_a_timer_that_is_already_due() -> None:
    queue = new_queue()
    calls = []

    queue.register(1, "a")
    for timestamp, key in queue.due(10):
        calls.append(timestamp)
        if timestamp < 5:
            queue.register(timestamp + 2, key)
            queue.register(timestamp, key)  # again, at the time that is firing
            queue.delete(timestamp, key)
        queue.register(100, key)
    assert calls == [1, 3, 5]
    assert list(queue.timers()) == [(100, "a")]


def test_a_patient_queue_lets_time_pass_before_it_fires_again() -> None:
    """A timer for now, set while timers fire, waits; one behind it that is due does not."""
    queue = new_queue(patient=True)
    queue.register(1, "a")
    rounds: list[list[Any]] = []
    for _ in range(3):
        rounds.append([])
        for timestamp, owner in queue.due(10):
            rounds[-1].append((timestamp, owner))
            queue.register(timestamp, owner)
            queue.register(timestamp - 1, "deleted")
            queue.delete(timestamp - 1, "deleted")
            if timestamp == 1:
                queue.register(7, "b")
    assert rounds == [[(1, "a"), (7, "b")]] * 3
    assert moved(queue).next_time() == queue.next_time() == 1
    queue.delete(1, "a")
    queue.delete(7, "b")
    assert fired(queue, 10) == []


def moved(queue: TimerQueue) -> TimerQueue:
    """Return the queue in another worker."""
    other = new_queue(patient=True)
    other.apply(queue.dump(queue.timers()))
    other.settle()
    return other


def test_timers_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "_MOST_CALLS", 1000)

    class Endless(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(5)

        def on_timer(self, timestamp: int, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(timestamp)

    with pytest.raises(ProgramError) as caught:
        run(lambda env: env.from_collection(["x"]).key_by(lambda x: x).process(Endless()))
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "on_timer() has been called 1,000 times for timers that it set itself, each for a time "
        "that had come already"
    )
    assert lines[1].startswith("  where: operator 'KeyedProcess', built at ")
    assert lines[2:] == [
        "  got:   a timer for 5, of 'x'",
        "  to do: set timers for a time behind the one that on_timer() is called with",
    ]


def test_a_processing_time_timer_for_now_does_not_hold_the_batch() -> None:
    class Often(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_processing_time_timer(10)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
            yield timestamp
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time())

    harness = OneInputHarness(Often(), lambda value: value)
    harness.process_element("x")
    harness.set_processing_time(20)
    assert harness.take_records() == [10, 20]
    harness.set_processing_time(21)
    assert harness.take_records() == [20, 21]


def test_a_callback_may_delete_what_would_fire_next() -> None:
    queue = new_queue()
    for key in range(3000):
        queue.register(10, key)

    calls: list[Any] = []
    for _, key in queue.due(10):
        calls.append(key)
        for other in range(1, 2999):
            queue.delete(10, other)
    assert calls == [0, 2999]


def test_a_firing_that_is_broken_off_leaves_the_other_timers() -> None:
    queue = new_queue()
    for timestamp, key in [(1, "a"), (4, "b"), (4, "c"), (4, "d"), (9, "e")]:
        queue.register(timestamp, key)
    for _ in queue.due(5):
        queue.register(2, "set meanwhile")
        queue.register(3, "set and deleted")
        queue.delete(3, "set and deleted")
        queue.delete(4, "c")
        break
    assert fired(queue, 5) == [(2, "set meanwhile"), (4, "b"), (4, "d")]
    assert fired(queue, 9) == [(9, "e")]


def test_a_timer_that_is_due_may_be_deleted_and_set_again_while_others_fire() -> None:
    queue = new_queue()
    for key in "abc":
        queue.register(4, key)
    calls = []
    for timer in queue.due(4):
        calls.append(timer)
        if timer == (4, "a"):
            queue.delete(4, "b")
            queue.register(4, "b")
            queue.delete(4, "b")
            queue.register(4, "b")
    assert calls == [(4, "a"), (4, "c"), (4, "b")], "set again, it comes in its new turn"
    assert len(queue) == 0


def test_clear_forgets_all_timers_in_what_is_saved_too() -> None:
    queue = new_queue()
    queue.register(1, "a")
    saved = copied(queue.take_delta())
    queue.register(2, "b")
    queue.clear()
    assert len(queue) == 0
    assert queue.next_time() is None
    other = new_queue()
    other.apply(saved)
    other.apply(copied(queue.take_delta()))
    assert list(other.timers()) == []


def test_nothing_changed_means_nothing_to_save() -> None:
    queue = new_queue()
    assert queue.take_delta() is None
    assert not queue.used
    queue.register(1, "a")
    assert queue.take_delta() is not None
    assert queue.take_delta() is None
    queue.register(1, "a")
    queue.delete(7, "a")
    assert queue.take_delta() is None


def test_a_watermark_that_makes_nothing_due_is_told_by_one_number() -> None:
    queue = new_queue()
    assert queue.earliest > MAX_WATERMARK
    queue.register(20, "a")
    queue.register(10, "b")
    assert queue.earliest == 10
    assert fired(queue, 15) == [(10, "b")]
    assert queue.earliest == 20
    for timestamp, _ in queue.due(30):
        queue.register(timestamp + 50, "again")
    assert queue.earliest == 70
    queue.clear()
    assert queue.earliest > MAX_WATERMARK


# --- a model ----------------------------------------------------------------------------------

KEYS: list[Any] = ["a", 1, None, ("b", 2)]
one_timer = st.tuples(st.integers(0, 12), st.sampled_from(KEYS))
operations = st.lists(
    st.tuples(st.just("register"), one_timer)
    | st.tuples(st.just("delete"), one_timer)
    | st.tuples(st.just("fire"), st.integers(0, 12))
    | st.tuples(st.just("batch"), st.sampled_from(["go on", "load", "catch up", "carry"])),
    max_size=60,
)


class Model:
    """Timers in a plain list, in the order of registration."""

    def __init__(self) -> None:
        self.timers: list[tuple[int, Any]] = []

    def register(self, timer: tuple[int, Any]) -> None:
        if timer not in self.timers:
            self.timers.append(timer)

    def delete(self, timer: tuple[int, Any]) -> None:
        if timer in self.timers:
            self.timers.remove(timer)

    def fire(self, until: int) -> list[tuple[int, Any]]:
        due = sorted((t for t in self.timers if t[0] <= until), key=lambda timer: timer[0])
        self.timers = [timer for timer in self.timers if timer[0] > until]
        return due


@settings(deadline=None)
@given(operations)
def test_a_queue_goes_on_as_it_was_on_every_path(operations: list[Any]) -> None:
    model, queue, deltas = Model(), new_queue(), []
    sleeper, seen = new_queue(), 0  # another worker, that catches up now and then
    for what, argument in operations:
        if what == "register":
            queue.register(*argument)
            model.register(argument)
        elif what == "delete":
            queue.delete(*argument)
            model.delete(argument)
        elif what == "fire":
            assert fired(queue, argument) == model.fire(argument)
        else:
            if (delta := copied(queue.take_delta())) is not None:
                deltas.append(delta)
            if argument == "carry":
                deltas.append(copied(queue.dump(queue.timers())))
            flush(queue)
            if argument == "load":
                queue, seen_by_queue = new_queue(), 0
            elif argument == "catch up":
                queue, sleeper = sleeper, queue
                seen_by_queue, seen = seen, len(deltas)
            else:
                continue
            for delta in deltas[seen_by_queue:]:
                queue.apply(delta)
                flush(queue)
            queue.settle()
        # What a watermark is compared with: no timer may be before it.
        assert all(queue.earliest <= timestamp for timestamp, _ in model.timers)
    assert fired(queue, MAX_WATERMARK) == model.fire(MAX_WATERMARK)


def test_two_workers_never_give_one_number_to_two_timers() -> None:
    # Else they would be compared by key in a worker that still has both, and keys may not compare.
    for written_anew in (False, True):
        first, second = new_queue(), new_queue()
        first.register(10, "text")
        first.delete(10, "text")
        delta = first.take_delta()
        second.apply(copied(first.dump([]) if written_anew else delta))
        second.settle()
        second.register(10, 5)
        first.apply(copied(second.take_delta()))
        first.settle()
        assert fired(first, 10) == [(10, 5)]


def test_many_timers_fire_in_order_while_callbacks_set_and_delete_others() -> None:
    queue, calls = new_queue(), []
    for number in random.Random(3).sample(range(4000), 4000):
        queue.register(number // 4, number)

    for timestamp, key in queue.due(MAX_WATERMARK):
        calls.append(timestamp)
        if key == 2000:
            queue.register(timestamp, "now")
            queue.register(timestamp - 300, "earlier")
            queue.register(timestamp + 100, "later")
            for number in range(3000, 4000):
                queue.delete(number // 4, number)
    assert len(calls) == 3000 + 3
    assert calls.count(500) == 5
    assert calls.count(200) == 5
    assert calls[calls.index(500) :].count(200) == 1, "set late, it fires at once"
    calls.remove(200)
    late = len(calls) - 1 - calls[::-1].index(200)
    del calls[late]
    assert calls == sorted(calls)
