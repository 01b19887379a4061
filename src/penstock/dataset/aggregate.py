"""Aggregations of fields, over a group or over all records."""

from __future__ import annotations

from penstock.core.batch.options import Aggregations
from penstock.dataset.data_set import DataSet
from penstock.dataset.reducing import aggregate_function
from penstock.errors import TypeMismatchError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.keys import Key, make_key
from penstock.graph.dataset.nodes import ReduceNode
from penstock.graph.fields import Field


class AggregateOperator(DataSet):
    """The result of an aggregation; `and_` aggregates a further field.

    >>> from penstock.dataset import Aggregations, ExecutionEnvironment
    >>> env = ExecutionEnvironment.create_collections_environment()
    >>> data = env.from_elements(("a", 1, 5), ("a", 2, 3))
    >>> data.group_by(0).aggregate(Aggregations.SUM, 1).and_(Aggregations.MIN, 2).collect()
    [('a', 3, 3)]
    """

    _parts: list[tuple[Aggregations, Field]]

    @staticmethod
    def over(data: DataSet, key: Key | None, agg: Aggregations, field: Field) -> AggregateOperator:
        """Return the aggregation of one field, by a key or over all records."""
        node = ReduceNode(
            name="Aggregate",
            inputs=(data._node,),
            site=capture_call_site(),
            example=data._node.example,
            parallelism=1 if key is None else None,
            key=key,
            function=None,
        )
        operator = AggregateOperator(data._env, node)
        operator._parts = []
        return operator.and_(agg, field)

    def and_(self, agg: Aggregations, field: Field) -> AggregateOperator:
        """Aggregate a further field of the same groups."""
        if not isinstance(agg, Aggregations):
            raise TypeMismatchError(
                "aggregate() needs one of Aggregations",
                where=str(capture_call_site()),
                got=show_value(agg),
                todo="pass Aggregations.SUM, Aggregations.MIN or Aggregations.MAX, then the field",
            )
        make_key("aggregate()", [field], self._node.example)
        self._parts.append((agg, field))
        assert isinstance(self._node, ReduceNode)
        self._node.function = aggregate_function(self._parts)
        text = ", ".join(f"{how.name} {at}" for how, at in self._parts)
        self._node.name = f"Aggregate({text})"
        return self
