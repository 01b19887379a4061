"""Joins whose rows need not be kept for ever: of time intervals, of windows, of versions."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from penstock.graph.relational.specs import DELETE, INSERT
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.table.programs import load_program
from penstock.runtime.operators.table.timed import TimedOperator, row_time
from penstock.runtime.state.tables import ValueTable


def _test_of(operator: Operator) -> Callable[[Any, Any], bool] | None:
    program = operator.spec.condition
    return None if program is None else load_program(operator, program)["matches"]


class _TwoInputs(Operator):
    """Base: rows of both inputs go to one method."""

    def open(self) -> None:
        """Load the condition."""
        assert self.backend is not None
        self._keys = self.backend.context
        self._test = _test_of(self)
        self._pads = [(None,) * width for width in self.spec.widths]
        self._dropped = self.late_counter()
        kind = self.spec.kind
        self._outer = (kind in ("left", "full"), kind in ("right", "full"))
        super().open()

    def process(self, value: Any) -> None:
        """Take one row of the left input."""
        self.take(self._keys.key, value, 0)

    def process2(self, value: Any) -> None:
        """Take one row of the right input."""
        self.take(self._keys.key, value, 1)

    def take(self, key: Any, row: Any, side: int) -> None:
        """Take one row of one side."""
        raise TypeError("abstract")

    def _has_null(self, row: Any, side: int) -> bool:
        return any(row[i] is None for i in self.spec.strict_keys[side])

    def _matches(self, row: Any, other: Any, side: int) -> bool:
        if self._test is None:
            return True
        return self._test(row, other) if side == 0 else self._test(other, row)


class IntervalJoinTableOperator(_TwoInputs):
    """Pairs of rows whose times are within bounds; outer rows are padded once nobody can come.

    The state of a key are two lists of `[time, row, matched]`, one a side.
    """

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("sides", "value")
        lower, upper = self.spec.lower, self.spec.upper
        # How far from its own time a row's partners may be, and how long it must wait for them.
        self._bounds = [(-upper, -lower), (lower, upper)]
        self._waits = [max(-lower, 0), max(upper, 0)]
        super().open()

    def take(self, key: Any, row: Any, side: int) -> None:
        """Take one row of one side."""
        assert self.backend is not None
        spec = self.spec
        if spec.proctime:
            time, now = self.scope.time, self.scope.time
        else:
            value = row[spec.times[side]]
            if value is None:
                return
            time, now = row_time(value), self.watermark
        held: Any = self._table.get(key) or ([], [])
        low, high = time + self._bounds[side][0], time + self._bounds[side][1]
        matched = False
        if not self._has_null(row, side):
            for entry in held[1 - side]:
                if low <= entry[0] <= high and self._matches(row, entry[1], side):
                    entry[2] = matched = True
                    pair = (*row, *entry[1]) if side == 0 else (*entry[1], *row)
                    self.emit(pair)
        until = time + self._waits[side]
        if until < now:
            if self._outer[side] and not matched:
                self.emit(self._padded(row, side))
        else:
            held[side].append([time, row, matched])
            timers = self.backend.processing_timers if spec.proctime else self.backend.event_timers
            timers.register(until + 1, (key, None))
        if held[0] or held[1]:
            self._table.put(key, held)

    def _padded(self, row: Any, side: int) -> tuple[Any, ...]:
        return (*row, *self._pads[1]) if side == 0 else (*self._pads[0], *row)

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Let go of the rows that no partner can reach any more."""
        held = self._table.get(key)
        if held is None:
            return
        for side in (0, 1):
            kept = []
            for entry in held[side]:
                if entry[0] + self._waits[side] >= timestamp:
                    kept.append(entry)
                elif self._outer[side] and not entry[2]:
                    self.emit(self._padded(entry[1], side))
            held[side][:] = kept
        self._table.put(key, held if held[0] or held[1] else None)

    on_processing_timer = on_event_timer


class WindowJoinOperator(_TwoInputs):
    """Rows of one window and key, joined when the window has ended."""

    def open(self) -> None:
        """Get the state."""
        assert self.backend is not None
        self._table: ValueTable = self.backend.table("sides", "value")
        super().open()

    def take(self, key: Any, row: Any, side: int) -> None:
        """Take one row of one side."""
        assert self.backend is not None
        fires = row_time(row[self.spec.times[side]]) - 1
        if fires <= self.watermark:
            self._dropped.inc()
            return
        held: Any = self._table.get(key) or ([], [])
        held[side].append(row)
        self._table.put(key, held)
        self.backend.event_timers.register(fires, (key, None))

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Join the rows of a window that has ended."""
        held = self._table.get(key)
        self._table.put(key, None)
        if held is not None:
            self.emit_all(list(self._joined(*held)))

    def _joined(self, lefts: list[Any], rights: list[Any]) -> Iterator[Any]:
        kind = self.spec.kind
        used: set[int] = set()
        for left in lefts:
            pairs = []
            if not self._has_null(left, 0):
                pairs = [i for i, r in enumerate(rights) if self._matches(left, r, 0)]
            if kind in ("semi", "anti"):
                if bool(pairs) is (kind == "semi"):
                    yield left
                continue
            used.update(pairs)
            for i in pairs:
                yield (*left, *rights[i])
            if not pairs and self._outer[0]:
                yield (*left, *self._pads[1])
        if self._outer[1]:
            for i, right in enumerate(rights):
                if i not in used:
                    yield (*self._pads[0], *right)


class TemporalJoinOperator(TimedOperator):
    """Left rows with the version of the right row at their time.

    A left row waits until the watermark has passed it: then all versions up to it are known. Of the
    versions of a key, those are kept that a later row may still ask for.
    """

    def open(self) -> None:
        """Load the condition."""
        assert self.backend is not None
        self._versions: ValueTable = self.backend.table("versions", "value")
        self._test = _test_of(self)
        self._pad = (None,) * self.spec.widths[1]
        super().open()

    def process2(self, value: Any) -> None:
        """Take one version of the right input."""
        spec = self.spec
        row, kind = (value[:-1], value[-1]) if spec.right_changes else (value, INSERT)
        key = self._keys.key
        if spec.right_time is None:
            self._versions.put(key, None if kind & 1 else [(0, row, INSERT)])
            return
        if kind == 1:
            return  # the update that follows says it
        time = row_time(row[spec.right_time])
        versions = self._versions.get(key) or []
        insort(versions, (time, row, kind), key=itemgetter(0))
        self._versions.put(key, versions)

    def take(self, key: Any, rows: list[Any], time: int) -> None:
        """Join the left rows of a time."""
        spec = self.spec
        versions = self._versions.get(key) or []
        place = len(versions)
        if spec.right_time is not None:
            place = bisect_right(versions, time, key=itemgetter(0))
        version = versions[place - 1] if place else None
        out = []
        for row in rows:
            left, tail = row[: spec.widths[0]], row[spec.widths[0] :]
            found = None
            if version is not None and version[2] != DELETE and not self._has_null(left):
                found = version[1]
                if self._test is not None and not self._test(left, found):
                    found = None
            if found is not None:
                out.append((*left, *found, *tail))
            elif spec.kind == "left":
                out.append((*left, *self._pad, *tail))
        self.scope.timestamp = time
        self.emit_all(out)
        if place > 1 and spec.right_time is not None:
            del versions[: place - 1]
            self._versions.put(key, versions)

    def _has_null(self, row: Any) -> bool:
        return any(row[i] is None for i in self.spec.strict_keys[0])


class LookupJoinOperator(Operator):
    """Left rows with the rows that a table outside has for their key at this moment."""

    def open(self) -> None:
        """Connect, and load the condition."""
        self._test = _test_of(self)
        self._lookup = self.spec.lookup
        self._lookup.open()
        self._pad = (None,) * self.spec.widths[1]
        super().open()

    def close(self) -> None:
        """Let go of the connection."""
        self._lookup.close()
        super().close()

    def process(self, value: Any) -> None:
        """Take one row."""
        spec = self.spec
        left, tail = value[: spec.widths[0]], value[spec.widths[0] :]
        key = tuple(left[i] for i in spec.keys)
        found = []
        if None not in key:
            found = self._lookup.rows(key, self.scope.time)
            if self._test is not None:
                found = [right for right in found if self._test(left, right)]
        for right in found:
            self.emit((*left, *right, *tail))
        if not found and spec.kind == "left":
            self.emit((*left, *self._pad, *tail))
