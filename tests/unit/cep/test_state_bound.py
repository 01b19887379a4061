"""State does not grow with the stream: `within` bounds it, and a batch writes what changed only."""

from __future__ import annotations

import pickle

import pytest

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.testing import StreamHarness

pytestmark = pytest.mark.usefixtures("backend")


def letter(wanted: str):  # type: ignore[no-untyped-def]
    return lambda event: event[0] == wanted


def looping() -> Pattern:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    start = Pattern.begin("a", skip).where(letter("a")).one_or_more().followed_by("b")
    return start.where(letter("b")).within(50)


def branching() -> Pattern:
    start = Pattern.begin("a").where(letter("a")).followed_by_any("b").where(letter("b"))
    return start.times(2).allow_combinations().followed_by("c").where(letter("c")).within(15)


def written(harness: StreamHarness) -> int:
    """Return how many bytes of state and timers there are."""
    assert harness.backend is not None
    harness.cut()
    parts = [dump(keys) for _, _, keys, dump in harness.backend.inventory()]
    return len(pickle.dumps(parts))


@pytest.mark.parametrize("pattern", [looping(), branching()], ids=["looping", "branching"])
def test_state_is_bounded_by_within(pattern: Pattern) -> None:
    harness = StreamHarness(
        lambda stream: CEP.pattern(stream.key_by(lambda event: 0), pattern).select(len)
    )
    sizes = []
    for start in range(0, 6000, 200):
        letters = [("aab" if i % 10 else "c")[i % 3 if i % 10 else 0] for i in range(200)]
        harness.process_elements([((each, start + i), start + i) for i, each in enumerate(letters)])
        harness.process_watermark(start + 199)
        sizes.append(written(harness))
    assert max(sizes[5:]) < 1.3 * max(sizes[:5])
    harness.process_watermark(10_000)
    harness.cut()
    assert harness.state_size() == harness.timer_count() == 0


def test_a_batch_writes_what_changed_only() -> None:
    pattern = Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))
    harness = StreamHarness(
        lambda stream: CEP.pattern(stream.key_by(lambda event: event[1] % 2000), pattern).select(
            len
        )
    )

    def batch(events: list[tuple[str, int]], time: int) -> int:
        harness.process_elements([(event, time) for event in events])
        harness.process_watermark(time)
        before = len(harness._log)
        harness.cut()
        return len(harness._log[before])

    first = batch([("a", key) for key in range(2000)], 1)
    assert batch([("a", key) for key in range(10)], 2) < first / 50
    # An event that nobody waits for changes nothing.
    assert batch([("x", 11)], 3) < first / 200


def test_a_long_loop_stays_small() -> None:
    pattern = Pattern.begin("a").where(letter("a")).one_or_more().consecutive().greedy()
    pattern = pattern.next("b").where(letter("b")).within(100_000)
    harness = StreamHarness(
        lambda stream: CEP.pattern(stream.key_by(lambda event: 0), pattern).select(len)
    )
    sizes = []
    for count in (100, 200):
        harness.process_elements([(("a", i), i) for i in range(count // 2 if sizes else 0, count)])
        harness.process_watermark(count - 1)
        sizes.append(written(harness))
    # Each event begins a match of its own, so there are many edges; but versions are short.
    assert sizes[1] < 5 * sizes[0]
