"""The results of a running job, one after another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from penstock.connectors.collect import Collector
from penstock.execution.executor import JobHandle


class CloseableIterator:
    """Iterate over the records that `execute_and_collect` brings in.

    Ends with the job; a job that fails raises its error behind the last record that came in.
    """

    def __init__(self, collector: Collector, handle: JobHandle) -> None:
        self._collector = collector
        collector.on_close(handle.cancel)
        watcher = threading.Thread(
            target=_tell_end, args=(collector, handle), name="penstock-collect", daemon=True
        )
        watcher.start()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """Return the next record, waiting for it if need be.

        :raises StopIteration: when the job has ended, or this was closed.
        :raises JobError: when the job has failed.
        """
        return next(self._collector)

    def close(self) -> None:
        """Want no more records, and end the job if it is still running."""
        self._collector.close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tell_end(collector: Collector, handle: JobHandle) -> None:
    try:
        handle.wait()
    except BaseException as error:
        collector.fail(error)
    else:
        collector.finish()
