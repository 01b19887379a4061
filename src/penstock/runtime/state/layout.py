"""Layout tags: how the state of an operator is laid out, so that no run has to guess.

A tag is text, `kind` or `kind(name=value, ...)`. It is written beside the state. Whoever finds
another tag than its own converts or refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TAG = re.compile(r"([a-z-]+)(?:\((.*)\))?")


@dataclass(frozen=True)
class Layout:
    """A tag, taken apart.

    >>> str(Layout("aligned-windows", {"size": "10", "contents": "elements"}))
    'aligned-windows(contents=elements, size=10)'
    >>> Layout.parse("aligned-windows(contents=elements, size=10)").settings["size"]
    '10'
    """

    kind: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.settings:
            return self.kind
        inside = ", ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        return f"{self.kind}({inside})"

    @classmethod
    def parse(cls, tag: str) -> Layout:
        """Undo `str`."""
        match = _TAG.fullmatch(tag)
        assert match is not None, f"no layout tag: {tag!r}"
        parts = (part.partition("=") for part in (match[2] or "").split(", ") if part)
        return cls(match[1], {name: value for name, _, value in parts})
