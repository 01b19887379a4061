"""Parts of the Pulsar connectors that need no broker."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock.connectors.pulsar.client import BEGIN, PulsarAccess, behind_entry, full_name
from penstock.connectors.pulsar.cursors import PulsarRange, RangeGenerator, StartCursor, StopCursor
from penstock.connectors.pulsar.follower import Follower
from penstock.connectors.pulsar.publishing import Route
from penstock.core.io import ReadLimit


@dataclass
class Message:
    key: str = ""
    ordering: str = ""
    event: int = 0
    published: int = 0

    def partition_key(self) -> str:
        return self.key

    def ordering_key(self) -> str:
        return self.ordering

    def event_timestamp(self) -> int:
        return self.event

    def publish_timestamp(self) -> int:
        return self.published


def follower(end: tuple[int, int, int], ledgers: dict[int, int]) -> Follower:
    wanted = PulsarRange(("t",), None, "job", StartCursor.earliest(), StopCursor.never(), None)
    found = Follower(None, PulsarAccess("pulsar://x", "http://x"), "t", wanted, None, None)
    found._end, found._ledgers = end, ledgers
    return found


@pytest.mark.parametrize(
    ("at", "entries", "expected"),
    [
        (BEGIN, 3, behind_entry(5, 2)),
        (BEGIN, 10, behind_entry(5, 9)),
        (BEGIN, 11, behind_entry(7, 0)),
        (behind_entry(5, 2), 8, behind_entry(7, 0)),
        (behind_entry(5, 9), 1, behind_entry(7, 0)),
        (BEGIN, 1000, (9, 4, 0)),
        (behind_entry(7, 3), 1000, (9, 4, 0)),
        (behind_entry(9, 1), 2, behind_entry(9, 3)),
        ((9, 4, 0), 5, (9, 4, 0)),
    ],
)
def test_a_batch_ends_some_entries_further(
    at: tuple[int, int, int], entries: int, expected: tuple[int, int, int]
) -> None:
    topic = follower((9, 4, 0), {5: 10, 7: 4, 9: 5})
    assert topic.end_of_batch(at, ReadLimit(entries, 1 << 40), 1) == expected


def test_a_batch_ends_where_reading_stops() -> None:
    topic = follower((9, 4, 0), {9: 5})
    topic.stop = (9, 2, 3)
    assert topic.end_of_batch(BEGIN, ReadLimit(100, 1 << 40), 1) == (9, 2, 3)
    topic.stop = (12, 0, 0)
    assert topic.end_of_batch(BEGIN, ReadLimit(100, 1 << 40), 1) == (9, 4, 0)


def test_which_keys_are_read() -> None:
    keys = RangeGenerator.fixed_key(keys=["a"], key_bytes=b"b", ordering_key_bytes=b"o")
    messages = [Message("a"), Message("b"), Message("c"), Message(), Message("c", ordering="o")]
    assert [keys.includes(message) for message in messages] == [True, True, False, False, True]
    assert RangeGenerator.fixed_key(support_null_key=True).includes(Message())
    assert RangeGenerator.full().includes(Message("c"))


def test_times_that_end_reading() -> None:
    message = Message(event=5, published=9)
    assert StopCursor.at_event_time(5).is_behind(message)
    assert not StopCursor.after_event_time(5).is_behind(message)
    assert StopCursor.after_event_time(4).is_behind(message)
    assert StopCursor.at_publish_time(9).is_behind(message)
    assert not StopCursor.after_publish_time(9).is_behind(message)


def test_a_message_goes_the_same_way_every_time() -> None:
    parts = ["p0", "p1", "p2"]
    assert [Route(("t",)).choose(b"x", n, parts) for n in range(4)] == ["p0", "p1", "p2", "p0"]
    by_content = Route(("t",), by_content=True)
    assert by_content.choose(b"x", 0, parts) == by_content.choose(b"x", 1, parts)
    assert Route(("t",), router=lambda content, all_: all_[-1]).choose(b"x", 0, parts) == "p2"


def test_names_of_topics() -> None:
    assert full_name("words") == "persistent://public/default/words"
    assert full_name("a/b/words") == "persistent://a/b/words"
    assert full_name("non-persistent://a/b/c") == "non-persistent://a/b/c"
