"""What becomes of a job's checkpoints when the job is cancelled."""

from __future__ import annotations

from enum import Enum


class ExternalizedCheckpointRetention(Enum):
    """Keep or delete checkpoints on cancellation. A failed job always keeps them."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2


#: Flink's name of it up to 1.x.
ExternalizedCheckpointCleanup = ExternalizedCheckpointRetention
