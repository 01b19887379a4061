"""The half of the Kafka source that decides how far the next batch reads.

A thread of its own asks the brokers, as whatever may block must not hold up the coordinator.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from penstock.connectors.kafka.lookup import Lookup, Partition
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.positions import by_subtask
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReadLimit,
    SplitEntry,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import SourceError

_logger = logging.getLogger("penstock.kafka")

#: How often the brokers are asked for the ends of the partitions.
_ASK_SECONDS = 0.05
_RETRY_SECONDS = 1.0
#: A record weighs so much beside its content, as an object.
_OVERHEAD_BYTES = 90
#: From so many waiting records on it matters how large they are.
_BACKLOG = 10_000
_WEIGH_SECONDS = 60.0


@dataclass(frozen=True)
class KafkaRange:
    """What a Kafka source reads, and from where to where."""

    topics: tuple[str, ...]
    pattern: str | None
    partitions: tuple[Partition, ...]
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None
    #: Seconds between two looks for new partitions; None: no looks.
    discovery: float | None
    commits: bool


class _PartitionEntry(SplitEntry):
    #: The first offset, and the one behind the last; None: without end.
    begin: int
    stop: int | None


class KafkaEnumerator(SplitEnumerator):
    """Follow the ends of all partitions."""

    def __init__(
        self, context: EnumeratorContext, settings: dict[str, Any], wanted: KafkaRange
    ) -> None:
        self._context = context
        self._settings = settings
        self._wanted = wanted
        #: Where each partition ends, as last heard.
        self._ends: dict[str, int] = {}
        #: Partitions that appeared while the job runs, with their first offsets.
        self._found: dict[str, int] = {}
        self._known: set[Partition] = set()
        #: Where the last batch that was asked for begins.
        self._at: dict[str, int] = {}
        self._record_bytes = float(_OVERHEAD_BYTES)
        self._weigh_at = 0.0
        self._commit: dict[Partition, int] | None = None
        self._closed = threading.Event()
        self._lookup: Lookup
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._lookup = Lookup(self._settings)
        restored = self._context.restored
        if restored is not None:
            self._known = {_partition(split) for split in restored["splits"]}
            self._at = {split: entry["at"] for split, entry in restored["splits"].items()}
            self._follow()

    def initial(self) -> Position:
        partitions = self._partitions()
        begins = self._lookup.chosen(self._wanted.starting, partitions)
        stops: Mapping[Partition, int] = {}
        if self._wanted.stopping is not None:
            stops = self._lookup.chosen(self._wanted.stopping, partitions)
        splits = {}
        for place in partitions:
            begin = begins[place]
            splits[_split(place)] = self._entry(place, begin, begin, stops.get(place))
        self._at = {_split(place): begin for place, begin in begins.items()}
        self._known = set(partitions)
        self._follow()
        return self._position(splits)

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        entries = dict(_entries(start))
        for split, begin in list(self._found.items()):
            if split not in entries:
                entries[split] = self._entry(_partition(split), begin, begin, None)
        ready: dict[str, int] = {}
        for split, entry in entries.items():
            end = self._ends.get(split, entry["at"])
            if entry["stop"] is not None:
                end = min(end, entry["stop"])
            ready[split] = max(end - entry["at"], 0)
        most = max(1, min(limit.max_records, int(limit.max_bytes / self._record_bytes)))
        shares = divide(ready, most)
        self._at = {split: entry["at"] for split, entry in entries.items()}
        splits = {}
        for split, entry in entries.items():
            at = entry["at"] + shares[split]
            splits[split] = self._entry(_partition(split), entry["begin"], at, entry["stop"])
        return self._position(splits)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = []
        for split, entry in _entries(end).items():
            before = start["splits"].get(split)
            at = entry["begin"] if before is None else before["at"]
            if at < entry["at"]:
                ranges.append((entry, SplitRange(split, at, entry["at"])))
        return by_subtask(ranges, self._context.parallelism)

    def committed(self, position: Position) -> None:
        if self._wanted.commits:
            offsets = {_partition(s): entry["at"] for s, entry in position["splits"].items()}
            self._commit = offsets

    def metrics(self) -> dict[str, Any]:
        waiting = sum(max(end - self._at.get(split, end), 0) for split, end in self._ends.items())
        return {f"{self._context.operator}.KafkaSourceReader.pendingRecords": waiting}

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    # -------------------------------------------------------------------- the thread that asks

    def _follow(self) -> None:
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-kafka-{self._context.operator}", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        look_at = time.monotonic() + (self._wanted.discovery or 0)
        patience = 0.0
        while not self._closed.wait(_ASK_SECONDS):
            try:
                self._lookup.serve()
                if self._wanted.discovery is not None and time.monotonic() >= look_at:
                    look_at = time.monotonic() + self._wanted.discovery
                    self._discover()
                self._ask_for_ends()
                self._commit_offsets()
            except SourceError as error:
                if self._lookup.trouble.denied is not None:
                    self._context.fail(error)
                    break
                # The brokers may be back in a moment; until then there is nothing to read.
                if time.monotonic() >= patience:
                    _logger.warning("source %r waits: %s", self._context.operator, error)
                    patience = time.monotonic() + 60
                self._closed.wait(_RETRY_SECONDS)
            except Exception as error:
                self._context.fail(error)
                break
        self._last_commit()
        self._lookup.close()

    def _ask_for_ends(self) -> None:
        ends = {_split(place): end for place, end in self._lookup.ends(self._known).items()}
        if ends != self._ends:
            self._weigh(ends)
            self._ends = ends
            self._context.wake()

    def _weigh(self, ends: Mapping[str, int]) -> None:
        """Learn how large records are before many of them go into one batch."""
        waiting = {split: end - self._at.get(split, 0) for split, end in ends.items()}
        longest = max(waiting, key=lambda split: waiting[split], default=None)
        if longest is None or waiting[longest] < _BACKLOG or time.monotonic() < self._weigh_at:
            return
        size = self._lookup.average_size(_partition(longest), self._at.get(longest, 0))
        if size is not None:
            self._record_bytes = size + _OVERHEAD_BYTES
            self._weigh_at = time.monotonic() + _WEIGH_SECONDS

    def _discover(self) -> None:
        new = [place for place in self._partitions() if place not in self._known]
        if new:
            # From their beginning: what was written before they were seen is new as well.
            for place, begin in self._lookup.begins(new).items():
                self._found[_split(place)] = begin
            self._known |= set(new)

    def _commit_offsets(self) -> None:
        offsets, self._commit = self._commit, None
        if offsets:
            try:
                self._lookup.commit(offsets)
            except Exception as error:
                # Only others look at them: this job goes on from its own checkpoint.
                _logger.warning("offsets of %r not committed: %s", self._context.operator, error)

    def _last_commit(self) -> None:
        if self._commit is not None:
            self._commit_offsets()

    def _partitions(self) -> list[Partition]:
        wanted = self._wanted
        if wanted.partitions:
            existing = set(self._lookup.partitions(dict.fromkeys(t for t, _ in wanted.partitions)))
            missing = [f"{t}-{p}" for t, p in wanted.partitions if (t, p) not in existing]
            if missing:
                raise SourceError("there are no such partitions", got=", ".join(missing))
            return list(wanted.partitions)
        if wanted.pattern is not None:
            return self._lookup.matching(wanted.pattern)
        return self._lookup.partitions(wanted.topics)

    # --------------------------------------------------------------------------- positions

    def _entry(self, place: Partition, begin: int, at: int, stop: int | None) -> _PartitionEntry:
        subtask = owner_of(place, self._context.parallelism)
        done = stop is not None and at >= stop
        return {"at": at, "subtask": subtask, "done": done, "begin": begin, "stop": stop}

    def _position(self, splits: Mapping[str, _PartitionEntry]) -> Position:
        ends = self._wanted.stopping is not None
        return {"splits": splits, "done": ends and all(e["done"] for e in splits.values())}


def _entries(position: Position) -> Mapping[str, _PartitionEntry]:
    return cast("Mapping[str, _PartitionEntry]", position["splits"])


def owner_of(place: Partition, parallelism: int) -> int:
    """Return the subtask that reads a partition, as Flink chooses it.

    >>> sorted(owner_of(("words", n), 2) for n in range(4))
    [0, 0, 1, 1]
    """
    topic, partition = place
    code = 0
    for character in topic:
        code = (code * 31 + ord(character)) & 0xFFFFFFFF
    first = ((code * 31) & 0x7FFFFFFF) % parallelism
    return (first + partition) % parallelism


def divide(ready: Mapping[str, int], most: int) -> dict[str, int]:
    """Share out a number of records among splits: equally, and none to who has no more.

    >>> divide({"a": 1, "b": 50, "c": 50}, 11)
    {'a': 1, 'b': 5, 'c': 5}
    """
    shares = dict.fromkeys(ready, 0)
    left, waiting = most, len(ready)
    for split in sorted(ready, key=lambda split: (ready[split], split)):
        # The smallest first: what it does not need goes to the others.
        shares[split] = min(ready[split], -(-left // waiting))
        left -= shares[split]
        waiting -= 1
    return shares


def _split(place: Partition) -> str:
    return f"{place[0]}-{place[1]}"


def _partition(split: str) -> Partition:
    topic, _, number = split.rpartition("-")
    return topic, int(number)
