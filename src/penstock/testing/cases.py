"""Cases as text: what an operator is given and what it must make of it.

    # a late element within the allowed lateness fires its window again
    given tumbling 10, lateness 5, sum
    in    a=1@1  a=2@3  W@9  a=4@8
    out   a=3@9  W@9    a=7@9

A case may have several pairs of `in` and `out`, and a line `late` for what leaves by the side
output. What the words behind `given` mean is the business of who runs the case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import ConfigurationError


class Token(NamedTuple):
    """One thing that goes in or comes out.

    `kind` is `record`, `watermark`, `time` (processing time), `cut` (a batch ends), `move` (it ends
    and another worker goes on) or `end` (of the input).
    """

    kind: str
    key: str = ""
    value: Any = None
    time: int | None = None


@dataclass
class Step:
    """What goes in, and what must have come out then."""

    events: list[Token]
    expected: list[Token] = field(default_factory=list)
    late: list[Token] = field(default_factory=list)


@dataclass
class Case:
    """One case of a file."""

    title: str
    place: str
    given: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


_WORDS = {"|": "cut", "||": "move", "end": "end"}
#: The time of what has no end.
LONGEST = (1 << 63) - 1


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file.

    :raises ConfigurationError: if a line is none of those that a case is made of.
    """
    cases: list[Case] = []
    title = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.name}:{number}"
        word, _, rest = line.strip().partition(" ")
        if word == "#":
            title = rest.strip()
        elif word == "given":
            cases.append(Case(title, place, [part.strip() for part in rest.split(",")]))
        elif word in ("in", "out", "late") and cases:
            _add(cases[-1], word, [read_token(text, place) for text in rest.split()])
        elif word:
            raise _unreadable(line, place)
    return cases


def _add(case: Case, word: str, tokens: list[Token]) -> None:
    if word == "in":
        case.steps.append(Step(tokens))
    elif word == "out":
        case.steps[-1].expected += tokens
    else:
        case.steps[-1].late += tokens


def read_token(text: str, place: str = "") -> Token:
    """Return what a word of a case means.

    >>> read_token("a=3@9")
    Token(kind='record', key='a', value=3, time=9)
    >>> read_token("a=[1,2]@9").value
    [1, 2]
    >>> read_token("W@9")
    Token(kind='watermark', key='', value=None, time=9)
    """
    if text in _WORDS:
        return Token(_WORDS[text])
    what, _, time = text.partition("@")
    try:
        moment = LONGEST if time == "max" else int(time) if time else None
        if what in ("W", "T"):
            return Token("watermark" if what == "W" else "time", time=moment)
        key, _, value = what.partition("=")
        return Token("record", key, _value(value), moment)
    except ValueError:
        raise _unreadable(text, place) from None


def _value(text: str) -> Any:
    if text.startswith("["):
        return [_value(part) for part in text.strip("[]").split(",") if part]
    return int(text)


def _unreadable(text: str, place: str) -> ConfigurationError:
    return ConfigurationError(
        "a case cannot be read",
        where=place,
        got=repr(text),
        todo="write '# title', 'given ...', 'in ...', 'out ...' or 'late ...'; records as a=1@5, "
        "watermarks as W@9, processing time as T@9, the end of a batch as |",
    )
