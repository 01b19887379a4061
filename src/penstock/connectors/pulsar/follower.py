"""What is known of one topic: where it begins, how far it goes, and how far it has been read."""

from __future__ import annotations

from typing import Any

from penstock.connectors.pulsar.client import (
    BEGIN,
    Place,
    PulsarAccess,
    behind_entry,
    entry_id,
    just_before,
    library,
    path_of,
    place_from_bytes,
    place_of,
)
from penstock.connectors.pulsar.cursors import PulsarRange, StartCursor, StopCursor
from penstock.connectors.pulsar.reader import TopicReader
from penstock.core.io import ReadLimit

#: What an entry is taken to weigh as long as nobody has said.
_ENTRY_BYTES = 1000.0
_SCAN_WAIT_MILLIS = 50


class Follower:
    """Follow the end of a topic, with a subscription that keeps what has not been read.

    :param begin: where the job stands, if it goes on from an earlier run.
    :param stop: the last place that is read, if it is known.
    """

    def __init__(
        self,
        client: Any,
        access: PulsarAccess,
        topic: str,
        wanted: PulsarRange,
        begin: Place | None,
        stop: Place | None,
    ) -> None:
        self._client = client
        self._access = access
        self.topic = topic
        self._wanted = wanted
        self.begin: Place = BEGIN if begin is None else begin
        self.stop = stop
        self._end: Place = self.begin
        #: Ledgers with the number of their entries.
        self._ledgers: dict[int, int] = {}
        self._entry_bytes = _ENTRY_BYTES
        self._consumer: Any = None
        self._scanner: TopicReader | None = None

    def choose_begin(self, cursor: StartCursor) -> None:
        """Find where a new job begins, and where it ends if that can be told by now."""
        last = self._last()
        if cursor.kind == "latest":
            self.begin = last
        elif cursor.kind == "message":
            assert cursor.message_id is not None
            place = place_from_bytes(cursor.message_id)
            self.begin = just_before(place) if cursor.inclusive else place
        elif cursor.kind == "publish time":
            assert cursor.at is not None
            self.begin = self._before_first(StopCursor.at_publish_time(cursor.at), last)
        self._end = self.begin
        stopping = self._wanted.stopping
        if stopping.kind == "latest":
            self.stop = max(last, self.begin)
        elif stopping.kind == "message":
            assert stopping.message_id is not None
            place = place_from_bytes(stopping.message_id)
            self.stop = place if stopping.inclusive else just_before(place)

    def look(self, at: Place | None) -> bool:
        """Ask how far the topic goes by now; tell whether it goes further than before.

        :param at: how far it has been read.
        """
        last = self._last()
        if self._wanted.stopping.asks_messages and self.stop is None:
            last = self._scan(last)
        if last == self._end and self.stop is None:
            return False
        behind = self.begin if at is None else at
        if last[0] != behind[0] and last[0] not in self._ledgers:
            self._count_entries()
        changed = last != self._end
        self._end = last
        return changed

    def end_of_batch(self, at: Place, limit: ReadLimit, topics: int) -> Place:
        """Return how far a batch may read that begins at a place."""
        end = self._end if self.stop is None else min(self._end, self.stop)
        if self.stop is not None and self._end >= self.stop:
            end = self.stop
        if end <= at:
            return at
        most = max(1, min(limit.max_records, int(limit.max_bytes / self._entry_bytes)) // topics)
        return min(end, self._further(at, most, end[0]))

    def _further(self, at: Place, entries: int, last_ledger: int) -> Place:
        """Return the place some entries further; the ledgers in between need not be known."""
        ledger, entry = at[0], at[1]
        if ledger == last_ledger:
            return behind_entry(ledger, entry + entries)
        known = dict(self._ledgers)
        for each in sorted(known):
            if each < ledger:
                continue
            first = entry + 1 if each == ledger else 0
            left = known[each] - first
            if each == last_ledger or left >= entries:
                return behind_entry(each, first + entries - 1)
            entries -= max(left, 0)
        return behind_entry(last_ledger, entries)

    def acknowledge(self, place: Place) -> None:
        """Let the broker forget what has been read."""
        if place[0] >= 0 and place > BEGIN:
            self._subscribed().acknowledge_cumulative(entry_id((place[0], place[1], 0)))

    def _last(self) -> Place:
        """Return the place of the last message; in front of all if there is none."""
        last = place_of(self._subscribed().get_last_message_id())
        return BEGIN if last[1] < 0 else last

    def _subscribed(self) -> Any:
        if self._consumer is None:
            pulsar = library()
            from_end = self._wanted.starting.kind == "latest"
            positions = pulsar.InitialPosition
            self._consumer = self._client.subscribe(
                self.topic,
                self._wanted.subscription,
                # It only holds the place and asks: it receives nothing.
                receiver_queue_size=0,
                initial_position=positions.Latest if from_end else positions.Earliest,
            )
        return self._consumer

    def _count_entries(self) -> None:
        stats = self._access.ask(f"{path_of(self.topic)}/internalStats")
        ledgers = {each["ledgerId"]: each["entries"] for each in stats["ledgers"]}
        if stats["ledgers"]:
            # The one that is being written is listed without a number.
            ledgers[stats["ledgers"][-1]["ledgerId"]] = stats["currentLedgerEntries"]
        self._ledgers = ledgers
        if stats["numberOfEntries"]:
            self._entry_bytes = max(stats["totalSize"] / stats["numberOfEntries"], 1.0)

    # ------------------------------------------------- ends that only messages tell

    def _scan(self, last: Place) -> Place:
        """Return how far the messages are in front of the end that their times tell."""
        if self._scanner is None:
            self._scanner = TopicReader(self._client, self.topic, self._end)
        scanner = self._scanner
        while scanner.at < last:
            message = scanner.next(wait_millis=_SCAN_WAIT_MILLIS)
            if message is None:
                return last if scanner.is_at_end() else scanner.at
            if self._wanted.stopping.is_behind(message):
                self.stop = just_before(scanner.at)
                scanner.close()
                return self.stop
        return scanner.at

    def _before_first(self, cursor: StopCursor, last: Place) -> Place:
        """Return the place in front of the first message that a cursor ends at."""
        reader = TopicReader(self._client, self.topic, BEGIN)
        assert cursor.at is not None
        try:
            reader.seek(cursor.at)
            while reader.at < last:
                message = reader.next()
                if message is None and reader.is_at_end():
                    break
                if message is not None and cursor.is_behind(message):
                    return just_before(reader.at)
            return last
        finally:
            reader.close()
