"""Session windows that fire at their end.

Nearly every record makes its session longer. So a session's timer is not moved each time: when it
fires too early, it is set again for the end that the session has by then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.core.windowing import EventTimeSessionWindows, ProcessingTimeSessionWindows
from penstock.runtime.operators.window_base import WindowOperatorBase
from penstock.runtime.state.tables import ValueTable
from penstock.runtime.windowing.contents import CombinedContents, Contents, ElementContents
from penstock.runtime.windowing.contexts import AssignerContextImpl
from penstock.runtime.windowing.convert import CLEANUP, FIRE, SESSION_TABLE


class _Session(NamedTuple):
    """One session of a key. Sessions of a key neither overlap nor touch; the latest stands last."""

    start: int
    end: int
    #: Names its pane and its timers: the time of its first record, which stays when it grows.
    id: int
    #: Whether its timer is set; it may be set for an end that the session had before.
    waits: bool


class SessionWindowOperator(WindowOperatorBase):
    """Sessions with a fixed or a dynamic gap, with the default trigger."""

    def open(self) -> None:
        """Open the user's functions."""
        assert self.backend is not None
        assigner = self.spec.assigner
        fixed = isinstance(assigner, (EventTimeSessionWindows, ProcessingTimeSessionWindows))
        self._gap: int | None = assigner.session_gap if fixed else None
        self._sessions: ValueTable = self.backend.table(SESSION_TABLE, "value")
        self._assigner_context = AssignerContextImpl(self)
        super().open()
        self._contents: Contents
        if self._combiner is None:
            self._contents = ElementContents(self.backend)
        else:
            self._contents = CombinedContents(self.backend, self._combiner)
        timers = self.backend.event_timers if self._event_time else self.backend.processing_timers
        self._timers = timers

    # --- records --------------------------------------------------------------------------

    def process_keyed(
        self, keys: list[Any], timestamps: list[Any] | None, values: list[Any]
    ) -> None:
        """Take many records. Nearly always one makes the latest session of its key longer."""
        gap = self._gap
        if timestamps is None or gap is None or not self._event_time:
            super().process_keyed(keys, timestamps, values)
            return
        context, scope, now, add = self._keys, self.scope, self.watermark, self._contents.add
        data, changed = self._sessions.data, self._sessions.changed
        for context.key, scope.timestamp, value in zip(keys, timestamps, values, strict=True):
            key, time = context.key, scope.timestamp
            sessions = data.get(key)
            if sessions is not None and time is not None:
                start, before, id_, waits = sessions[-1]
                end = time + gap
                if waits and start <= time <= before and (before > now + 1 or end > now + 1):
                    if end > before:
                        changed[key] = None
                        data[key] = (*sessions[:-1], (start, end, id_, True))
                    add((key, id_), value, None)
                    continue
            self.process(value)

    def process(self, value: Any) -> None:
        """Take one record."""
        if self._event_time:
            time, now = self.scope.timestamp, self.watermark
            if time is None:
                raise self.missing_timestamp(value)
        else:
            time, now = self.scope.time, self.scope.time - 1
        key = self._keys.key
        end = time + self._gap if self._gap is not None else self._end_of(value, time)
        sessions: tuple[Any, ...] = self._sessions.get(key) or ()
        met = [each for each in sessions if each[0] <= end and each[1] >= time]
        if not met and self.cleanup_time(end - 1) <= now:
            self.drop(value)
            return
        session = self._joined(key, met, time, end)
        last = session.end - 1
        waits = session.waits
        if last > now and not waits:
            self._timers.register(last, (key, (session.id, FIRE)))
            waits = True
        others = [each for each in sessions if each not in met]
        grown = (session.start, session.end, session.id, waits)
        if len(met) != 1 or grown != met[0]:
            self._sessions.put(key, tuple(sorted((*others, grown))))
        pane = (key, session.id)
        self._contents.add(pane, value, None)
        if last <= now:
            self._fire(pane, session)

    def _end_of(self, value: Any, time: int) -> int:
        (window,) = self.spec.assigner.assign_windows(value, time, self._assigner_context)
        return window.end

    def _joined(self, key: Any, met: list[Any], time: int, end: int) -> _Session:
        """Return the session that a record belongs to: a new one, or those that it joins as one."""
        if not met:
            if self._lateness:
                self._timers.register(self.cleanup_time(end - 1), (key, (time, CLEANUP)))
            return _Session(time, end, time, False)
        if len(met) == 1:
            start, before, id_, waits = met[0]
            return _Session(min(start, time), max(before, end), id_, waits)
        met.sort()
        self._contents.merge((key, met[0][2]), [(key, each[2]) for each in met[1:]])
        first = met[0]
        return _Session(min(first[0], time), max(met[-1][1], end), first[2], first[3])

    # --- firing ---------------------------------------------------------------------------

    def _fire(self, pane: tuple[Any, int], session: _Session) -> None:
        elements = self._contents.elements(pane)
        if elements is not None:
            self.emit_window(pane[0], (session.start, session.end), session.end - 1, elements)

    def on_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Fire a session that has ended, or let it go; wait on if it has grown."""
        id_, purpose = namespace
        sessions = self._sessions.get(key) or ()
        found = next((each for each in sessions if each[2] == id_), None)
        if found is None:
            return  # it has been joined with an earlier one
        session = _Session(*found)
        due = session.end - 1 if purpose == FIRE else self.cleanup_time(session.end - 1)
        if due > timestamp:
            self._timers.register(due, (key, namespace))
            return
        if purpose == FIRE:
            self._fire((key, id_), session)
        others = [each for each in sessions if each is not found]
        if purpose == FIRE and self._lateness:
            others = sorted([*others, (*found[:3], False)])
        else:
            self._contents.clear((key, id_))
            self.clear_window(key, (session.start, session.end))
        self._sessions.put(key, tuple(others) or None)

    on_processing_timer = on_event_timer
