"""The planner: a fixed list of rules, each a function from a plan to a plan."""

from __future__ import annotations

from collections.abc import Callable

from penstock.graph.relational.algebra import Node
from penstock.graph.relational.planner.fold_constants import fold_constants
from penstock.graph.relational.planner.make_calcs import make_calcs
from penstock.graph.relational.planner.merge_projections import merge_projections
from penstock.graph.relational.planner.prune_columns import prune_columns
from penstock.graph.relational.planner.prune_partitions import prune_partitions
from penstock.graph.relational.planner.push_filters import push_filters
from penstock.graph.relational.planner.recognise_joins import recognise_joins
from penstock.graph.relational.planner.recognise_ranks import recognise_ranks
from penstock.graph.relational.planner.recognise_windows import recognise_windows
from penstock.graph.relational.planner.replace_set_operations import replace_set_operations
from penstock.graph.relational.planner.share_slices import share_slices
from penstock.graph.relational.planner.split_aggregates import split_aggregates

RULES: tuple[Callable[[Node], Node], ...] = (
    fold_constants,
    replace_set_operations,
    merge_projections,
    push_filters,
    prune_partitions,
    recognise_ranks,
    recognise_windows,
    merge_projections,
    recognise_joins,
    prune_columns,
    merge_projections,
    make_calcs,
    share_slices,
)


def rules_for(*, two_phase: bool = False) -> tuple[Callable[[Node], Node], ...]:
    """Return the rules in their order.

    :param two_phase: whether aggregates are made in two phases where they can be.
    """
    return (*RULES, split_aggregates) if two_phase else RULES


def optimise(node: Node, *, two_phase: bool = False) -> Node:
    """Return the plan that is executed."""
    for rule in rules_for(two_phase=two_phase):
        node = rule(node)
    return node
