"""What a statement returned."""

from __future__ import annotations

from enum import IntEnum


class ResultKind(IntEnum):
    """Whether a statement only succeeded, or has rows to show. PyFlink's are plain numbers."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1

    def __str__(self) -> str:
        return str(int(self))
