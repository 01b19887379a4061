"""The process that Spark forks Python workers from, with one thing left out.

Spark's own runs a full garbage collection in a worker after every task. A worker of Penstock keeps
the state of its slots in memory: looking at all of it after each batch would make a batch cost
what is in state, not what changed. Python's own collector still runs, at its own pace.
"""

from __future__ import annotations

from pyspark import daemon


class _NoCollection:
    """Stands in for the module `gc` where the daemon uses it."""

    @staticmethod
    def collect() -> int:
        return 0


if __name__ == "__main__":
    daemon.gc = _NoCollection  # type: ignore[assignment]
    daemon.manager()
