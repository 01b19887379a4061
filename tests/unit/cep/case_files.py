"""Cases of patterns as text: a pattern, events, and the matches that they make.

    # a loop takes each event, and matches begin with each of them
    given begin a=A, one_or_more, followed_by b=B, within 10
    in A1@1 A2@2 B1@3
    out a:A1,A2 b:B1
    out a:A1 b:B1
    out a:A2 b:B1
    timeout @11 a:A1

An event is a letter and a number. A condition names letters (`AB`, `*` for all); `A+` wants the
number to be above that of the stage's last event, `A>x` above that of the last event of stage x.
The order of `out` and of `timeout` lines is that of the matches. `error` says that the pattern, or
the job, fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.core.pattern import AfterMatchSkipStrategy, Pattern, WithinType

Match = dict[str, list[str]]


@dataclass
class Case:
    title: str
    place: str
    given: str
    events: list[tuple[str, int]] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    timeouts: list[tuple[Match, int]] = field(default_factory=list)
    error: str | None = None


def read_cases(path: Path) -> list[Case]:
    cases: list[Case] = []
    title = given = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if word == "#":
            title = rest
        elif word == "given":
            given = rest
        elif word == "in":
            events = [read_event(text) for text in rest.split()]
            cases.append(Case(title, f"{path.name}:{number}", given, events))
        elif word == "out":
            cases[-1].matches.append(read_match(rest.split()))
        elif word == "timeout":
            time, *match = rest.split()
            cases[-1].timeouts.append((read_match(match), int(time[1:])))
        elif word == "error":
            cases[-1].error = rest
        else:
            assert not word, f"{path.name}:{number}: {line}"
    return cases


def read_event(text: str) -> tuple[str, int]:
    event, _, time = text.partition("@")
    return event, int(time)


def read_match(parts: list[str]) -> Match:
    pairs = [part.split(":") for part in parts if part != "-"]
    return {stage: events.split(",") for stage, events in pairs}


def condition(text: str, own: str) -> Callable[..., bool]:
    letters = text.rstrip("+").partition(">")[0]

    def accepts(event: str) -> bool:
        return letters == "*" or event[0] in letters

    stage = own if text.endswith("+") else text.partition(">")[2]
    if not stage:
        return accepts

    def above_last(event: str, ctx: Any) -> bool:
        if not accepts(event):
            return False
        before = ctx.get_events_for_pattern(stage)
        return not before or int(event[1:]) > int(before[-1][1:])

    return above_last


def build(given: str) -> Pattern:
    """Return the pattern that the words describe."""
    return _build(iter(phrase.split() for phrase in given.split(",")))


_SKIPS = {
    "no": AfterMatchSkipStrategy.no_skip,
    "next": AfterMatchSkipStrategy.skip_to_next,
    "past": AfterMatchSkipStrategy.skip_past_last_event,
    "first": AfterMatchSkipStrategy.skip_to_first,
    "last": AfterMatchSkipStrategy.skip_to_last,
}
_STAGES = {"begin", "next", "followed_by", "followed_by_any", "not_next", "not_followed_by"}


def _build(phrases: Iterator[list[str]]) -> Pattern:
    skip = None
    pattern: Any = Pattern
    for word, *rest in phrases:
        if word == ")":
            break
        if word == "skip":
            skip = _SKIPS[rest[0].rstrip("!")](*rest[1:])
            skip = skip.throw_exception_on_miss() if rest[0].endswith("!") else skip
        elif word in _STAGES:
            name, _, accepts = rest[0].partition("=")
            what = _build(phrases) if name == "(" else name
            more = (skip,) if word == "begin" else ()
            pattern = getattr(pattern, word)(what, *more)
            if accepts:
                pattern = pattern.where(condition(accepts, name))
        else:
            pattern = _say(pattern, word, rest)
    return pattern


def _say(pattern: Pattern, word: str, rest: list[str]) -> Pattern:
    if word in ("where", "or", "until"):
        method = {"or": "or_"}.get(word, word)
        return getattr(pattern, method)(condition(rest[0], pattern.get_name()))
    if word == "within":
        return pattern.within(int(rest[0]))
    if word == "within_previous":
        return pattern.within(int(rest[0]), WithinType.PREVIOUS_AND_CURRENT)
    if word == "combinations":
        return pattern.allow_combinations()
    numbers = [int(each) for each in rest if not each.startswith("w")]
    windows = [int(each[1:]) for each in rest if each.startswith("w")]
    return getattr(pattern, word)(*numbers, **({"window": windows[0]} if windows else {}))
