"""What a statement returned."""

from __future__ import annotations

from enum import Enum


class ResultKind(Enum):
    """Whether a statement only succeeded, or has rows to show."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
