"""From a pattern to an automaton.

The chain of stages is walked from its end to its beginning: each stage becomes states in front of
those that exist already, its *sink*. Flink's compiler is the model, down to the order in which
states and transitions are made: the order of matches and the versions of partial matches depend on
it.
"""

from __future__ import annotations

from penstock.core.pattern.conditions import TRUE, AndCondition, Condition, NotCondition
from penstock.core.pattern.pattern import (
    ENDING_STATE_NAME,
    STATE_NAME_DELIMITER,
    GroupPattern,
    Pattern,
    WithinType,
)
from penstock.core.pattern.quantifier import ConsumingStrategy, QuantifierKind, Times
from penstock.core.pattern.validation import validate
from penstock.runtime.cep.states import Action, Automaton, State, StateKind


def compile_pattern(pattern: Pattern) -> Automaton:
    """Return the automaton of a pattern.

    :raises MalformedPatternError: if the pattern has no meaning.
    """
    validate(pattern)
    return _Compiler(pattern).compile()


class _Compiler:
    """One compilation; `_current` is the stage in hand, `_group` the group that it stands in."""

    def __init__(self, pattern: Pattern) -> None:
        self._current = pattern
        self._following: Pattern | None = None
        self._group: GroupPattern | None = None
        self._states: dict[str, State] = {}
        self._stop_states: dict[str, State] = {}
        self._window = pattern.get_window_size()
        self._state_windows: dict[str, int] = {}
        #: Whether the copy of a repeated group that is being made is the first of its loop.
        self._first_of_loop: dict[GroupPattern, bool] = {}
        #: By a sink's name, a copy of it as it was before a greedy loop closed it to its events.
        self._open_sinks: dict[str, State] = {}

    def compile(self) -> Automaton:
        sink = self._make(ENDING_STATE_NAME, StateKind.FINAL)
        start = self._convert(self._convert_behind_first(sink))
        start.kind = StateKind.START
        return Automaton(self._states, start, self._window or 0, self._state_windows)

    # ---- the chain ---------------------------------------------------------------------------

    def _convert_behind_first(self, sink: State) -> State:
        """Make the states of all stages but the first one of the chain."""
        while (previous := self._current.get_previous()) is not None:
            strategy = self._current.get_quantifier().strategy
            if strategy is ConsumingStrategy.NOT_FOLLOW:
                sink = self._convert_not_followed_by(sink)
            elif strategy is ConsumingStrategy.NOT_NEXT:
                sink = self._convert_not_next(sink)
            else:
                sink = self._convert(sink)
            self._following, self._current = self._current, previous
            window = previous.get_window_size()
            if window is not None and (self._window is None or window < self._window):
                self._window = window
        return sink

    def _convert_not_followed_by(self, sink: State) -> State:
        # In the middle of a pattern it has no state: it becomes transitions of its neighbours.
        previous_window = self._current.get_window_size(WithinType.PREVIOUS_AND_CURRENT)
        if sink.kind is not StateKind.FINAL or (previous_window is None and not self._window):
            return sink
        state = self._make_stage_state(StateKind.PENDING)
        forbidden = self._take_condition(self._current)
        state.proceed(self._stop_state(forbidden, self._current.get_name()), forbidden)
        state.ignore(state, NotCondition(forbidden))
        return state

    def _convert_not_next(self, sink: State) -> State:
        state = self._make_stage_state(StateKind.NORMAL)
        forbidden = self._take_condition(self._current)
        stop = self._stop_state(forbidden, self._current.get_name())
        if sink.kind is StateKind.FINAL:
            # To proceed to the end would not wait for the event that must not match.
            state.ignore(sink, NotCondition(forbidden))
        else:
            state.proceed(sink, NotCondition(forbidden))
        state.proceed(stop, forbidden)
        return state

    def _convert(self, sink: State) -> State:
        """Make the states of the current stage, and return the first of them."""
        quantifier = self._current.get_quantifier()
        times = self._current.get_times()
        if quantifier.looping:
            assert times is not None
            self._set_first_of_loop(False)
            looping = self._loop(self._without_passed_nots(sink))
            self._set_first_of_loop(True)
            state = self._repeat(looping, sink, times)
        elif quantifier.kind is QuantifierKind.TIMES:
            assert times is not None
            state = self._repeat(sink, sink, times)
        else:
            state = self._single(
                sink,
                sink,
                self._take_condition(self._current),
                self._ignore_condition(self._current),
                quantifier.optional,
            )
        self._add_stops(state)
        return state

    # ---- one stage ---------------------------------------------------------------------------

    def _single(
        self,
        sink: State,
        proceed_to: State | None,
        take: Condition,
        ignore: Condition | None,
        optional: bool,
    ) -> State:
        """Make the states that take one event."""
        stage = self._current
        if isinstance(stage, GroupPattern):
            return self._single_group(stage, sink, proceed_to, optional)
        state = self._make_stage_state(StateKind.NORMAL)
        after = self._without_passed_nots(sink)
        state.take(after, take)
        if optional:
            assert proceed_to is not None
            self._proceed_from_optional(state, proceed_to)
        if ignore is not None:
            waiting = state
            if optional or self._heads_optional_group(stage):
                # Once an event has been passed over, the stage can no longer be left out.
                waiting = self._make(stage.get_name(), StateKind.NORMAL)
                waiting.take(after, take)
                waiting.ignore(waiting, ignore)
                self._add_stops(waiting)
            state.ignore(waiting, ignore)
        return state

    def _proceed_from_optional(self, state: State, proceed_to: State) -> None:
        always, until = self._always(), self._current.get_until_condition()
        if not self._current.get_quantifier().greedy or until is None:
            state.proceed(proceed_to, always)
            return
        open_sink = self._open_sinks.get(proceed_to.name)
        if open_sink is not None:
            state.proceed(open_sink, AndCondition(always, until))
        state.proceed(proceed_to, AndCondition(always, NotCondition(until)))

    def _repeat(self, sink: State, proceed_to: State, times: Times) -> State:
        """Make the states that take a number of events."""
        stage = self._current
        self._set_first_of_loop(False)
        until = stage.get_until_condition()
        inner_ignore = _unless(until, self._inner_ignore_condition(stage))
        take = _unless(until, self._take_condition(stage))
        assert take is not None
        if stage.get_quantifier().greedy and times.from_ != times.to:
            if until is not None:
                self._open_sinks[sink.name] = self._copy(sink)
            _close_to(sink, take)
        for _ in range(times.from_, times.to):
            sink = self._single(sink, proceed_to, take, inner_ignore, optional=True)
            self._add_stop_of_following(sink)
        for _ in range(times.from_ - 1):
            sink = self._single(sink, None, take, inner_ignore, optional=False)
            self._add_stop_of_following(sink)
        self._set_first_of_loop(True)
        optional = stage.get_quantifier().optional
        return self._single(sink, proceed_to, take, self._ignore_condition(stage), optional)

    def _loop(self, sink: State) -> State:
        """Make the states that take any number of events."""
        stage = self._current
        if isinstance(stage, GroupPattern):
            return self._loop_group(stage, sink)
        until = stage.get_until_condition()
        ignore = _unless(until, self._inner_ignore_condition(stage))
        take = _unless(until, self._take_condition(stage))
        assert take is not None
        always = self._always()
        state = self._make_stage_state(StateKind.NORMAL)
        if stage.get_quantifier().greedy:
            if until is not None:
                open_sink = self._open_sinks[sink.name] = self._copy(sink)
                state.proceed(open_sink, AndCondition(always, until))
                state.proceed(sink, AndCondition(always, NotCondition(until)))
            else:
                state.proceed(sink, always)
            _close_to(sink, self._take_condition(stage))
        else:
            state.proceed(sink, always)
        state.take(state, take)
        self._add_stop_of_following(state)
        if ignore is not None:
            waiting = self._make(stage.get_name(), StateKind.NORMAL)
            waiting.take(state, take)
            waiting.ignore(waiting, ignore)
            state.ignore(waiting, ignore)
            self._add_stop_of_following(waiting)
        return state

    # ---- groups ------------------------------------------------------------------------------

    def _single_group(
        self, group: GroupPattern, sink: State, proceed_to: State | None, optional: bool
    ) -> State:
        always = self._always()
        state = self._inside(group, sink)
        if optional:
            assert proceed_to is not None
            state.proceed(proceed_to, always)
        return state

    def _loop_group(self, group: GroupPattern, sink: State) -> State:
        always = self._always()
        again = self._make_stage_state(StateKind.NORMAL)
        state = self._inside(group, again)
        state.proceed(sink, always)
        again.proceed(state, always)
        return state

    def _inside(self, group: GroupPattern, sink: State) -> State:
        """Make the states of a group's own pattern, and return the first of them."""
        before = self._current, self._following, self._group
        self._group, self._current = group, group.get_raw_pattern()
        state = self._convert(self._convert_behind_first(sink))
        self._current, self._following, self._group = before
        return state

    def _set_first_of_loop(self, first: bool) -> None:
        if isinstance(self._current, GroupPattern):
            self._first_of_loop[self._current] = first

    def _is_first_of_loop(self) -> bool:
        return self._group is None or self._first_of_loop.get(self._group, True)

    def _heads_group(self, stage: Pattern) -> bool:
        return self._group is not None and stage.get_previous() is None

    def _heads_optional_group(self, stage: Pattern) -> bool:
        return (
            self._group is not None
            and self._heads_group(stage)
            and self._is_first_of_loop()
            and self._group.get_quantifier().optional
        )

    # ---- what must not come ------------------------------------------------------------------

    def _forbidden_before(self) -> list[tuple[Condition, str]]:
        """Return the not_followed_by stages that are still in force when this one begins."""
        found: list[tuple[Condition, str]] = []
        stage = self._current.get_previous()
        while stage is not None:
            quantifier = stage.get_quantifier()
            if quantifier.strategy is ConsumingStrategy.NOT_FOLLOW:
                found.append((self._take_condition(stage), stage.get_name()))
            elif not quantifier.optional:
                break
            stage = stage.get_previous()
        return found

    def _stop_state(self, condition: Condition, name: str) -> State:
        stop = self._stop_states.get(name)
        if stop is None:
            stop = self._stop_states[name] = self._make(name, StateKind.STOP)
            stop.take(stop, condition)
        return stop

    def _add_stops(self, state: State) -> None:
        for condition, name in self._forbidden_before():
            state.proceed(self._stop_state(condition, name), condition)

    def _add_stop_of_following(self, state: State) -> None:
        following = self._following
        if (
            following is not None
            and following.get_quantifier().strategy is ConsumingStrategy.NOT_FOLLOW
        ):
            condition = self._take_condition(following)
            state.proceed(self._stop_state(condition, following.get_name()), condition)

    def _without_passed_nots(self, sink: State) -> State:
        """Return the sink for a match whose optional stage took an event.

        What must not come before that stage may come after it, so such a match needs states of its
        own that do not stop there.
        """
        forbidden = self._forbidden_before()
        if not forbidden or not self._current.get_quantifier().optional:
            return sink
        names = {name for _, name in forbidden}
        copy = self._make(sink.name, sink.kind)
        for transition in sink.transitions:
            target = transition.target
            if transition.action is not Action.PROCEED:
                target = copy if target is sink else target
            elif target.kind is not StateKind.STOP:
                target = self._without_passed_nots(target)
            elif target.name in names:
                continue
            copy.add(transition.action, target, transition.condition)
        return copy

    # ---- states and conditions ---------------------------------------------------------------

    def _make(self, name: str, kind: StateKind) -> State:
        unique, number = name, 0
        while unique in self._states:
            unique = f"{name}{STATE_NAME_DELIMITER}{number}"
            number += 1
        state = self._states[unique] = State(unique, kind)
        return state

    def _make_stage_state(self, kind: StateKind) -> State:
        """Make a state that takes events of the current stage, with the time it may wait."""
        state = self._make(self._current.get_name(), kind)
        times = self._current.get_times()
        if times is None:
            window = self._current.get_window_size(WithinType.PREVIOUS_AND_CURRENT)
        elif STATE_NAME_DELIMITER in state.name:
            window = times.window
        else:
            # As in Flink: the state that was made first, the last one of its stage, may wait.
            window = None
        if window is not None:
            self._state_windows[state.name] = window
        return state

    def _copy(self, state: State) -> State:
        copy = self._make(state.stage, state.kind)
        for transition in state.transitions:
            target = copy if transition.target is state else transition.target
            copy.add(transition.action, target, transition.condition)
        return copy

    def _group_until(self) -> Condition | None:
        return None if self._group is None else self._group.get_until_condition()

    def _always(self) -> Condition:
        condition = _unless(self._group_until(), TRUE)
        assert condition is not None
        return condition

    def _take_condition(self, stage: Pattern) -> Condition:
        condition = _unless(self._group_until(), stage.get_condition())
        assert condition is not None
        return condition

    def _ignore_condition(self, stage: Pattern) -> Condition | None:
        """Return which events may come before the stage's first one, None for none."""
        strategy = stage.get_quantifier().strategy
        if self._group is not None and self._heads_group(stage):
            group = self._group.get_quantifier()
            strategy = group.strategy if self._is_first_of_loop() else group.inner_strategy
        return _unless(self._group_until(), _passed_over(strategy, stage))

    def _inner_ignore_condition(self, stage: Pattern) -> Condition | None:
        """Return which events may come between two of the stage, None for none."""
        strategy = stage.get_quantifier().inner_strategy
        if self._group is not None and self._heads_group(stage):
            strategy = self._group.get_quantifier().inner_strategy
        return _unless(self._group_until(), _passed_over(strategy, stage))


def _passed_over(strategy: ConsumingStrategy, stage: Pattern) -> Condition | None:
    if strategy is ConsumingStrategy.SKIP_TILL_NEXT:
        return NotCondition(stage.get_condition())
    return TRUE if strategy is ConsumingStrategy.SKIP_TILL_ANY else None


def _unless(until: Condition | None, condition: Condition | None) -> Condition | None:
    """Return the condition for events in front of the one that ends a loop."""
    if until is None or condition is None:
        return condition
    return AndCondition(NotCondition(until), condition)


def _close_to(state: State, condition: Condition) -> None:
    """Close all ways out of a state to events that a greedy loop in front of it takes."""
    for transition in state.transitions:
        transition.condition = AndCondition(transition.condition, NotCondition(condition))
