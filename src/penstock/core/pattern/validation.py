"""What can only be said of a pattern once it is complete."""

from __future__ import annotations

from penstock.core.pattern.pattern import GroupPattern, Pattern, WithinType
from penstock.core.pattern.quantifier import ConsumingStrategy
from penstock.errors import MalformedPatternError, show_value


def validate(pattern: Pattern) -> None:
    """Check a pattern that nothing will be added to any more.

    :raises MalformedPatternError: if it has no meaning.
    """
    if not isinstance(pattern, Pattern):
        raise MalformedPatternError(
            "a pattern is needed",
            got=f"{type(pattern).__name__} {show_value(pattern)}",
            todo="build one that starts with Pattern.begin(...)",
        )
    _check_skip_target(pattern)
    _check_loops(pattern)
    window = window_time(pattern)
    _check_windows(pattern, window)
    if (
        pattern.get_quantifier().strategy is ConsumingStrategy.NOT_FOLLOW
        and window is None
        and pattern.get_window_size(WithinType.PREVIOUS_AND_CURRENT) is None
    ):
        raise MalformedPatternError(
            "not_followed_by() as the last stage needs a time after which it is fulfilled",
            where=pattern.describe(),
            todo="call within(...) on the pattern",
        )


def window_time(pattern: Pattern) -> int | None:
    """Return the time between the first and the last event: the shortest that any stage says."""
    times = [time for stage in pattern.stages() if (time := stage.get_window_size()) is not None]
    for stage in pattern.stages():
        if isinstance(stage, GroupPattern):
            inner = window_time(stage.get_raw_pattern())
            times += [] if inner is None else [inner]
    return min(times, default=None)


def _check_skip_target(pattern: Pattern) -> None:
    name = pattern.get_after_match_skip_strategy().pattern_name
    if name is not None and name not in {stage.get_name() for stage in pattern.stages()}:
        raise MalformedPatternError(
            "the skip strategy names a stage that the pattern does not have",
            where=pattern.describe(),
            got=repr(name),
            todo="name one of the pattern's own stages; those inside of groups do not count",
        )


def _check_loops(pattern: Pattern) -> None:
    for stage in pattern.stages():
        if isinstance(stage, GroupPattern):
            inner = stage.get_raw_pattern()
            if stage.get_quantifier().looping and _can_be_empty(inner):
                raise MalformedPatternError(
                    "a group that repeats without end must take an event each time",
                    where=stage.describe(),
                    todo="leave out optional() of at least one of its stages",
                )
            _check_loops(inner)


def _can_be_empty(pattern: Pattern) -> bool:
    return all(
        stage.get_quantifier().optional
        or stage.get_quantifier().is_not
        or (isinstance(stage, GroupPattern) and _can_be_empty(stage.get_raw_pattern()))
        for stage in pattern.stages()
    )


def _check_windows(pattern: Pattern, window: int | None) -> None:
    for stage in pattern.stages():
        if isinstance(stage, GroupPattern):
            _check_windows(stage.get_raw_pattern(), window)
            continue
        times = stage.get_times()
        if times is None:
            time = stage.get_window_size(WithinType.PREVIOUS_AND_CURRENT)
        elif stage.get_quantifier().looping or times.to > 1:
            time = times.window
        else:
            continue
        if time is not None and window is not None and time > window:
            raise MalformedPatternError(
                "the time between two events is longer than that of the whole match",
                where=stage.describe(),
                got=f"{time} ms, and {window} ms for the whole match",
                todo="shorten the one or lengthen the other within(...)",
            )
