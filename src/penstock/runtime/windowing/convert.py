"""Convert the state of a quick window operator into that of the one for all windows.

So a program may get a trigger, an evictor of its own or another window size while its windows are
under way: what there is goes on in panes, which every kind of window can be kept in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.core.time import MAX_WATERMARK
from penstock.runtime.codec import freeze, thaw
from penstock.runtime.state.keyed_backend import EVENT_TIMERS, PANE_TIMERS, PROCESSING_TIMERS
from penstock.runtime.state.layout import Layout
from penstock.runtime.windowing.combine import NONE, Combiner
from penstock.runtime.windowing.contents import TABLE
from penstock.runtime.windowing.layouts import ALIGNED, SESSIONS, SLICES
from penstock.runtime.windowing.merging import SETS
from penstock.runtime.windowing.slices import Slicing

#: Kind and delta by place.
Changes = dict[str, tuple[str, Any]]
#: A window as panes know it.
_Window = tuple[int, int]

SESSION_TABLE = "\0sessions"
#: What a timer of slices and sessions is for, in its namespace.
FIRE, CLEANUP = 0, 1


class WindowConversion:
    """Convert one key group after the other.

    :param tag: of the layout that the state is in.
    :param combiner: what makes an accumulator of two; None if all elements are kept.
    :param lateness: how long windows stay after they have fired, in milliseconds.
    :param now: the watermark, or the processing time that has passed: what had fired by then.
    """

    def __init__(self, tag: str, combiner: Combiner | None, lateness: int, now: int) -> None:
        self._layout = Layout.parse(tag)
        self._combiner = combiner
        event_time = self._layout.settings["time"] == "event"
        self._lateness = lateness if event_time else 0
        self._timers = EVENT_TIMERS if event_time else PROCESSING_TIMERS
        self._now = now

    def convert(self, changes: Changes) -> Changes:
        """Return what a key group holds, in panes."""
        kind = self._layout.kind
        if kind == ALIGNED:
            return self._from_aligned(dict(changes))
        if kind == SLICES:
            return self._from_slices(dict(changes))
        if kind == SESSIONS:
            return self._from_sessions(dict(changes))
        return changes

    def _number(self, name: str) -> int:
        return int(self._layout.settings[name])

    # --- by layout ------------------------------------------------------------------------

    def _from_aligned(self, changes: Changes) -> Changes:
        size = self._number("size")

        def renamed(pane: tuple[Any, int]) -> tuple[Any, _Window]:
            key, start = pane
            return key, (start, start + size)

        if TABLE in changes:
            changes[TABLE] = _rename(changes[TABLE], renamed)
        for place in (EVENT_TIMERS, PROCESSING_TIMERS):
            if place in changes:
                kind, (_, timers, serials, following) = changes[place]
                moved = [(time, renamed(owner)) for time, owner in timers]
                changes[place] = (kind, ([], moved, serials, following))
        return changes

    def _from_slices(self, changes: Changes) -> Changes:
        slicing = Slicing(self._number("size"), self._number("slide"), self._number("offset"))
        kind, delta = changes.pop(TABLE, ("slice-value", ([], [], [])))
        changes.pop(self._timers, None)
        slices: dict[Any, dict[int, Any]] = {}
        pairs = zip(delta[0], delta[1], strict=True) if kind == "slice-value" else delta[0]
        for (key, number), held in pairs:
            slices.setdefault(key, {})[number] = held
        panes: dict[Any, Any] = {}
        for key, held in slices.items():
            numbers = sorted(held)
            windows = range(
                slicing.oldest_window(numbers[0]), slicing.newest_window(numbers[-1]) + 1
            )
            for window in windows:
                begin, end = slicing.slices_of(window)
                inside = [held[number] for number in numbers if begin <= number < end]
                if inside and slicing.last(window) + self._lateness > self._now:
                    start = slicing.start(window)
                    panes[key, (start, slicing.last(window) + 1)] = self._joined(inside)
        return self._with_panes(changes, panes)

    def _joined(self, slices: list[Any]) -> Any:
        """Return the content of a window that is made of some slices."""
        if self._combiner is None:
            entries = sorted((entry for held in slices for entry in held), key=lambda e: e[0])
            return [value for _, value in entries]
        held = _accumulator(slices[0])
        for other in slices[1:]:
            held = self._combiner.merge(held, _accumulator(other))
        return NONE if held is None else freeze(held)

    def _from_sessions(self, changes: Changes) -> Changes:
        _, (keys, values, _) = changes.pop(SESSION_TABLE, ("", ([], [], [])))
        changes.pop(self._timers, None)
        windows: dict[tuple[Any, int], _Window] = {}
        sets = []
        for key, sessions in zip(keys, map(thaw, values), strict=True):
            found = [((start, end), id_) for start, end, id_, _ in sessions]
            windows |= {(key, id_): window for window, id_ in found}
            sets.append(tuple((window, window) for window, _ in found))
        changes[SETS] = ("value", (keys, sets, []))
        if TABLE not in changes:
            return changes
        kind, delta = _rename(changes.pop(TABLE), lambda pane: (pane[0], windows[pane]))
        held = delta[0] if kind == "pane-list" else zip(delta[0], delta[1], strict=True)
        return self._with_panes(changes, dict(held))

    def _with_panes(self, changes: Changes, panes: dict[Any, Any]) -> Changes:
        """Add panes, and the timers that fire and end them."""
        if self._combiner is None:
            changes[TABLE] = ("pane-list", (list(panes.items()), [], []))
        else:
            changes[TABLE] = ("pane-value", (list(panes), list(panes.values()), []))
        timers = list(dict.fromkeys(self._timers_of(panes)))
        numbers = list(range(len(timers)))
        changes[self._timers] = (PANE_TIMERS, ([], timers, numbers, len(timers)))
        return changes

    def _timers_of(self, panes: Iterable[Any]) -> Iterable[tuple[int, Any]]:
        for pane in panes:
            last = pane[1][1] - 1
            if last > self._now:
                yield min(last, MAX_WATERMARK), pane
            if last + self._lateness < MAX_WATERMARK:
                yield last + self._lateness, pane


def lateness_in(tag: str, changes: Changes) -> int:
    """Return the allowed lateness that the timers of a key group tell of; zero if none does.

    :param tag: of the layout that the state is in. Panes and aligned windows need no such number.
    """
    layout = Layout.parse(tag)
    timers = changes.get(EVENT_TIMERS, ("", ([], [], [], 0)))[1][1]
    found = [0]
    if layout.kind == SLICES and TABLE in changes:
        slicing = Slicing(*(int(layout.settings[name]) for name in ("size", "slide", "offset")))
        oldest: dict[Any, int] = {}
        delta = changes[TABLE][1]
        panes = delta[0] if changes[TABLE][0] == "slice-value" else [pane for pane, _ in delta[0]]
        for key, number in panes:
            oldest[key] = min(number, oldest.get(key, number))
        for time, (key, purpose) in timers:
            if purpose == CLEANUP and key in oldest:
                found.append(time - slicing.last(slicing.newest_window(oldest[key])))
    elif layout.kind == SESSIONS and SESSION_TABLE in changes:
        keys, values, _ = changes[SESSION_TABLE][1]
        pairs = zip(keys, map(thaw, values), strict=True)
        ends = {(key, each[2]): each[1] for key, sessions in pairs for each in sessions}
        for time, (key, (id_, purpose)) in timers:
            if purpose == CLEANUP and (key, id_) in ends:
                found.append(time - ends[key, id_] + 1)
    return max(found)


def _rename(change: tuple[str, Any], renamed: Any) -> tuple[str, Any]:
    kind, delta = change
    if kind == "pane-list":
        puts, removes, appends = delta
        return kind, ([(renamed(pane), held) for pane, held in puts], removes, appends)
    keys, values, removes = delta
    return kind, ([renamed(pane) for pane in keys], values, removes)


def _accumulator(held: Any) -> Any:
    return None if held is NONE else thaw(held)
