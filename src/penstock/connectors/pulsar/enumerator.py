"""The half of the Pulsar source that decides how far the next batch reads.

A thread of its own asks the brokers, as whatever may block must not hold up the coordinator.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

from penstock.connectors.positions import by_subtask, subtask_of
from penstock.connectors.pulsar.client import (
    Place,
    PulsarAccess,
    describe,
    full_name,
    is_denial,
    library,
)
from penstock.connectors.pulsar.cursors import PulsarRange, StartCursor
from penstock.connectors.pulsar.follower import Follower
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    SplitEntry,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import SourceError

_logger = logging.getLogger("penstock.pulsar")

#: How often the brokers are asked for the ends of the topics.
_ASK_SECONDS = 0.1
_RETRY_SECONDS = 1.0
_START_SECONDS = 60.0


class _TopicEntry(SplitEntry):
    """`at` is the last place that has been read, as a list."""

    #: The place in front of the first message.
    begin: list[int]
    #: The last place that is read; None: that is not known, or there is none.
    stop: list[int] | None


class PulsarEnumerator(SplitEnumerator):
    """Follow the ends of all partitions. A split is a topic, or a partition of one."""

    def __init__(
        self, context: EnumeratorContext, access: PulsarAccess, wanted: PulsarRange
    ) -> None:
        self._context = context
        self._access = access
        self._wanted = wanted
        self._client = access.connect()
        self._followers: dict[str, Follower] = {}
        self._lock = threading.Lock()
        self._at: dict[str, Place] = {}
        self._committed: dict[str, Place] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._context.restored is not None:
            entries = _entries(self._context.restored)
            for topic, entry in entries.items():
                self._at[topic] = _place(entry["at"])
                stop = None if entry["stop"] is None else _place(entry["stop"])
                self._followers[topic] = self._follow(topic, _place(entry["at"]), stop)
            self._run_thread()

    def initial(self) -> Position:
        self._insist(lambda: self._take_on(self._topics(), self._wanted.starting))
        self._run_thread()
        splits = {
            topic: self._entry(number, each, each.begin)
            for number, (topic, each) in enumerate(self._followers.items())
        }
        return self._position(splits)

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        entries = _entries(start)
        followers = dict(self._followers)
        splits = {}
        for number, (topic, each) in enumerate(followers.items()):
            known = entries.get(topic)
            at = each.begin if known is None else _place(known["at"])
            self._at[topic] = at
            end = each.end_of_batch(at, limit, len(followers))
            splits[topic] = self._entry(number, each, end, known)
        return self._position(splits)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        before = _entries(start)
        ranges = []
        for topic, entry in _entries(end).items():
            at = before[topic]["at"] if topic in before else entry["begin"]
            if at != entry["at"]:
                ranges.append((entry, SplitRange(topic, at, entry["at"])))
        return by_subtask(ranges, self._context.parallelism)

    def committed(self, position: Position) -> None:
        places = {topic: _place(entry["at"]) for topic, entry in _entries(position).items()}
        with self._lock:
            self._committed = places

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        self._client.shutdown()

    # ---------------------------------------------------------------------- positions

    def _entry(
        self, number: int, follower: Follower, at: Place, known: _TopicEntry | None = None
    ) -> _TopicEntry:
        parallelism = self._context.parallelism
        stop = follower.stop
        subtask = number % parallelism if known is None else subtask_of(known, number, parallelism)
        return {
            "at": list(at),
            "subtask": subtask,
            "done": stop is not None and at >= stop,
            "begin": list(follower.begin),
            "stop": None if stop is None else list(stop),
        }

    def _position(self, splits: Mapping[str, _TopicEntry]) -> Position:
        ends = self._wanted.stopping.kind != "never"
        done = ends and all(entry["done"] for entry in splits.values())
        return {"splits": splits, "done": done}

    # ---------------------------------------------------------- the thread that asks

    def _run_thread(self) -> None:
        name = f"penstock-pulsar-{self._context.operator}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        discovery = self._wanted.discovery
        look_at = time.monotonic() + (discovery or 0)
        told = 0.0
        while not self._closed.wait(_ASK_SECONDS):
            try:
                if discovery is not None and time.monotonic() >= look_at:
                    look_at = time.monotonic() + discovery
                    # From their beginning: what was written before they were seen is new as well.
                    self._take_on(self._topics(), StartCursor.earliest())
                self._look()
                self._acknowledge()
            except Exception as error:
                if is_denial(error) or isinstance(error, SourceError):
                    self._context.fail(error)
                    return
                # The brokers may be back in a moment; until then there is nothing to read.
                if time.monotonic() >= told:
                    _logger.warning("source %r waits: %s", self._context.operator, describe(error))
                    told = time.monotonic() + 60
                self._closed.wait(_RETRY_SECONDS)

    def _look(self) -> None:
        changed = [each.look(self._at.get(topic)) for topic, each in self._followers.items()]
        if any(changed):
            self._context.wake()

    def _acknowledge(self) -> None:
        with self._lock:
            places, self._committed = self._committed, {}
        for topic, place in places.items():
            if topic in self._followers:
                self._followers[topic].acknowledge(place)

    # ------------------------------------------------------------------------ topics

    def _take_on(self, topics: Iterable[str], starting: StartCursor) -> None:
        for topic in topics:
            if topic not in self._followers:
                follower = self._follow(topic, None, None)
                follower.choose_begin(starting)
                follower.look(None)
                self._followers = {**self._followers, topic: follower}

    def _follow(self, topic: str, begin: Place | None, stop: Place | None) -> Follower:
        return Follower(self._client, self._access, topic, self._wanted, begin, stop)

    def _topics(self) -> list[str]:
        """Return the partitions of all topics, and topics that have none."""
        names = [full_name(topic) for topic in self._wanted.topics]
        if self._wanted.pattern is not None:
            names = self._matching(self._wanted.pattern)
        return [part for name in names for part in sorted(self._client.get_topic_partitions(name))]

    def _matching(self, pattern: str) -> list[str]:
        whole = full_name(pattern)
        namespace = whole.partition("://")[2].rpartition("/")[0]
        found = self._access.ask(f"persistent/{namespace}")
        found += self._access.ask(f"persistent/{namespace}/partitioned")
        bare = {re.sub(r"-partition-\d+$", "", topic) for topic in found}
        return sorted(topic for topic in bare if re.fullmatch(whole, topic))

    def _insist(self, attempt: Any) -> None:
        """Do something that the brokers may not answer at once.

        :raises SourceError: if they do not for long, or refuse.
        """
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                attempt()
                return
            except library().TopicNotFound as error:
                raise SourceError(
                    "there is no such topic",
                    got=f"{', '.join(self._wanted.topics)}: {describe(error)}",
                    todo="create the topic, or correct its name",
                ) from None
            except Exception as error:
                if is_denial(error) or time.monotonic() > deadline:
                    raise SourceError(
                        f"Pulsar at {self._access.service_url} does not answer",
                        got=describe(error),
                        todo="check the URLs, that a broker is running there, and the account",
                    ) from None
            time.sleep(_RETRY_SECONDS)


def _entries(position: Position) -> Mapping[str, _TopicEntry]:
    return cast("Mapping[str, _TopicEntry]", position["splits"])


def _place(at: list[int]) -> Place:
    return cast("Place", tuple(at))
