"""Settings of where keyed state is held while a job works."""

from __future__ import annotations

from penstock.common.option_registry import MORE, add_option
from penstock.common.option_values import one_of, optional_text, parse_memory

STATE_BACKEND = add_option(
    "state.backend.type",
    one_of(
        "hashmap",
        "rocksdb",
        also={"memory": "hashmap", "jobmanager": "hashmap", "filesystem": "hashmap"},
    ),
    "hashmap",
    "`hashmap`: keyed state is in memory; `rocksdb`: it is on disk, and may be larger",
    older=("state.backend",),
)
ROCKSDB_MEMORY = add_option(
    "state.backend.rocksdb.memory.fixed-per-slot",
    parse_memory,
    128 << 20,
    "memory that the backend `rocksdb` may take in each Python worker, whichever slots it works on",
    shown="`128 mb`",
)
ROCKSDB_LOCAL_DIR = add_option(
    "state.backend.rocksdb.localdir",
    optional_text,
    None,
    "folder for the files of the backend `rocksdb`, on each machine that has workers",
    shown="a temporary folder",
    rank=MORE,
)
