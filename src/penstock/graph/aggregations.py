"""The reduce functions behind sum, min, max, min_by and max_by of a keyed stream.

As in Flink, sum, min and max change one field and keep the others of the first record; min_by and
max_by keep the whole record.
"""

from __future__ import annotations

from typing import Any

from penstock.core.functions import ReduceFunction
from penstock.errors import FieldError, show_value
from penstock.graph.fields import Field, get_field, replace_field


class _FieldFunction(ReduceFunction[Any]):
    """Base: a reduce function about one field."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def check(self, value: Any) -> None:
        """Check the first record of a key, which is not reduced with any other.

        :raises FieldError: if it has no such field.
        """
        get_field(value, self.field)

    def misfit(self, what: str, value1: Any, value2: Any) -> FieldError:
        """Return the error for two values that cannot be added up or compared."""
        return FieldError(
            f"values of field {self.field!r} cannot be {what}",
            got=f"{show_value(value1)} and {show_value(value2)}",
            todo="map the stream to records that have numbers there",
        )


class FieldSum(_FieldFunction):
    """Add up one field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        field = self.field
        old, new = get_field(value1, field), get_field(value2, field)
        try:
            total = old + new
        except TypeError:
            raise self.misfit("added up", old, new) from None
        return replace_field(value1, field, total)


class FieldMin(_FieldFunction):
    """Keep the smallest value of one field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        held, candidate = get_field(value1, self.field), get_field(value2, self.field)
        try:
            is_better = candidate < held
        except TypeError:
            raise self.misfit("compared", held, candidate) from None
        if is_better:
            return replace_field(value1, self.field, candidate)
        return value1


class FieldMax(_FieldFunction):
    """Keep the largest value of one field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        held, candidate = get_field(value1, self.field), get_field(value2, self.field)
        try:
            is_better = candidate > held
        except TypeError:
            raise self.misfit("compared", held, candidate) from None
        if is_better:
            return replace_field(value1, self.field, candidate)
        return value1


class MinBy(_FieldFunction):
    """Keep the record with the smallest value of one field.

    :param first: of several records with that value, keep the first; else the last.
    """

    def __init__(self, field: Field, first: bool = True) -> None:
        super().__init__(field)
        self.first = first

    def reduce(self, value1: Any, value2: Any) -> Any:
        old, new = get_field(value1, self.field), get_field(value2, self.field)
        try:
            is_better = new < old
        except TypeError:
            raise self.misfit("compared", old, new) from None
        if is_better or (not self.first and new == old):
            return value2
        return value1


class MaxBy(_FieldFunction):
    """Keep the record with the largest value of one field.

    :param first: of several records with that value, keep the first; else the last.
    """

    def __init__(self, field: Field, first: bool = True) -> None:
        super().__init__(field)
        self.first = first

    def reduce(self, value1: Any, value2: Any) -> Any:
        old, new = get_field(value1, self.field), get_field(value2, self.field)
        try:
            is_better = new > old
        except TypeError:
            raise self.misfit("compared", old, new) from None
        if is_better or (not self.first and new == old):
            return value2
        return value1
