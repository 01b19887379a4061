"""Names: their parts, and what to say of one that is not there."""

from __future__ import annotations

import difflib


def parts_of(path: str) -> tuple[str, ...]:
    """Return the parts of a dotted name."""
    return tuple(part.strip("`") for part in path.split("."))


def hint(name: str, known: list[str]) -> str:
    """Return what to do about a name that is not there."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"there are: {', '.join(sorted(known)) or 'none'}"
