"""Dictionaries that are larger than memory.

A `DiskDict` is what tables (`runtime.state.tables`) take for a dictionary. Memory has what was
touched since the last flush, and some of what was touched before; the rest is in the slot's store.
A value that was read may be changed in place, as in any dictionary: at the flush everything that
was touched is turned into bytes, and what is not as it was read is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.core.pickling import dumps, loads
from penstock.runtime.state.disk.key_bytes import SHARED, key_bytes, time_bytes
from penstock.runtime.state.disk.store import DiskStore

_ABSENT: Any = object()
_held = dict.get
_holds = dict.__contains__
#: Behind the bytes of all keys of a time.
_BEHIND = b"\xff" * 9
#: Bytes that an entry takes in memory beside its own.
_OVERHEAD = 300


def _same(value: Any) -> Any:
    return value


class DiskDict(dict[Any, Any]):
    """A dictionary in a slot's store.

    What is in the underlying `dict` was touched since the last flush. Setting an entry is the
    dictionary's own operation, at its speed; reading one looks into the store if it must.

    :param encode: turns a key into bytes.
    :param tag: where in these bytes it says that several keys may share them (`SHARED`); None:
        nowhere.
    :param pack: turns a value into what is pickled.
    :param unpack: undoes `pack`.
    """

    def __init__(
        self,
        store: DiskStore,
        encode: Callable[[Any], bytes] = key_bytes,
        tag: int | None = 0,
        pack: Callable[[Any], Any] = _same,
        unpack: Callable[[Any], Any] = _same,
    ) -> None:
        super().__init__()
        self._store = store
        self._encode, self._tag = encode, tag
        self._pack, self._unpack = pack, unpack
        self._prefix = store.new_prefix(self._flush)
        #: What the store has under the bytes of a key, for all keys that were looked up.
        self._read: dict[Any, bytes | None] = {}
        #: The bytes of keys that were looked up.
        self._codes: dict[Any, bytes] = {}
        #: Keys that are not in the dictionary any more, whatever the store has.
        self._gone: set[Any] = set()
        #: Entries as they are in the store: value and bytes.
        self._hot: dict[Any, tuple[Any, bytes]] = {}
        self._hot_bytes = 0
        self._stored = 0  # entries in the store

    # --- one entry ------------------------------------------------------------------------

    def get(self, key: Any, default: Any = None) -> Any:
        """Return a value."""
        value = _held(self, key, _ABSENT)
        if value is _ABSENT:
            value = self._fetch(key)
        return default if value is _ABSENT else value

    def __missing__(self, key: Any) -> Any:
        value = self._fetch(key)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return _holds(self, key) or self._fetch(key) is not _ABSENT

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return a value, and put one if there is none."""
        value = self.get(key, _ABSENT)
        if value is _ABSENT:
            value = self[key] = default
        return value

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove an entry and return its value."""
        value = self.get(key, _ABSENT)
        if value is _ABSENT:
            if default:
                return default[0]
            raise KeyError(key)
        super().__delitem__(key)
        self._gone.add(key)
        return value

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def _fetch(self, key: Any) -> Any:
        """Bring an entry into memory."""
        if key in self._gone:
            return _ABSENT
        hot = self._cooled(key)
        if hot is not None:
            value, data = hot
        else:
            if key in self._read and self._read[key] is None:
                return _ABSENT
            found = self._look_up(key)
            if found is None:
                return _ABSENT
            value, data = self._unpack(found[0]), found[1]
        self._read[key] = data
        self[key] = value
        return value

    def _look_up(self, key: Any) -> tuple[Any, bytes] | None:
        """Return the packed value that the store has of a key, and the bytes that it stands in."""
        data = self._bytes_of(key)
        if data is None:
            return None
        pairs = loads(data)
        for at in range(0, len(pairs), 2):
            if pairs[at] == key:
                return pairs[at + 1], data
        return None

    # --- all entries ----------------------------------------------------------------------

    def __len__(self) -> int:
        new = sum(1 for key in super().__iter__() if not self._is_stored(key))
        gone = sum(1 for key in self._gone if not _holds(self, key) and self._is_stored(key))
        return self._stored + new - gone

    def __bool__(self) -> bool:
        return super().__len__() > 0 or len(self) > 0

    def _is_stored(self, key: Any) -> bool:
        """Tell whether the store has an entry of a key, which memory may know better."""
        if key in self._hot:
            return True
        return key in _keys_in(self._read[key] if key in self._read else self._bytes_of(key))

    def _bytes_of(self, key: Any) -> bytes | None:
        encoded = self._codes[key] = self._encode(key)
        data = self._read[key] = self._store.get(self._prefix + encoded)
        return data

    def __iter__(self) -> Iterator[Any]:
        """Return the keys in the order of their bytes, which is the same in every worker."""
        new = [key for key in super().__iter__() if not self._is_stored(key)]
        return self._merged(self._store.scan(self._prefix), new)

    def _merged(self, scanned: Iterable[tuple[bytes, bytes]], new: list[Any]) -> Iterator[Any]:
        """Merge what a scan finds with what is only in memory."""
        encode, prefix = self._encode, self._prefix
        waiting = sorted(((prefix + encode(key), key) for key in new), key=_first, reverse=True)
        for encoded, data in scanned:
            while waiting and waiting[-1][0] < encoded:
                yield waiting.pop()[1]
            for key in _keys_in(data):
                if key not in self._gone or _holds(self, key):
                    yield key
        for _, key in reversed(waiting):
            yield key

    def keys(self) -> Any:
        """Return the keys."""
        return iter(self)

    def items(self) -> Any:
        """Return the entries."""
        return ((key, self[key]) for key in self)

    def holds(self, key: Any) -> bool:
        """Tell whether memory has an entry that was touched since the last flush."""
        return _holds(self, key)

    def held_items(self) -> Iterable[tuple[Any, Any]]:
        """Return the entries that were touched since the last flush."""
        return super().items()

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self):
            del self[key]

    # --- the end of a batch ---------------------------------------------------------------

    def _flush(self, batch: Any) -> None:
        """Write what has changed, keep what there is room for."""
        prefix, encode, tag, hot = self._prefix, self._encode, self._tag, self._hot
        codes, shared = self._codes, dict[bytes, dict[Any, Any]]()
        for key, value in super().items():
            encoded, packed = codes.get(key) or encode(key), self._pack(value)
            if tag is not None and encoded[tag] == SHARED:
                shared.setdefault(encoded, {})[key] = packed
                continue
            before = self._before(key, prefix + encoded)
            data = dumps((key, packed))
            if data != before:
                batch.put(prefix + encoded, data)
                self._stored += before is None
            hot[key] = (value, data)
            self._hot_bytes += 2 * len(data) + _OVERHEAD
        for key in self._gone:
            if not _holds(self, key):
                encoded = codes.get(key) or encode(key)
                if tag is not None and encoded[tag] == SHARED:
                    shared.setdefault(encoded, {})[key] = _ABSENT
                elif self._before(key, prefix + encoded) is not None:
                    batch.delete(prefix + encoded)
                    self._stored -= 1
        for encoded, changes in shared.items():
            self._write_shared(batch, prefix + encoded, changes)
        self._trim()
        self._gone.clear()
        self._read.clear()
        codes.clear()
        super().clear()

    def _before(self, key: Any, encoded: bytes) -> bytes | None:
        """Return what the store has of a key that memory knows better."""
        if key in self._read:
            return self._read[key]
        hot = self._cooled(key)
        return self._store.get(encoded) if hot is None else hot[1]

    def _cooled(self, key: Any) -> tuple[Any, bytes] | None:
        hot = self._hot.pop(key, None)
        if hot is not None:
            self._hot_bytes -= 2 * len(hot[1]) + _OVERHEAD
        return hot

    def _write_shared(self, batch: Any, encoded: bytes, changes: dict[Any, Any]) -> None:
        """Write the entries whose keys have the same bytes."""
        before = self._store.get(encoded)
        pairs = () if before is None else loads(before)
        entries = dict(zip(pairs[::2], pairs[1::2], strict=True))
        self._stored -= len(entries)
        entries.update(changes)
        left = {key: packed for key, packed in entries.items() if packed is not _ABSENT}
        self._stored += len(left)
        data = dumps(tuple(part for pair in left.items() for part in pair)) if left else None
        if data is None:
            if before is not None:
                batch.delete(encoded)
        elif data != before:
            batch.put(encoded, data)

    def _trim(self) -> None:
        hot, room = self._hot, self._store.share
        surplus = self._hot_bytes - room
        if surplus <= 0:
            return
        # In one go: to look for the first key of a dictionary again and again is slow.
        oldest = []
        for key, (_, data) in hot.items():
            oldest.append(key)
            surplus -= 2 * len(data) + _OVERHEAD
            if surplus <= 0:
                break
        for key in oldest:
            self._cooled(key)


class TimedDiskDict(DiskDict):
    """A dictionary whose keys begin with a time, and are in the order of their bytes.

    :param encode: turns a key into bytes that begin with those of its time.
    """

    def __init__(
        self, store: DiskStore, encode: Callable[[Any], bytes], tag: int | None = None
    ) -> None:
        super().__init__(store, encode, tag)
        self._begin = b""  # what the store has before it has been taken

    def take(self, time: int) -> list[tuple[Any, Any]]:
        """Remove the entries up to a time, and return them in order."""
        new = [key for key, _ in self.held_items() if key[0] <= time and not self._is_stored(key)]
        found = [(key, self.pop(key)) for key in list(self._merged(self._scan(time), new))]
        self._begin = max(self._begin, time_bytes(time) + _BEHIND)
        return found

    def _scan(self, time: int) -> Iterator[tuple[bytes, bytes]]:
        end = self._prefix + time_bytes(time)
        for key, data in self._store.scan(self._prefix, self._begin):
            if key[: len(end)] > end:
                return
            yield key, data

    def first_time(self) -> int | None:
        """Return the time of the first entry."""
        held = (key[0] for key, _ in self.held_items())
        earliest = min(held, default=None)
        for _, data in self._store.scan(self._prefix, self._begin):
            for key in _keys_in(data):
                if key not in self._gone:
                    found: int = key[0]
                    return found if earliest is None else min(earliest, found)
        return earliest

    def _flush(self, batch: Any) -> None:
        super()._flush(batch)
        self._begin = b""


def _keys_in(data: bytes | None) -> tuple[Any, ...]:
    return () if data is None else loads(data)[::2]


def _first(pair: tuple[bytes, Any]) -> bytes:
    return pair[0]
