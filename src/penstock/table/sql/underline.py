"""Show the place of an error in the text of a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import PenstockError

_PLACE = re.compile(r"line (\d+), column (\d+)")
_TOKEN = re.compile(r"`[^`]*`|'[^']*'|[\w$]+|[^\w\s]+")


def underlined(line: str, start: int, length: int) -> str:
    """Return a line, and below it a mark under some of it."""
    return f"{line}\n{' ' * start}{'^' * max(length, 1)}"


@contextmanager
def showing_places(sql: str) -> Iterator[None]:
    """Let errors that know line and column show the text there, underlined."""
    try:
        yield
    except PenstockError as error:
        place = _PLACE.fullmatch(error.where or "")
        lines = sql.splitlines()
        if place is not None and int(place[1]) <= len(lines):
            line, start = lines[int(place[1]) - 1], int(place[2]) - 1
            token = _TOKEN.match(line, start)
            marked = underlined(line, start, len(token[0]) if token else 1)
            error.where = f"{error.where}\n{marked}"
        raise


@contextmanager
def placed_in(definition: str) -> Iterator[None]:
    """Let errors name the definition they are in: line and column are those of another text."""
    try:
        yield
    except PenstockError as error:
        if error.where is None or _PLACE.fullmatch(error.where):
            error.where = definition
        raise
