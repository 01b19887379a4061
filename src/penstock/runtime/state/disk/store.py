"""The part of a slot's state that is not in memory: a RocksDB in a folder of the worker.

It is no more durable than memory is. What a slot goes on from after a failure is its log
(`runtime.state.log`); the store is filled from there like a task's dictionaries, and is removed
with the task. Hence nothing in it has to be synced, and what a task did half-way goes with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common.state_options import ROCKSDB_LOCAL_DIR, ROCKSDB_MEMORY
from penstock.errors import StateError
from penstock.execution.process_folder import folder_in

try:
    import rocksdict
except ImportError:
    rocksdict = None  # type: ignore[assignment, unused-ignore]

#: Setting of a job: the folder of the user's process, which workers on its machine use too.
STATE_FOLDER_SETTING = "penstock.state-folder"
#: Shares of the memory: what is written first stands in buffers, what was used last in a cache.
_BUFFERS, _HOT = 0.25, 0.25
_BLOCK = 8 << 10
_FILTER_BITS = 10
_OPEN_FILES = 256
#: Keys that a scan reads at a time.
_SCAN = 512


def require_rocksdb() -> None:
    """Make sure that RocksDB can be used.

    :raises StateError: if its package is not there.
    """
    if rocksdict is None:
        raise StateError(
            "the state backend 'rocksdb' needs the package rocksdict",
            where="configuration key state.backend.type",
            got="it cannot be imported",
            todo="pip install 'penstock[rocksdb]', here and where the workers run; or use the "
            "backend 'hashmap'",
        )


@dataclass
class _Memory:
    """What all stores of a process share, so that together they keep to one budget."""

    cache: Any
    buffers: Any
    #: How many bytes of keys and values all dictionaries together may keep, and how many there are.
    hot_bytes: int
    dictionaries: int = 0


_memory: dict[int, _Memory] = {}


def _memory_of(budget: int) -> _Memory:
    found = _memory.get(budget)
    if found is None:
        # Buffers are charged to the cache: the two of them never take more than its capacity.
        cache = rocksdict.Cache(int(budget * (1 - _HOT)))
        size = int(budget * _BUFFERS)
        manager = rocksdict.WriteBufferManager
        buffers = manager.new_write_buffer_manager_with_cache(size, False, cache)
        found = _memory[budget] = _Memory(cache, buffers, int(budget * _HOT))
    return found


def _parent(settings: Mapping[str, Any]) -> Path:
    """Return where the folders of stores are made."""
    given = ROCKSDB_LOCAL_DIR.read(settings)
    if given is not None:
        return Path(given)
    # Where the worker is on the driver's machine, what it leaves goes at the latest with the job.
    shared = settings.get(STATE_FOLDER_SETTING)
    if shared is not None and os.path.isdir(shared):
        return Path(shared)
    return Path(tempfile.gettempdir())


class DiskStore:
    """Pairs of bytes of one slot, with what is changed in memory written at the end of a batch.

    :param settings: of the job.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        require_rocksdb()
        self._memory = _memory_of(ROCKSDB_MEMORY.read(settings))
        self._parent = _parent(settings)
        self._path: Path | None = None
        self._db: Any = None
        self._flushes: list[Callable[[Any], None]] = []

    def new_prefix(self, flush: Callable[[Any], None]) -> bytes:
        """Return the first bytes of the keys of a dictionary.

        :param flush: writes what has changed to a batch of writes; called at the end of each batch.
        """
        self._flushes.append(flush)
        self._memory.dictionaries += 1
        return len(self._flushes).to_bytes(2, "big")

    @property
    def share(self) -> int:
        """Return the bytes that each dictionary may keep in memory."""
        return self._memory.hot_bytes // self._memory.dictionaries

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        if self._db is None:
            return None  # nothing has been written yet
        found: bytes | None = self._db.get(key)
        return found

    def scan(self, prefix: bytes, begin: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Return the pairs with a prefix in the order of their keys, from one on.

        The store may change meanwhile: pairs that are written or removed behind the one that was
        returned last count, as they are then.
        """
        start = prefix + begin
        while self._db is not None:
            chunk: list[tuple[bytes, bytes]] = []
            for key, value in self._db.items(from_key=start):
                if not key.startswith(prefix) or len(chunk) == _SCAN:
                    break
                chunk.append((key, value))
            yield from chunk
            if len(chunk) < _SCAN:
                return
            start = chunk[-1][0] + b"\0"

    def flush(self) -> None:
        """Write what the dictionaries hold, as a whole; let go of what memory has no room for."""
        batch = rocksdict.WriteBatch(raw_mode=True)
        for flush in self._flushes:
            flush(batch)
        if len(batch):
            self._open().write(batch)

    def _open(self) -> Any:
        if self._db is None:
            self._path = folder_in(self._parent).make("state")
            self._db = rocksdict.Rdict(str(self._path), self._options())
            unlogged: Any = rocksdict.WriteOptions()
            unlogged.disable_wal = True
            self._db.set_write_options(unlogged)
        return self._db

    def _options(self) -> Any:
        memory = self._memory
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_manager(memory.buffers)
        options.set_max_open_files(_OPEN_FILES)
        options.set_compression_type(rocksdict.DBCompressionType.lz4())
        blocks = rocksdict.BlockBasedOptions()
        blocks.set_block_cache(memory.cache)
        blocks.set_block_size(_BLOCK)
        blocks.set_bloom_filter(_FILTER_BITS, False)
        blocks.set_cache_index_and_filter_blocks(True)
        blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
        options.set_block_based_table_factory(blocks)
        return options

    def close(self) -> None:
        """Remove it."""
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None
        self._memory.dictionaries -= len(self._flushes)
        self._flushes = []
