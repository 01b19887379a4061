"""Streams of Redis as a source: read by id, so that a replay reads the same entries."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from penstock.connectors.positions import by_subtask, make_position
from penstock.connectors.redis.config import FlinkJedisPoolConfig, library
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SplitEntry,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import ConfigurationError, SourceError, show_value

_logger = logging.getLogger("penstock.redis")

EARLIEST, LATEST = "0-0", "$"
#: How often the server is asked for new entries.
_ASK_SECONDS = 0.05
_RETRY_SECONDS = 1.0
#: How long a server may be away while a reader reads.
_PATIENCE_SECONDS = 120.0
#: Entries between two places where a batch may end.
_STEP = 5000
#: So many places are looked for ahead of what is read.
_AHEAD = 40
_CHUNK = 1000
#: The entries behind one id: how many, and the last one's id. They themselves stay at the server.
_LAST_OF = """
local found = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
if #found == 0 then return {0, ARGV[1]} end
return {#found, found[#found][1]}
"""


@dataclass(frozen=True)
class RedisStreamEntry:
    """An entry of a stream."""

    stream: str
    id: str
    fields: dict[str, str]

    @property
    def timestamp(self) -> int:
        """Return when it was added, in epoch milliseconds, if the server has chosen its id."""
        return int(self.id.partition("-")[0])


class RedisStreamSource(Source):
    """Read streams of Redis, each in one subtask. Needs the extra `redis`.

    Exactly once: the ids are in the job's checkpoint, and a replay reads the same entries. It needs
    no consumer group, and acknowledges nothing; entries that are trimmed before they are read are
    not seen. The record's timestamp is that of its id.

    :param flink_jedis_config: where the server is.
    :param streams: the keys of the streams; one that is not there is empty.
    :param start: an id behind which a new job begins; `"0-0"`: with the first entry, `"$"`: with
        what is added from now on.
    :param bounded: end with the entry that is the last one when the job begins.
    :param decode: turns a `RedisStreamEntry` into a record; None leaves it out.

    >>> config = FlinkJedisPoolConfig.Builder().set_host("localhost").build()
    >>> source = RedisStreamSource(config, "readings", decode=lambda entry: entry.fields["id"])
    """

    def __init__(
        self,
        flink_jedis_config: FlinkJedisPoolConfig,
        streams: str | Sequence[str],
        start: str = EARLIEST,
        *,
        bounded: bool = False,
        decode: Callable[[RedisStreamEntry], Any] | None = None,
    ) -> None:
        library()
        self._config = flink_jedis_config
        self._streams = (streams,) if isinstance(streams, str) else tuple(streams)
        if not self._streams:
            raise ConfigurationError("there is no stream to read", where="RedisStreamSource()")
        parts = start.split("-")
        if start != LATEST and not (len(parts) == 2 and all(part.isdigit() for part in parts)):
            raise ConfigurationError(
                "this is no id of an entry",
                where="RedisStreamSource()",
                got=f"start={show_value(start)}",
                todo="pass '0-0', '$', or an id like '1700000000000-0'",
            )
        self._start = start
        self.bounded = bounded
        self._decode = decode

    def identity(self) -> str:
        return ",".join(self._streams)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _StreamEnumerator(context, self._config, self._streams, self._start, self.bounded)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _StreamReader(self._config, self._decode)


class _StreamEntry(SplitEntry):
    """Where one stream stands."""

    #: The id of the last entry to read, if there is one.
    stop: str | None


class _StreamEnumerator(SplitEnumerator):
    """Look for places where batches may end, in a thread of its own."""

    def __init__(
        self,
        context: EnumeratorContext,
        config: FlinkJedisPoolConfig,
        streams: tuple[str, ...],
        start: str,
        bounded: bool,
    ) -> None:
        self._context = context
        self._config = config
        self._streams = streams
        self._start = start
        self._bounded = bounded
        self._client = config.connect()
        self._last_of = self._client.register_script(_LAST_OF)
        self._lock = threading.Lock()
        #: By stream: places behind what was read last, as (id, entries in front of it).
        self._places: dict[str, deque[tuple[str, int]]] = {name: deque() for name in streams}
        #: By stream, the last place that has been found.
        self._found: dict[str, str] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._context.restored is not None:
            known = self._context.restored["splits"]
            self._follow({name: known[name]["at"] for name in self._streams if name in known})

    def initial(self) -> Position:
        try:
            ends = {name: self._last_id(name) for name in self._streams}
        except library().exceptions.RedisError as error:
            raise _failed(self._config, error) from None
        begins = ends if self._start == LATEST else dict.fromkeys(self._streams, self._start)
        self._follow(begins)
        stops = ends if self._bounded else dict.fromkeys(self._streams)
        return make_position(
            {name: self._entry(name, begins[name], stops[name]) for name in self._streams}
        )

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        share = max(limit.max_records // len(self._streams), 1)
        entries = cast("dict[str, _StreamEntry]", dict(start["splits"]))
        for name in self._streams:
            entry = entries.get(name) or self._entry(name, EARLIEST, None)
            entries[name] = self._entry(name, self._reach(name, entry, share), entry["stop"])
        return make_position(entries)

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        ranges = []
        for name, entry in end["splits"].items():
            before = start["splits"].get(name)
            at = EARLIEST if before is None else before["at"]
            if at != entry["at"]:
                ranges.append((entry, SplitRange(name, at, entry["at"])))
        return by_subtask(ranges, self._context.parallelism)

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    # -------------------------------------------------------------------------------- positions

    def _entry(self, name: str, at: str, stop: str | None) -> _StreamEntry:
        subtask = self._streams.index(name) % self._context.parallelism
        done = stop is not None and _order(at) >= _order(stop)
        return {"at": at, "subtask": subtask, "done": done, "stop": stop}

    def _reach(self, name: str, entry: _StreamEntry, most: int) -> str:
        """Return how far a batch reads that begins at an entry's place."""
        at, stop, count = entry["at"], entry["stop"], 0
        with self._lock:
            places = self._places[name]
            while places and _order(places[0][0]) <= _order(at):
                places.popleft()
            for place, entries in places:
                count += entries
                if at != entry["at"] and count > most:
                    break
                at = place
        if stop is not None and _order(at) > _order(stop):
            return str(stop)
        return str(at)

    # -------------------------------------------------------------------- the thread that asks

    def _follow(self, begins: dict[str, str]) -> None:
        self._found = {name: begins.get(name, EARLIEST) for name in self._streams}
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-redis-{self._context.operator}", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        errors = library().exceptions
        told = False
        while not self._closed.wait(_ASK_SECONDS):
            try:
                # Each of them is asked, whatever the others have.
                if sum(self._look(name) for name in self._streams):
                    self._context.wake()
                told = False
            except (errors.AuthenticationError, errors.ResponseError) as error:
                self._context.fail(_failed(self._config, error))
                return
            except (errors.RedisError, OSError) as error:
                # It may be back in a moment; until then there is nothing to read.
                if not told:
                    _logger.warning("%s: source waits: %s", self._config, error)
                told = True
                self._closed.wait(_RETRY_SECONDS)
        self._client.close()

    def _look(self, name: str) -> bool:
        """Find the next places of a stream; tell whether there are any."""
        news = False
        while len(self._places[name]) < _AHEAD:
            count, last = self._last_of(keys=[name], args=[self._found[name], _STEP])
            if count == 0:
                break
            with self._lock:
                self._found[name] = last.decode()
                self._places[name].append((self._found[name], count))
            news = True
        return news

    def _last_id(self, name: str) -> str:
        entries = self._client.xrevrange(name, count=1)
        return EARLIEST if not entries else str(entries[0][0].decode())


class _StreamReader(SourceReader):
    """Read ranges of ids."""

    def __init__(
        self,
        config: FlinkJedisPoolConfig,
        decode: Callable[[RedisStreamEntry], Any] | None,
    ) -> None:
        self._config = config
        self._decode = decode
        self._client: Any = None

    def open(self) -> None:
        self._client = self._config.connect()

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        at = split_range.start
        while at != split_range.end:
            found = self._fetch(split_range.split, at, split_range.end)
            if not found:
                break
            entries = [
                RedisStreamEntry(split_range.split, key.decode(), _texts(fields))
                for key, fields in found
            ]
            at = entries[-1].id
            yield self._records(entries)

    def _fetch(self, stream: str, at: str, end: str) -> list[Any]:
        errors = library().exceptions
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                found: list[Any] = self._client.xrange(stream, f"({at}", end, _CHUNK)
                return found
            except (errors.ConnectionError, errors.TimeoutError, OSError) as error:
                denied = isinstance(error, errors.AuthenticationError)
                if denied or time.monotonic() > deadline:
                    raise _failed(self._config, error) from None
                time.sleep(_RETRY_SECONDS)
            except errors.RedisError as error:
                raise _failed(self._config, error) from None

    def _records(self, entries: list[RedisStreamEntry]) -> SourceBatch:
        if self._decode is None:
            return SourceBatch(entries, [entry.timestamp for entry in entries])
        values, times = [], []
        for entry in entries:
            try:
                value = self._decode(entry)
            except Exception as error:
                raise SourceError(
                    "an entry cannot be turned into a record",
                    got=f"{show_value(entry, 200)}; {type(error).__name__}: {error}",
                    todo="use a function that fits the stream, or one that returns None for what "
                    "it cannot read",
                ) from error
            if value is not None:
                values.append(value)
                times.append(entry.timestamp)
        return SourceBatch(values, list(times))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def _texts(fields: dict[bytes, bytes]) -> dict[str, str]:
    return {
        name.decode(errors="replace"): value.decode(errors="replace")
        for name, value in fields.items()
    }


def _order(entry_id: str) -> tuple[int, int]:
    time, _, number = entry_id.partition("-")
    return int(time), int(number)


def _failed(config: FlinkJedisPoolConfig, error: BaseException) -> SourceError:
    return SourceError(
        f"Redis at {config.get_host()}:{config.get_port()} cannot be read",
        got=f"{type(error).__name__}: {error}",
        todo="check the server, the password, and that the key holds a stream",
    )
