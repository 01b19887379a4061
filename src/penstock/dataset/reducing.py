"""The reduce functions behind aggregate, min_by, max_by and distinct."""

from __future__ import annotations

from typing import Any

from penstock.core.batch.options import Aggregations
from penstock.core.functions import ReduceFunction
from penstock.graph.dataset.keys import Key
from penstock.graph.fields import Field, get_field, replace_field


def keep_first(first: Any, second: Any) -> Any:
    """Keep one of two equal records."""
    return first


class MostBy(ReduceFunction[Any]):
    """Keep the record with the smallest or the largest key; of equals, the one met first."""

    def __init__(self, key: Key, *, smallest: bool) -> None:
        self._key = key.function()
        self._smallest = smallest

    def reduce(self, value1: Any, value2: Any) -> Any:
        old, new = self._key(value1), self._key(value2)
        return value2 if (new < old if self._smallest else new > old) else value1


class FieldAggregates(ReduceFunction[Any]):
    """Aggregate some fields; the others are those of the record met last, as in Flink."""

    def __init__(self, parts: list[tuple[Aggregations, Field]]) -> None:
        self._parts = parts

    def reduce(self, value1: Any, value2: Any) -> Any:
        result = value2
        for how, field in self._parts:
            old, new = get_field(value1, field), get_field(value2, field)
            if how is Aggregations.SUM:
                new = old + new
            elif (old < new) if how is Aggregations.MIN else (old > new):
                new = old
            else:
                continue
            result = replace_field(result, field, new)
        return result


class TupleSum(ReduceFunction[Any]):
    """Add up one field of plain tuples: the most common aggregation, without a call per field."""

    def __init__(self, field: int) -> None:
        self._field = field
        self._any_record = FieldAggregates([(Aggregations.SUM, field)])

    def reduce(self, value1: Any, value2: Any) -> Any:
        at = self._field
        if at == 1 and type(value1) is tuple and type(value2) is tuple and len(value2) == 2:
            return value2[0], value1[1] + value2[1]
        if type(value1) is tuple and type(value2) is tuple and at < len(value2):
            return (*value2[:at], value1[at] + value2[at], *value2[at + 1 :])
        return self._any_record.reduce(value1, value2)


def aggregate_function(parts: list[tuple[Aggregations, Field]]) -> ReduceFunction[Any]:
    """Return the function for some aggregations."""
    (how, field), *more = parts
    if not more and how is Aggregations.SUM and type(field) is int and field >= 0:
        return TupleSum(field)
    return FieldAggregates(parts)
