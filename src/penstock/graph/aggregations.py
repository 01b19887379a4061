"""The reduce functions behind sum, min, max, min_by and max_by of a keyed stream.

As in Flink, sum, min and max change one field and keep the others of the first record; min_by and
max_by keep the whole record.
"""

from __future__ import annotations

from typing import Any

from penstock.core.functions import ReduceFunction
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


class FieldSum(_FieldFunction):
    """Add up one field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        field = self.field
        total = get_field(value1, field) + get_field(value2, field)
        return replace_field(value1, field, total)


class FieldMin(_FieldFunction):
    """Keep the smallest value of one field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        candidate = get_field(value2, self.field)
        if candidate < get_field(value1, self.field):
            return replace_field(value1, self.field, candidate)
        return value1


class FieldMax(_FieldFunction):
    """Keep the largest value of one field."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        candidate = get_field(value2, self.field)
        if candidate > get_field(value1, self.field):
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
        if new < old or (not self.first and new == old):
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
        if new > old or (not self.first and new == old):
            return value2
        return value1
