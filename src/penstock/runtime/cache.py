"""Tasks that a worker keeps between batches, within a budget of bytes.

A task is taken out before its first record and put back after its last output. One that fails in
between is gone, and what it did half-way with it.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any

_logger = logging.getLogger(__name__)


class TaskCache:
    """Least recently used tasks go first when the budget is spent."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        #: The attempt of each job that was at work here last.
        self._attempts: dict[str, str] = {}

    def enter(self, job_id: str, attempt: str) -> None:
        """Note which attempt of a job is at work here; what earlier ones left behind is closed."""
        before = self._attempts.get(job_id)
        if before == attempt:
            return
        self._attempts[job_id] = attempt
        for key in [key for key in self._kept if key[0] == before]:
            # It would never be found again, and keep its connections.
            discard(self.take(key))

    def take(self, key: Any) -> Any:
        """Return the task and forget it, None if it is not there."""
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        self._bytes -= kept[1]
        return kept[0]

    def put(self, key: Any, task: Any, size: int, budget: int) -> None:
        """Keep a task, and close those for which there is no room any more."""
        self._kept[key] = (task, size)
        self._bytes += size
        while self._bytes > budget and len(self._kept) > 1:
            _, (evicted, weight) = self._kept.popitem(last=False)
            self._bytes -= weight
            discard(evicted)

    def clear(self) -> None:
        """Forget everything, as a worker does that dies."""
        self._kept.clear()
        self._bytes = 0


def discard(task: Any) -> None:
    """Close a task that nobody will go on with; it must not bring down the one at work."""
    try:
        task.close()
    except Exception:
        _logger.warning("a function could not be closed", exc_info=True)


TASKS = TaskCache()
