"""Keep some fields of both records of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph.fields import Field, get_field


@dataclass(frozen=True)
class PairProjection:
    """Make a tuple of fields of two records, in the order in which they were named.

    :param parts: `(side, field)`; None as field for the whole record.
    """

    parts: tuple[tuple[int, Field | None], ...]

    def and_(self, side: int, fields: tuple[Field, ...]) -> PairProjection:
        """Return a projection with further fields of one side."""
        more: tuple[tuple[int, Field | None], ...] = tuple((side, field) for field in fields)
        return PairProjection((*self.parts, *(more or ((side, None),))))

    def __call__(self, first: Any, second: Any) -> tuple[Any, ...]:
        both = (first, second)
        return tuple(_field(both[side], field) for side, field in self.parts)


def _field(record: Any, field: Field | None) -> Any:
    # The missing partner of an outer join has no fields.
    return record if field is None or record is None else get_field(record, field)


def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Return a pair."""
    return first, second
