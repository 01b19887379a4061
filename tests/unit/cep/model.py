"""A matcher that tries everything: slow, and simple enough to be believed.

It knows chains of stages with contiguity, repetition and `within`, and says which matches there
are, not in which order. An event is a letter and a number; a stage wants one of some letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.core.pattern import Pattern

Taken = tuple[tuple[str, int], ...]  # (stage, place of the event)


@dataclass(frozen=True)
class Stage:
    """One stage; `word` is how it follows the one before, `inner` how its own events do."""

    name: str
    letters: str
    word: str = "followed_by"
    least: int = 1
    most: int | None = 1
    inner: str = "followed_by"
    optional: bool = False
    #: Letters that must not come before the stage's first event, and how.
    forbidden: str = ""
    forbidden_word: str = ""


@dataclass(frozen=True)
class Chain:
    stages: tuple[Stage, ...]
    within: int | None = None


def build(chain: Chain) -> Pattern:
    """Return the same as a pattern."""
    pattern: Pattern | None = None
    for stage in chain.stages:
        if pattern is None:
            pattern = Pattern.begin(stage.name)
        else:
            if stage.forbidden:
                pattern = getattr(pattern, stage.forbidden_word)(f"no {stage.name}")
                pattern = pattern.where(_wants(stage.forbidden))
            pattern = getattr(pattern, stage.word)(stage.name)
        pattern = pattern.where(_wants(stage.letters))
        if stage.most is None:
            pattern.times_or_more(stage.least)
        elif stage.most > 1:
            pattern.times(stage.least, stage.most)
        if stage.most != 1 and stage.inner == "next":
            pattern.consecutive()
        elif stage.most != 1 and stage.inner == "followed_by_any":
            pattern.allow_combinations()
        if stage.optional:
            pattern.optional()
    assert pattern is not None
    return pattern.within(chain.within)


def _wants(letters: str):  # type: ignore[no-untyped-def]
    return lambda event: event[0] in letters


def matches(chain: Chain, events: list[tuple[str, int]]) -> set[Taken]:
    """Return all matches: the events that each stage took, by their place in the list."""
    found = set()
    for taken in filter(None, _from(chain.stages, events, None)):
        first, last = events[taken[0][1]][1], events[taken[-1][1]][1]
        if chain.within is None or last - first < chain.within:
            found.add(taken)
    return found


def _from(
    stages: tuple[Stage, ...], events: list[tuple[str, int]], last: int | None
) -> Iterator[Taken]:
    """Yield the ways to fulfil stages behind the event at `last`."""
    if not stages:
        yield ()
        return
    stage, *rest = stages
    for own in _repetitions(stage, events, last):
        for others in _from(tuple(rest), events, own[-1]):
            yield (*((stage.name, place) for place in own), *others)
    if stage.optional:
        yield from _from(tuple(rest), events, last)


def _repetitions(
    stage: Stage, events: list[tuple[str, int]], last: int | None
) -> Iterator[list[int]]:
    """Yield the ways in which a stage takes its events."""
    for place in _candidates(stage.word, stage.letters, events, last):
        if last is not None and not _allowed(stage, events, last, place):
            continue
        yield from _longer(stage, events, [place])


def _longer(stage: Stage, events: list[tuple[str, int]], own: list[int]) -> Iterator[list[int]]:
    if len(own) >= stage.least:
        yield own
    if stage.most is None or len(own) < stage.most:
        for place in _candidates(stage.inner, stage.letters, events, own[-1]):
            yield from _longer(stage, events, [*own, place])


def _candidates(
    word: str, letters: str, events: list[tuple[str, int]], last: int | None
) -> Iterator[int]:
    """Yield the places at which an event may follow the one at `last`; None begins anywhere."""
    for place in range(0 if last is None else last + 1, len(events)):
        if events[place][0][0] in letters:
            yield place
            if last is not None and word != "followed_by_any":
                return
        if last is not None and word == "next":
            return


def _allowed(stage: Stage, events: list[tuple[str, int]], last: int, place: int) -> bool:
    if not stage.forbidden:
        return True
    end = last + 2 if stage.forbidden_word == "not_next" else place
    return not any(event[0] in stage.forbidden for event, _ in events[last + 1 : end])
