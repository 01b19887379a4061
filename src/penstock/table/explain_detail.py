"""What an explanation of a plan may add."""

from __future__ import annotations

from enum import Enum


class ExplainDetail(Enum):
    """Details for `explain`. Those that Penstock has nothing to say about change nothing."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
