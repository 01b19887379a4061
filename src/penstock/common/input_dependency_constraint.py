"""When a task with several inputs may begin."""

from __future__ import annotations

from enum import Enum


class InputDependencyConstraint(Enum):
    """When a task with several inputs may begin. Kept for programs that set it; has no effect."""

    ANY = 0
    ALL = 1
