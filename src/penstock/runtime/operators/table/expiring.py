"""State that is forgotten when its key has been silent for a while (`table.exec.state.ttl`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.runtime.operators.base import Operator
from penstock.runtime.state.tables import ValueTable


class ExpiringOperator(Operator):
    """Base of operators that keep something for each key.

    A timer stands at the end of a key's time to live. A key that was heard of since then has
    another one.
    """

    _touched: ValueTable | None = None

    def open(self) -> None:
        """Prepare to forget."""
        if self.spec.ttl > 0:
            assert self.backend is not None
            self._touched = self.backend.table("touched", "value")
        super().open()

    def touch(self, keys: Iterable[Any]) -> None:
        """Note that these keys are alive."""
        if self._touched is None:
            return
        assert self.backend is not None
        now, timers = self.scope.time, self.backend.processing_timers
        for key in set(keys):
            self._touched.put(key, now)
            timers.register(now + self.spec.ttl, (key, None))

    def on_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Forget a key that has been silent."""
        if self._touched is None:
            return
        last = self._touched.get(key)
        if last is not None and last + self.spec.ttl <= timestamp:
            self._touched.remove(key)
            self.forget(key)

    def forget(self, key: Any) -> None:
        """Let go of everything that is known of a key."""
        assert self.backend is not None
        for table in self.backend.tables.values():
            if table is not self._touched:
                table.remove(key)  # type: ignore[attr-defined]
