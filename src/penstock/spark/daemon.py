"""The process that Spark forks Python workers from, with less garbage collection and a memory.

Spark's own runs a full collection in a worker after every task. A worker of Penstock keeps the
state of its slots in memory: looking at all of it after each batch would make a batch cost what is
in state, not what changed. Python's own collector still runs, but not after every 700 new objects:
records are objects, a chunk has thousands of them, and none is garbage that it could find.

Spark's own lets the system forget how workers ended. This one notes it.
"""

from __future__ import annotations

import gc

from penstock.spark.internals import run_daemon_without_collections
from penstock.spark.worker_ends import note_ends

#: Of Python's collector, for its three generations.
THRESHOLDS = (100_000, 20, 20)


if __name__ == "__main__":
    gc.set_threshold(*THRESHOLDS)  # the workers are forks and have it too
    run_daemon_without_collections(note_ends)
