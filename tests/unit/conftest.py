"""What tests of all kinds of state share: the backends that they must work on alike."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.common.state_options import ROCKSDB_LOCAL_DIR, ROCKSDB_MEMORY, STATE_BACKEND
from penstock.runtime.savepoint import snapshot

#: RocksDB syncs a new folder several times: there it costs nothing.
_FAST = Path("/dev/shm")


@pytest.fixture(scope="module", params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let all jobs that name no backend have this one, with next to no memory of its own."""
    folder = tempfile.mkdtemp(dir=_FAST if _FAST.is_dir() else None)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(ROCKSDB_LOCAL_DIR, "default_value", folder)
        monkeypatch.setattr(STATE_BACKEND, "default_value", request.param)
        monkeypatch.setattr(ROCKSDB_MEMORY, "default_value", 1 << 14)
        if request.param == "rocksdb":
            # Savepoints in many pieces, as those of a large state are.
            monkeypatch.setattr(snapshot, "_KEYS_AT_A_TIME", 3)
        yield request.param
    shutil.rmtree(folder, ignore_errors=True)
