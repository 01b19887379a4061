"""Aggregates in two phases: in front of the exchange by subtask, behind it by group.

A group with many rows then sends few: what every subtask has made of its rows. Worth it only where
results wait for the end of a mini-batch.
"""

from __future__ import annotations

from penstock.core.functions.user_defined import AggregateFunction
from penstock.graph.relational.algebra import Aggregate, Node
from penstock.graph.relational.changelog import INSERTS, kinds_of
from penstock.graph.relational.distribution import parted_by
from penstock.graph.relational.expressions import AggregateCall
from penstock.graph.relational.functions import catalog
from penstock.graph.relational.physical import GlobalAggregate, LocalAggregate

#: What they give depends on the order of all rows of a group, which two phases do not keep.
_BY_ORDER = frozenset(("FIRST_VALUE", "LAST_VALUE", "SINGLE_VALUE"))


def split_aggregates(node: Node) -> Node:
    """Replace each aggregate whose accumulators can be merged by a local and a global one."""
    return node.transform(_split)


def _split(node: Node) -> Node | None:
    if not isinstance(node, Aggregate):
        return None
    if node.keys in parted_by(node.input):
        return None  # the rows of a group are together already: there is no exchange
    updates = kinds_of(node.input) != INSERTS
    if not all(is_mergeable(call, updates) for call in node.calls):
        return None
    local = LocalAggregate(node.schema, node.input, node.keys, node.calls)
    return GlobalAggregate(node.schema, local, node.calls)


def is_mergeable(call: AggregateCall, updates: bool) -> bool:
    """Tell whether the accumulators of parts of the rows can be merged into that of all.

    :param updates: whether a row may be taken back in another part than it was added to.
    """
    if not isinstance(call.function, str):
        function = call.function.function
        merges = type(function).merge is not AggregateFunction.merge
        return merges and not call.function.vectorized and not updates
    if call.name in _BY_ORDER or call.order_by:
        return False
    code = catalog.AGGREGATES[call.function].accumulator(call, updates)
    return code is not None and code.merge is not None and (code.owes or not updates)
