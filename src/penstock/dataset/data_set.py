"""A data set, and what is done to its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.core.batch.options import Aggregations, CrossHint, JoinHint, JoinKind, Order
from penstock.core.functions import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from penstock.core.functions.batch import (
    GroupCombineFunction,
    GroupReduceFunction,
    MapPartitionFunction,
)
from penstock.dataset.checks import check_count
from penstock.dataset.reducing import MostBy, keep_first
from penstock.dataset.sinks import DataSetSinks
from penstock.errors import ConfigurationError
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import UNKNOWN, make_key, make_sort_key
from penstock.graph.dataset.nodes import (
    EachKind,
    EachNode,
    FirstNode,
    GroupReduceNode,
    Node,
    PartitionKind,
    PartitionNode,
    PlaceholderNode,
    ReduceNode,
    SortPartitionNode,
    UnionNode,
)
from penstock.graph.fields import Projection
from penstock.graph.function_checks import require_function

if TYPE_CHECKING:
    from penstock.dataset.aggregate import AggregateOperator
    from penstock.dataset.co_group import CoGroupSets
    from penstock.dataset.cross import CrossOperator
    from penstock.dataset.grouping import UnsortedGrouping
    from penstock.dataset.iteration import DeltaIteration, IterativeDataSet
    from penstock.dataset.joins import JoinSets


class DataSet(DataSetSinks):
    """A collection of records, lazily computed on Spark.

    >>> from penstock.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.create_collections_environment()
    >>> words = env.from_elements("to", "be", "or", "not", "to", "be")
    >>> counts = words.map(lambda word: (word, 1)).group_by(0).sum(1)
    >>> sorted(counts.collect())
    [('be', 2), ('not', 1), ('or', 1), ('to', 2)]
    """

    # --- records --------------------------------------------------------------------------

    def map(self, mapper: Callable[[Any], Any] | MapFunction[Any, Any]) -> DataSet:
        """Turn every record into one other."""
        require_function("map()", mapper, MapFunction)
        return self._each(EachKind.MAP, "Map", mapper)

    def flat_map(self, flat_mapper: Callable[[Any], Any] | FlatMapFunction[Any, Any]) -> DataSet:
        """Turn every record into any number of others; the function returns or yields them."""
        require_function("flat_map()", flat_mapper, FlatMapFunction)
        return self._each(EachKind.FLAT_MAP, "FlatMap", flat_mapper)

    def filter(self, filter: Callable[[Any], bool] | FilterFunction[Any]) -> DataSet:
        """Keep the records for which the function returns True."""
        require_function("filter()", filter, FilterFunction)
        return self._each(EachKind.FILTER, "Filter", filter, example=self._node.example)

    def map_partition(
        self, map_partition: Callable[[Any], Any] | MapPartitionFunction[Any, Any]
    ) -> DataSet:
        """Turn all records of each subtask into any number of others."""
        require_function("map_partition()", map_partition, MapPartitionFunction)
        return self._each(EachKind.MAP_PARTITION, "MapPartition", map_partition)

    def project(self, *fields: int | str) -> DataSet:
        """Keep some fields of each record, in the given order, as a tuple."""
        make_key("project()", fields, self._node.example)
        return self._each(EachKind.MAP, "Projection", Projection(tuple(fields)))

    # --- all records as one group ---------------------------------------------------------

    def reduce(self, reducer: Callable[[Any, Any], Any] | ReduceFunction[Any]) -> DataSet:
        """Make one record of all, two by two; of no records, none."""
        require_function("reduce()", reducer, ReduceFunction)
        return self._add(ReduceNode, "Reduce", key=None, function=reducer, parallelism=1)

    def reduce_group(
        self, reducer: Callable[[Any], Any] | GroupReduceFunction[Any, Any]
    ) -> DataSet:
        """Call a function once with all records; it returns or yields any number of others."""
        require_function("reduce_group()", reducer, GroupReduceFunction)
        return self._add(GroupReduceNode, "GroupReduce", key=None, function=reducer, parallelism=1)

    def combine_group(
        self, combiner: Callable[[Any], Any] | GroupCombineFunction[Any, Any]
    ) -> DataSet:
        """Call a function with the records of each subtask; nothing is sent anywhere."""
        require_function("combine_group()", combiner, GroupCombineFunction)
        return self._add(
            GroupReduceNode, "GroupCombine", key=None, function=combiner, combine_only=True
        )

    def aggregate(self, agg: Aggregations, field: int | str) -> AggregateOperator:
        """Aggregate one field over all records; `.and_(agg, field)` adds another."""
        return aggregate.AggregateOperator.over(self, None, agg, field)

    def sum(self, field: int | str) -> AggregateOperator:
        """Add up one field over all records."""
        return self.aggregate(Aggregations.SUM, field)

    def min(self, field: int | str) -> AggregateOperator:
        """Return the smallest value of one field over all records."""
        return self.aggregate(Aggregations.MIN, field)

    def max(self, field: int | str) -> AggregateOperator:
        """Return the largest value of one field over all records."""
        return self.aggregate(Aggregations.MAX, field)

    def min_by(self, *fields: int | str) -> DataSet:
        """Return the record with the smallest values of some fields; of equals, any one."""
        return self._most_by("min_by()", fields, smallest=True)

    def max_by(self, *fields: int | str) -> DataSet:
        """Return the record with the largest values of some fields; of equals, any one."""
        return self._most_by("max_by()", fields, smallest=False)

    def first(self, n: int) -> DataSet:
        """Keep any `n` records."""
        check_count("first()", n)
        return self._add(FirstNode, f"First({n})", key=None, count=n, parallelism=1, keeps=True)

    def distinct(self, *fields: Any) -> DataSet:
        """Keep one record of each key: of equal fields, of an equal key, or of equal records.

        :param fields: positions, names or a function; nothing: the whole record.
        """
        key = make_key("distinct()", fields, self._node.example)
        return self._add(ReduceNode, "Distinct", key=key, function=keep_first, keeps=True)

    # --- groups and pairs -----------------------------------------------------------------

    def group_by(self, *fields: Any) -> UnsortedGrouping:
        """Group by fields or a function.

        :param fields: positions, names (`f0` for tuples) or one function or `KeySelector`.
        """
        return grouping.UnsortedGrouping(self, make_key("group_by()", fields, self._node.example))

    def join(self, other: DataSet, strategy: JoinHint = JoinHint.OPTIMIZER_CHOOSES) -> JoinSets:
        """Pair records of two data sets with equal keys: `.where(...).equal_to(...)`."""
        return joins.JoinSets(self, other, JoinKind.INNER, strategy, "join()")

    def join_with_tiny(self, other: DataSet) -> JoinSets:
        """Join with a data set that is small enough to be sent whole to every worker."""
        return self.join(other, JoinHint.BROADCAST_HASH_SECOND)

    def join_with_huge(self, other: DataSet) -> JoinSets:
        """Join a small data set, which is sent whole to every worker, with a large one."""
        return self.join(other, JoinHint.BROADCAST_HASH_FIRST)

    def left_outer_join(
        self, other: DataSet, strategy: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinSets:
        """Join; a record of this data set without a partner is paired with None."""
        return joins.JoinSets(self, other, JoinKind.LEFT, strategy, "left_outer_join()")

    def right_outer_join(
        self, other: DataSet, strategy: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinSets:
        """Join; a record of the other data set without a partner is paired with None."""
        return joins.JoinSets(self, other, JoinKind.RIGHT, strategy, "right_outer_join()")

    def full_outer_join(
        self, other: DataSet, strategy: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    ) -> JoinSets:
        """Join; every record without a partner is paired with None."""
        return joins.JoinSets(self, other, JoinKind.FULL, strategy, "full_outer_join()")

    def co_group(self, other: DataSet) -> CoGroupSets:
        """Bring the records of two data sets with equal keys together, key by key."""
        return co_group.CoGroupSets(self, other)

    def cross(self, other: DataSet) -> CrossOperator:
        """Pair each record with each record of another data set."""
        return cross.CrossOperator(self, other, CrossHint.OPTIMIZER_CHOOSES)

    def cross_with_tiny(self, other: DataSet) -> CrossOperator:
        """Cross with a data set that is small enough to be sent whole to every worker."""
        return cross.CrossOperator(self, other, CrossHint.SECOND_IS_SMALL)

    def cross_with_huge(self, other: DataSet) -> CrossOperator:
        """Cross a small data set, which is sent whole to every worker, with a large one."""
        return cross.CrossOperator(self, other, CrossHint.FIRST_IS_SMALL)

    def union(self, *others: DataSet) -> DataSet:
        """Return the records of all; equal ones stay."""
        nodes = [self._other(other, "union()") for other in others]
        return self._add(UnionNode, "Union", more=nodes, keeps=True)

    # --- partitions -----------------------------------------------------------------------

    def rebalance(self) -> DataSet:
        """Deal records out evenly to all subtasks."""
        return self._partition(PartitionKind.REBALANCE)

    def partition_by_hash(self, *fields: Any) -> DataSet:
        """Send records with equal keys to the same subtask."""
        key = make_key("partition_by_hash()", fields, self._node.example)
        return self._partition(PartitionKind.HASH, key=key)

    def partition_by_range(
        self, *fields: Any, orders: tuple[Order, ...] | list[Order] | None = None
    ) -> DataSet:
        """Send records to subtasks by ranges of their keys, found from a sample.

        :param orders: one for each field; default: ascending.
        """
        directions = tuple(orders or (Order.ASCENDING,) * len(fields))
        if not fields or len(directions) != len(fields):
            raise ConfigurationError(
                "partition_by_range() needs fields, and one order for each",
                where=str(capture_call_site()),
                got=f"{len(fields)} fields, {len(directions)} orders",
            )
        sort = tuple(
            make_sort_key("partition_by_range()", field, order, self._node.example)
            for field, order in zip(fields, directions, strict=True)
        )
        return self._partition(PartitionKind.RANGE, sort=sort)

    def partition_custom(
        self, partitioner: Callable[[Any, int], int] | Partitioner[Any], field: Any
    ) -> DataSet:
        """Send records where a partitioner says.

        :param partitioner: returns the subtask of a key, given the number of subtasks.
        :param field: position, name or function that gives the key.
        """
        require_function("partition_custom()", partitioner, Partitioner)
        key = make_key("partition_custom()", [field], self._node.example)
        return self._partition(PartitionKind.CUSTOM, key=key, partitioner=partitioner)

    def sort_partition(self, field: Any, order: Order) -> DataSet:
        """Sort the records of each subtask; called again at once, it sorts by further fields."""
        key = make_sort_key("sort_partition()", field, order, self._node.example)
        node, before = self._node, ()
        if isinstance(node, SortPartitionNode):
            before, node = node.sort, node.inputs[0]  # type: ignore[assignment]
        text = ", ".join(f"{each.key.text} {each.order.name}" for each in (*before, key))
        return DataSet(
            self._env,
            SortPartitionNode(
                name=f"Sort({text})",
                inputs=(node,),
                site=capture_call_site(),
                example=node.example,
                parallelism=self._node.parallelism,
                sort=(*before, key),
            ),
        )

    # --- iterations -----------------------------------------------------------------------

    def iterate(self, max_iterations: int) -> IterativeDataSet:
        """Begin a bulk iteration: apply operators to the result, then call `close_with`."""
        check_count("iterate()", max_iterations)
        return iteration.IterativeDataSet(self, max_iterations)

    def iterate_delta(
        self, workset: DataSet, max_iterations: int, *key_positions: Any
    ) -> DeltaIteration:
        """Begin a delta iteration with this data set as the first solution set.

        :param workset: what the first step works on.
        :param key_positions: fields, or a function, that tell one record of the solution set from
            another.
        """
        check_count("iterate_delta()", max_iterations)
        key = make_key("iterate_delta()", key_positions, self._node.example)
        return iteration.DeltaIteration(self, workset, max_iterations, key)

    # --- parts ----------------------------------------------------------------------------

    def run_operation(self, operation: Any) -> Any:
        """Apply an operation object, which makes another data set of this one."""
        return operation.create_result() if hasattr(operation, "create_result") else operation(self)

    def _each(self, kind: EachKind, name: str, function: Any, *, example: Any = UNKNOWN) -> DataSet:
        node = EachNode(
            name=name,
            inputs=(self._node,),
            site=capture_call_site(),
            kind=kind,
            function=function,
            example=example,
        )
        return DataSet(self._env, node)

    def _partition(self, kind: PartitionKind, **settings: Any) -> DataSet:
        return self._add(PartitionNode, kind.value, kind=kind, keeps=True, **settings)

    def _most_by(self, call: str, fields: tuple[int | str, ...], *, smallest: bool) -> DataSet:
        key = make_key(call, fields, self._node.example)
        function = MostBy(key, smallest=smallest)
        return self._add(
            ReduceNode, call[:-2], key=None, function=function, parallelism=1, keeps=True
        )

    def _add(
        self,
        node_class: type[Any],
        name: str,
        *,
        more: list[Node] | None = None,
        keeps: bool = False,
        **settings: Any,
    ) -> DataSet:
        """Return what a node makes of this data set; `keeps`: its records are of the same kind."""
        node = node_class(
            name=name,
            inputs=(self._node, *(more or ())),
            site=capture_call_site(),
            example=self._node.example if keeps else UNKNOWN,
            **settings,
        )
        return DataSet(self._env, node)

    def _placeholder(self, name: str) -> PlaceholderNode:
        return PlaceholderNode(name=name, site=capture_call_site(), example=self._node.example)


# Below the class: these are made of data sets, and data sets make them.
from penstock.dataset import (  # noqa: E402
    aggregate,
    co_group,
    cross,
    grouping,
    iteration,
    joins,
)
