"""How much one batch may read, so that a slot's share of it fits into memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.common.options import BATCH_BYTES, BATCH_RECORDS
from penstock.core.io import ReadLimit


@dataclass
class BatchLimits:
    """Bounds of a batch: records of each source, and bytes of all sources together."""

    max_records: int
    max_bytes: int

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> BatchLimits:
        """Read the bounds from a job's settings.

        :raises ConfigurationError: if one is no whole number above zero.
        """
        return cls(BATCH_RECORDS.read(settings), BATCH_BYTES.read(settings))

    def share(self, uid: str, sources: int) -> ReadLimit:
        """Return what a source may read in the next batch.

        The shares are equal and fixed, so that a source with a large backlog takes nothing
        from another one.

        :param uid: the source that is about to be asked.
        :param sources: how many sources of the job have not ended.
        """
        return ReadLimit(self.max_records, max(self.max_bytes // max(sources, 1), 1))
