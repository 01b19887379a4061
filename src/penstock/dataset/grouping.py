"""Groups: what is done to the records of each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.core.batch.options import Aggregations, Order
from penstock.core.functions import Partitioner, ReduceFunction
from penstock.core.functions.batch import GroupCombineFunction, GroupReduceFunction
from penstock.dataset import aggregate
from penstock.dataset.checks import check_count
from penstock.dataset.data_set import DataSet
from penstock.dataset.reducing import MostBy
from penstock.graph.dataset.keys import Key, SortKey, make_key, make_sort_key
from penstock.graph.dataset.nodes import FirstNode, GroupReduceNode, ReduceNode
from penstock.graph.function_checks import require_function

if TYPE_CHECKING:
    from penstock.dataset.aggregate import AggregateOperator


class _Grouping:
    """Base: a data set and its key."""

    def __init__(self, data: DataSet, key: Key) -> None:
        self._data = data
        self._key = key
        self._sort: tuple[SortKey, ...] = ()
        self._partitioner: Any = None

    def reduce_group(
        self, reducer: Callable[[Any], Any] | GroupReduceFunction[Any, Any]
    ) -> DataSet:
        """Call a function with all records of each group; it returns or yields others.

        A `GroupReduceFunction` that has a `combine` method makes less of what is sent.
        """
        require_function("reduce_group()", reducer, GroupReduceFunction)
        return self._data._add(
            GroupReduceNode,
            "GroupReduce",
            key=self._key,
            function=reducer,
            sort=self._sort,
            partitioner=self._partitioner,
        )

    def combine_group(
        self, combiner: Callable[[Any], Any] | GroupCombineFunction[Any, Any]
    ) -> DataSet:
        """Call a function with the records of each group that are together already."""
        require_function("combine_group()", combiner, GroupCombineFunction)
        return self._data._add(
            GroupReduceNode, "GroupCombine", key=self._key, function=combiner, combine_only=True
        )

    def first(self, n: int) -> DataSet:
        """Keep `n` records of each group: any, or the first ones of a sorted group."""
        check_count("first()", n)
        return self._data._add(
            FirstNode, f"First({n})", key=self._key, count=n, sort=self._sort, keeps=True
        )


class SortedGrouping(_Grouping):
    """Groups whose records come sorted."""

    def sort_group(self, field: Any, order: Order) -> SortedGrouping:
        """Sort equal records by a further field."""
        example = self._data._node.example
        self._sort = (*self._sort, make_sort_key("sort_group()", field, order, example))
        return self


class UnsortedGrouping(_Grouping):
    """Groups whose records come in any order."""

    def sort_group(self, field: Any, order: Order) -> SortedGrouping:
        """Sort the records of each group by a field or a function."""
        grouping = SortedGrouping(self._data, self._key)
        grouping._partitioner = self._partitioner
        return grouping.sort_group(field, order)

    def with_partitioner(
        self, partitioner: Callable[[Any, int], int] | Partitioner[Any]
    ) -> UnsortedGrouping:
        """Send groups where a partitioner says, instead of by their key's hash."""
        require_function("with_partitioner()", partitioner, Partitioner)
        self._partitioner = partitioner
        return self

    def reduce(self, reducer: Callable[[Any, Any], Any] | ReduceFunction[Any]) -> DataSet:
        """Make one record of each group, two by two."""
        require_function("reduce()", reducer, ReduceFunction)
        return self._data._add(ReduceNode, "Reduce", key=self._key, function=reducer)

    def aggregate(self, agg: Aggregations, field: int | str) -> AggregateOperator:
        """Aggregate one field of each group; `.and_(agg, field)` adds another."""
        return aggregate.AggregateOperator.over(self._data, self._key, agg, field)

    def sum(self, field: int | str) -> AggregateOperator:
        """Add up one field of each group."""
        return self.aggregate(Aggregations.SUM, field)

    def min(self, field: int | str) -> AggregateOperator:
        """Return the smallest value of one field of each group."""
        return self.aggregate(Aggregations.MIN, field)

    def max(self, field: int | str) -> AggregateOperator:
        """Return the largest value of one field of each group."""
        return self.aggregate(Aggregations.MAX, field)

    def min_by(self, *fields: int | str) -> DataSet:
        """Return the record of each group with the smallest values of some fields."""
        return self._most_by("min_by()", fields, smallest=True)

    def max_by(self, *fields: int | str) -> DataSet:
        """Return the record of each group with the largest values of some fields."""
        return self._most_by("max_by()", fields, smallest=False)

    def _most_by(self, call: str, fields: tuple[int | str, ...], *, smallest: bool) -> DataSet:
        by = make_key(call, fields, self._data._node.example)
        function = MostBy(by, smallest=smallest)
        return self._data._add(ReduceNode, call[:-2], key=self._key, function=function, keeps=True)
