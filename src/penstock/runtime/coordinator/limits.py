"""How much one batch may read, so that a slot's share of it fits into memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.io import ReadLimit
from penstock.errors import ConfigurationError, show_value

MAX_RECORDS = "penstock.batch.max-records"
MAX_BYTES = "penstock.batch.max-bytes"
DEFAULT_MAX_RECORDS = 400_000
DEFAULT_MAX_BYTES = 64 << 20

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass
class BatchLimits:
    """Bounds of a batch: records of each source, and bytes of all sources together."""

    max_records: int = DEFAULT_MAX_RECORDS
    max_bytes: int = DEFAULT_MAX_BYTES

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> BatchLimits:
        """Read the bounds from a job's settings.

        :raises ConfigurationError: if one is no whole number above zero.
        """
        return cls(
            _amount(settings, MAX_RECORDS, DEFAULT_MAX_RECORDS, units={"": 1}),
            _amount(settings, MAX_BYTES, DEFAULT_MAX_BYTES, units=_UNITS),
        )

    def share(self, uid: str, sources: int) -> ReadLimit:
        """Return what a source may read in the next batch.

        The shares are equal and fixed, so that a source with a large backlog takes nothing
        from another one.

        :param uid: the source that is about to be asked.
        :param sources: how many sources of the job have not ended.
        """
        return ReadLimit(self.max_records, max(self.max_bytes // max(sources, 1), 1))


def _amount(settings: Mapping[str, Any], key: str, default: int, units: dict[str, int]) -> int:
    value = settings.get(key, default)
    match = re.fullmatch(r"(\d+) ?([a-z]*?)(?:i?b|bytes)?", str(value).strip().lower())
    if match is None or match.group(2) not in units or int(match.group(1)) == 0:
        example = "64mb" if len(units) > 1 else str(default)
        raise ConfigurationError(
            "a batch cannot be bounded by this value",
            where=f"setting {key}",
            got=show_value(value),
            todo=f"write a whole number above zero, for instance {example}",
        )
    return int(match.group(1)) * units[match.group(2)]
