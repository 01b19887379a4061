"""A plain model of windows: a dictionary of windows, and Flink's rules written down one by one.

It shares no code with the runtime and spends no thought on speed. A window is a tuple
`(start, end)`, the global one `GLOBAL`. Elements are `(value, timestamp)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FOREVER = 2**63 - 1
LONG_AGO = -(2**63)
GLOBAL = ("everything",)


def last_of(window: tuple) -> int:
    return FOREVER if window == GLOBAL else window[1] - 1


# --- assigners: from (value, time) to windows, the newest first ---------------------------------


def tumbling(size: int, offset: int = 0) -> Callable[[Any, int], list[tuple]]:
    return sliding(size, size, offset)


def sliding(size: int, slide: int, offset: int = 0) -> Callable[[Any, int], list[tuple]]:
    def assign(value: Any, time: int) -> list[tuple]:
        start = offset + slide * ((time - size - offset) // slide)
        windows = []
        while start <= time:
            if time < start + size:
                windows.insert(0, (start, start + size))
            start += slide
        return windows

    return assign


def session(gap: Callable[[Any], int]) -> Callable[[Any, int], list[tuple]]:
    return lambda value, time: [(time, time + gap(value))]


def everything(value: Any, time: int) -> list[tuple]:
    return [GLOBAL]


# --- the model ----------------------------------------------------------------------------------


@dataclass
class Window:
    """What one window of one key knows."""

    elements: list[tuple[Any, int]] = field(default_factory=list)
    count: int = 0
    next_fire: int | None = None
    last_element: Any = None


@dataclass
class Settings:
    assign: Callable[[Any, int], list[tuple]]
    trigger: tuple  # ("end",), ("count", n), ("continuous", n), ("delta", n), ("purging", trigger)
    event_time: bool = True
    merging: bool = False
    lateness: int = 0
    evictor: tuple | None = None  # ("count" | "time", n, "before" | "after")


class Model:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.windows: dict[tuple[Any, tuple], Window] = {}
        self.timers: list[tuple[str, int, Any, tuple]] = []  # in the order of registration
        self.watermark = LONG_AGO
        self.time = 0
        self.fired: list[tuple[Any, tuple, list[Any]]] = []
        self.late: list[Any] = []

    # --- what comes in ---------------------------------------------------------------------

    def element(self, key: Any, value: Any, timestamp: int) -> None:
        s = self.settings
        windows = s.assign(value, timestamp if s.event_time else self.time)
        taken = False
        for window in windows:
            if s.merging:
                window = self.merge_in(key, window)
            if s.event_time and self.end_of_life(window) <= self.watermark:
                if s.merging:
                    self.windows.pop((key, window), None)
                continue
            taken = True
            state = self.windows.setdefault((key, window), Window())
            state.elements.append((value, timestamp))
            self.act(key, window, self.on_element(s.trigger, key, window, value, timestamp))
            if self.end_of_life(window) < FOREVER:
                self.set_timer(self.domain(), self.end_of_life(window), key, window)
        if not taken and s.event_time and timestamp + s.lateness <= self.watermark:
            self.late.append((key, value))

    def advance_watermark(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            self.run_timers("event", watermark)

    def advance_time(self, time: int) -> None:
        if time > self.time:
            self.time = time
            self.run_timers("processing", time - 1)  # those whose millisecond is over

    # --- timers ----------------------------------------------------------------------------

    def domain(self) -> str:
        return "event" if self.settings.event_time else "processing"

    def set_timer(self, domain: str, time: int, key: Any, window: tuple) -> None:
        timer = (domain, time, key, window)
        if timer not in self.timers:
            self.timers.append(timer)

    def drop_timer(self, domain: str, time: int, key: Any, window: tuple) -> None:
        timer = (domain, time, key, window)
        if timer in self.timers:
            self.timers.remove(timer)

    def run_timers(self, domain: str, until: int) -> None:
        while True:
            due = [t for t in self.timers if t[0] == domain and t[1] <= until]
            if not due:
                return
            timer = min(due, key=lambda t: t[1])  # of equal ones the first that was set
            self.timers.remove(timer)
            self.on_timer(*timer)

    def on_timer(self, domain: str, time: int, key: Any, window: tuple) -> None:
        if self.settings.merging and (key, window) not in self.windows:
            return
        self.windows.setdefault((key, window), Window())
        self.act(key, window, self.on_time(self.settings.trigger, domain, time, key, window))
        if domain == self.domain() and time == self.end_of_life(window):
            self.clear_trigger(self.settings.trigger, key, window)
            self.windows.pop((key, window), None)

    def end_of_life(self, window: tuple) -> int:
        lateness = self.settings.lateness if self.settings.event_time else 0
        return min(last_of(window) + lateness, FOREVER)

    # --- firing ----------------------------------------------------------------------------

    def act(self, key: Any, window: tuple, decision: str) -> None:
        state = self.windows[key, window]
        if "fire" in decision and state.elements:
            evictor = self.settings.evictor
            if evictor and evictor[2] == "before":
                self.evict(state, evictor)
            self.fired.append((key, window, [value for value, _ in state.elements]))
            if evictor and evictor[2] == "after":
                self.evict(state, evictor)
        if "purge" in decision:
            state.elements = []

    def evict(self, state: Window, evictor: tuple) -> None:
        kind, n, _ = evictor
        if kind == "count":
            state.elements = state.elements[-n:]
        elif state.elements:
            newest = max(timestamp for _, timestamp in state.elements)
            state.elements = [e for e in state.elements if e[1] > newest - n]

    # --- triggers --------------------------------------------------------------------------

    def on_element(self, trigger: tuple, key: Any, window: tuple, value: Any, ts: int) -> str:
        kind = trigger[0]
        state = self.windows[key, window]
        if kind == "purging":
            decision = self.on_element(trigger[1], key, window, value, ts)
            return "fire and purge" if "fire" in decision else decision
        if kind == "count":
            state.count += 1
            if state.count < trigger[1]:
                return ""
            state.count = 0
            return "fire"
        if kind == "delta":
            if state.last_element is None:
                state.last_element = value
            elif abs(value - state.last_element) > trigger[1]:
                state.last_element = value
                return "fire"
            return ""
        if not self.settings.event_time:
            return self.on_element_in_processing_time(trigger, key, window)
        if last_of(window) <= self.watermark:
            return "fire"
        self.set_timer("event", last_of(window), key, window)
        if kind == "continuous" and state.next_fire is None:
            self.plan_next(trigger[1], ts - ts % trigger[1], key, window)
        return ""

    def on_element_in_processing_time(self, trigger: tuple, key: Any, window: tuple) -> str:
        if trigger[0] == "end":
            self.set_timer("processing", last_of(window), key, window)
        elif self.windows[key, window].next_fire is None:
            self.plan_next(trigger[1], self.time - self.time % trigger[1], key, window)
        return ""

    def plan_next(self, interval: int, after: int, key: Any, window: tuple) -> None:
        next_fire = min(after + interval, last_of(window))
        if next_fire > after:
            self.windows[key, window].next_fire = next_fire
            self.set_timer(self.domain(), next_fire, key, window)

    def on_time(self, trigger: tuple, domain: str, time: int, key: Any, window: tuple) -> str:
        kind = trigger[0]
        if kind == "purging":
            decision = self.on_time(trigger[1], domain, time, key, window)
            return "fire and purge" if "fire" in decision else decision
        if kind == "end" and domain == self.domain():
            return "fire" if time == last_of(window) or domain == "processing" else ""
        if kind == "continuous" and domain == self.domain():
            if time == last_of(window) and self.settings.event_time:
                return "fire"
            state = self.windows[key, window]
            if state.next_fire == time:
                state.next_fire = None
                self.plan_next(trigger[1], time, key, window)
                return "fire"
        return ""

    def clear_trigger(self, trigger: tuple, key: Any, window: tuple) -> None:
        kind = trigger[0]
        state = self.windows[key, window]
        if kind == "purging":
            self.clear_trigger(trigger[1], key, window)
        elif kind == "end":
            self.drop_timer(self.domain(), last_of(window), key, window)
        elif kind == "continuous":
            if self.settings.event_time:
                self.drop_timer("event", last_of(window), key, window)
            if state.next_fire is not None:
                self.drop_timer(self.domain(), state.next_fire, key, window)

    # --- sessions --------------------------------------------------------------------------

    def merge_in(self, key: Any, window: tuple) -> tuple:
        """Let a window join those of its key that it meets; return the result."""
        members = [
            w for k, w in self.windows if k == key and w[0] <= window[1] and w[1] >= window[0]
        ]
        members.sort()
        result = (min(w[0] for w in [*members, window]), max(w[1] for w in [*members, window]))
        if members in ([], [result]):
            return result
        states = {member: self.windows[key, member] for member in members}
        merged = Window()
        for state in states.values():
            merged.elements += state.elements
            merged.count += state.count
        self.windows[key, result] = merged
        planned = [s.next_fire for s in states.values() if s.next_fire is not None]
        if planned:
            merged.next_fire = min(planned)
        self.on_merge(self.settings.trigger, key, result)
        for member in members:
            self.clear_trigger(self.settings.trigger, key, member)
            self.drop_timer(self.domain(), self.end_of_life(member), key, member)
            del self.windows[key, member]
        return result

    def on_merge(self, trigger: tuple, key: Any, window: tuple) -> None:
        state = self.windows[key, window]
        now = self.watermark if self.settings.event_time else self.time
        if trigger[0] == "purging":
            self.on_merge(trigger[1], key, window)
        elif trigger[0] == "end" and last_of(window) > now:
            self.set_timer(self.domain(), last_of(window), key, window)
        elif trigger[0] == "continuous":
            if state.next_fire is not None:
                self.set_timer(self.domain(), state.next_fire, key, window)
            if self.settings.event_time and last_of(window) > now:
                self.set_timer("event", last_of(window), key, window)
