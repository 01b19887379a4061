"""How often a record may count after a failure."""

from __future__ import annotations

from enum import Enum


class CheckpointingMode(Enum):
    """The guarantee of checkpoints.

    Penstock's batches are consistent points, so state is exactly once in both modes.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
