"""The automaton at work: one event after the other, for one key after the other.

Its memory of a key is a `MatchState`; the automaton itself keeps nothing between two calls.
"""

from __future__ import annotations

from typing import Any

from penstock.core.pattern.conditions import IterativeCondition, NotCondition, TrueCondition
from penstock.core.pattern.skip import AfterMatchSkipStrategy
from penstock.errors import StateError
from penstock.runtime.cep.conditions import Check, Conditions
from penstock.runtime.cep.dewey import FIRST, add_stage, increase
from penstock.runtime.cep.match_queue import (
    NO_EVENT,
    EventId,
    PartialMatch,
    pop,
    push,
)
from penstock.runtime.cep.match_state import MatchState
from penstock.runtime.cep.shared_buffer import SharedBuffer
from penstock.runtime.cep.skipping import Pruner
from penstock.runtime.cep.states import Action, Automaton, State, StateKind

Match = dict[str, list[Any]]
#: A partial match whose time is up, and when it was.
TimedOut = tuple[Match, int]


class _Edge:
    """A transition, ready to be asked."""

    __slots__ = ("check", "proceeds", "source", "takes", "target")

    def __init__(self, action: Action, check: Check | None, source: _Node, target: _Node) -> None:
        self.takes = action is Action.TAKE
        self.proceeds = action is Action.PROCEED
        self.check = check
        self.source = source
        self.target = target


class _Node:
    """A state, ready to be entered."""

    __slots__ = ("edges", "has_proceed", "is_final", "is_pending", "is_start", "is_stop", "name",
                 "stage", "waits_unless", "window")  # fmt: skip

    def __init__(self, state: State, window: int | None) -> None:
        self.name = state.name
        self.stage = state.stage
        self.window = window
        self.is_start = state.kind is StateKind.START
        self.is_final = state.kind is StateKind.FINAL
        self.is_pending = state.kind is StateKind.PENDING
        self.is_stop = state.kind is StateKind.STOP
        self.edges: list[_Edge] = []
        self.has_proceed = False
        #: Where that is so simple: a match stays here as it is unless this accepts the event.
        self.waits_unless: Check | None = None


class _Nodes(dict[str, _Node]):
    """The states by name."""

    def __missing__(self, name: str) -> _Node:
        raise StateError(
            "a partial match is in a state that the pattern does not have",
            got=repr(name),
            todo="go on with the stages and quantifiers that the pattern had, or give the operator "
            "another uid to begin without its state",
        )


class _Context(IterativeCondition.Context):
    """What an iterative condition sees: the match in hand, read only if it is asked for."""

    def __init__(self) -> None:
        self.state: MatchState
        self.match: PartialMatch
        self.time = 0
        self.processing_time = 0
        self._events: Match | None = None

    def enter(self, state: MatchState, match: PartialMatch) -> None:
        self.state, self.match, self._events = state, match, None

    def get_events_for_pattern(self, name: str) -> list[Any]:
        if self._events is None:
            buffer = self.state.buffer
            self._events = buffer.events(buffer.extract(self.match[3], self.match[2]))
        return list(self._events.get(name, ()))

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self.processing_time


class NFA:
    """Looks for the matches of a compiled pattern.

    :param reports_timeouts: whether anybody wants to know of matches whose time is up.
    """

    def __init__(
        self,
        automaton: Automaton,
        skip_strategy: AfterMatchSkipStrategy,
        reports_timeouts: bool = True,
    ) -> None:
        self._reports_timeouts = reports_timeouts
        self._context = _Context()
        self._conditions = Conditions(self._context)
        self._nodes = _Nodes(
            (name, _Node(state, automaton.state_windows.get(name)))
            for name, state in automaton.states.items()
        )
        for name, state in automaton.states.items():
            node = self._nodes[name]
            for transition in state.transitions:
                check = self._conditions.compile(transition.condition)
                target = self._nodes[transition.target.name]
                node.edges.append(_Edge(transition.action, check, node, target))
            node.has_proceed = any(edge.proceeds for edge in node.edges)
            if _waits_for_one_condition(state):
                node.waits_unless = node.edges[0].check
        self._start: PartialMatch = (NO_EVENT, automaton.start.name, FIRST, None)
        self._window = automaton.window
        self._has_state_windows = bool(automaton.state_windows)
        self._pruner = Pruner(skip_strategy)

    @property
    def functions(self) -> list[Any]:
        """Return the user's conditions, each once."""
        return self._conditions.functions

    def initial_state(self) -> MatchState:
        """Return the state of a key that has had no event."""
        return MatchState([self._start])

    def is_initial(self, state: MatchState) -> bool:
        """Tell whether nothing is known of the past."""
        return len(state.partial) == 1 and not state.completed and state.partial[0][3] is None

    # ---- time --------------------------------------------------------------------------------

    def next_timeout(self, state: MatchState) -> int | None:
        """Return when the first partial match's time is up."""
        began, _, _, has_begun = state.partial[0]
        time = began[0] + self._window if self._window and has_begun else None
        if self._has_state_windows:
            for match in state.partial:
                window, last = self._nodes[match[1]].window, match[3]
                if window and last is not None:
                    up = last[0][0] + window
                    time = up if time is None or up < time else time
        return time

    def advance_time(self, state: MatchState, time: int) -> tuple[list[Match], list[TimedOut]]:
        """Give up the partial matches whose time is up.

        Returns the matches that are complete thereby, and those that were given up.
        """
        first = self.next_timeout(state)
        if first is None or time < first:
            return [], []
        state.changed = True
        rest: list[PartialMatch] = []
        complete: list[PartialMatch] = []
        timed_out: list[TimedOut] = []
        buffer = state.buffer
        for match in state.partial:
            up = self._time_up(match, time)
            if up is None:
                push(rest, match)
            elif self._nodes[match[1]].is_pending:
                push(complete, match)
            else:
                if self._reports_timeouts:
                    timed_out.append((buffer.events(buffer.extract(match[3], match[2])), up))
                buffer.release(match[3], match[2])
        matches = self._take_complete(state, complete, rest)
        state.partial = rest
        return matches, timed_out

    def _time_up(self, match: PartialMatch, time: int) -> int | None:
        first, name, _, last = match
        if last is None:
            return None
        window = self._nodes[name].window
        if window and time - last[0][0] >= window:
            return last[0][0] + window
        if self._window and time - first[0] >= self._window:
            return first[0] + self._window
        return None

    # ---- events ------------------------------------------------------------------------------

    def process(
        self, state: MatchState, event: Any, time: int, processing_time: int
    ) -> list[Match]:
        """Take one event, and return the matches that it completes."""
        conditions, context, nodes = self._conditions, self._context, self._nodes
        conditions.of_event.clear()
        context.time, context.processing_time = time, processing_time
        iterative = conditions.iterative
        rest: list[PartialMatch] = []
        complete: list[PartialMatch] = []
        arrival: tuple[EventId, Any] | None = None
        changed = False
        for match in state.partial:
            if iterative:
                conditions.of_match.clear()
                context.enter(state, match)
            node = nodes[match[1]]
            accepts = node.waits_unless
            if accepts is not None and not accepts(event):
                if rest and match[0] < rest[(len(rest) - 1) >> 1][0]:
                    push(rest, match)
                else:  # what `push` would do, without the call
                    rest.append(match)
                continue
            edges = _open_edges(node, event)
            if not edges:
                if node.is_start:
                    push(rest, match)
                else:
                    changed = True
                    state.buffer.release(match[3], match[2])
                continue
            if len(edges) == 1 and edges[0].target is node and not edges[0].takes:
                push(rest, match)  # it waits on, unchanged
                continue
            changed = True
            if arrival is None:
                arrival = state.next_event_id(time), event
            reached = self._next_matches(state.buffer, match, node, edges, arrival)
            _sort_out(reached, state.buffer, rest, complete)
        if not changed:
            return []
        state.changed = True
        matches = self._take_complete(state, complete, rest)
        state.partial = rest
        return matches

    def _next_matches(
        self,
        buffer: SharedBuffer,
        match: PartialMatch,
        node: _Node,
        edges: list[_Edge],
        arrival: tuple[EventId, Any],
    ) -> list[tuple[_Node, PartialMatch]]:
        """Return what a match becomes with an event, and the states that it reaches then."""
        began, _, version, last = match
        event_id, event = arrival
        takes = ignores = 0
        for edge in edges:
            if edge.takes:
                takes += 1
            elif edge.target is not node:
                ignores += 1
        # Versions tell the branches of a match apart: those that take the event come first.
        further_takes = skipped_takes = max(0, takes - 1)
        further_ignores = ignores
        stays_by = ignores + max(1, takes) if takes or ignores else 0
        reached: list[tuple[_Node, PartialMatch]] = []
        for edge in edges:
            target = edge.target
            if edge.takes:
                own = increase(version, further_takes)
                next_version = add_stage(own)
                # The last branch takes over what the match holds: its version is the same.
                if last is not None and further_takes:
                    buffer.lock(last, own)
                further_takes -= 1
                taken = buffer.put(edge.source.stage, event_id, event, last, own)
                first = event_id if node.is_start else began
                reached.append((target, (first, target.name, next_version, taken)))
                buffer.lock(taken, next_version)
                if target.has_proceed and (end := _end_behind(target, event)) is not None:
                    reached.append((end, (first, end.name, next_version, taken)))
                    buffer.lock(taken, next_version)
            elif not node.is_start:
                if target is node:
                    next_version = increase(version, stays_by)
                else:
                    next_version = add_stage(increase(version, skipped_takes + further_ignores))
                    further_ignores -= 1
                assert last is not None
                reached.append((target, (began, target.name, next_version, last)))
                buffer.lock(last, next_version)
        if node.is_start:
            reached.append((node, (NO_EVENT, node.name, increase(version, stays_by), None)))
        if not takes:
            buffer.release(last, version)
        return reached

    def _take_complete(
        self, state: MatchState, complete: list[PartialMatch], rest: list[PartialMatch]
    ) -> list[Match]:
        """Return the matches that are complete, as the skip strategy allows.

        With one, a match waits until none that began earlier can be completed any more.
        """
        waiting, buffer, pruner = state.completed, state.buffer, self._pruner
        for match in complete:
            push(waiting, match)
        results: list[Match] = []
        while waiting:
            if pruner.skips and rest and waiting[0][0] > rest[0][0]:
                break
            _, _, version, last = pop(waiting)
            found = buffer.extract(last, version)
            if pruner.skips:
                pruner.prune(found, buffer, rest)
                pruner.prune(found, buffer, waiting)
            results.append(buffer.events(found))
            buffer.release(last, version)
        return results


def _sort_out(
    reached: list[tuple[_Node, PartialMatch]],
    buffer: SharedBuffer,
    rest: list[PartialMatch],
    complete: list[PartialMatch],
) -> None:
    """Put what a match became to those that are complete, or to those that go on.

    If what must not come has come, none of them goes on.
    """
    going_on = []
    stopped = False
    for node, match in reached:
        if node.is_final:
            push(complete, match)
        elif node.is_stop:
            stopped = True
            buffer.release(match[3], match[2])
        else:
            going_on.append(match)
    for match in going_on:
        if stopped:
            buffer.release(match[3], match[2])
        else:
            push(rest, match)


def _waits_for_one_condition(state: State) -> bool:
    """Tell whether an event that the first transition does not accept leaves all as it is."""
    if not state.transitions or state.transitions[0].action is not Action.TAKE:
        return False
    take, *others = state.transitions
    if state.kind is StateKind.START:
        return not others
    if len(others) != 1 or others[0].action is not Action.IGNORE or others[0].target is not state:
        return False
    passed_over = others[0].condition
    if isinstance(passed_over, NotCondition):
        return passed_over.condition is take.condition
    return isinstance(passed_over, TrueCondition)


def _open_edges(node: _Node, event: Any) -> list[_Edge]:
    """Return the transitions that an event opens, through those that only lead on as well."""
    if not node.has_proceed:
        return [edge for edge in node.edges if edge.check is None or edge.check(event)]
    found = []
    waiting = [node]
    while waiting:
        for edge in waiting.pop().edges:
            if edge.check is None or edge.check(event):
                if edge.proceeds:
                    waiting.append(edge.target)
                else:
                    found.append(edge)
    return found


def _end_behind(node: _Node, event: Any) -> _Node | None:
    """Return the end if an event leads there from a state without being taken."""
    waiting = [node]
    while waiting:
        for edge in waiting.pop().edges:
            if edge.proceeds and (edge.check is None or edge.check(event)):
                if edge.target.is_final:
                    return edge.target
                waiting.append(edge.target)
    return None
