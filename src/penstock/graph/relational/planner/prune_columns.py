"""Columns that nobody reads are not carried along."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from penstock.graph.relational.algebra import Aggregate, Filter, Node, Over, Project, Union, project
from penstock.graph.relational.expressions import Expr, OverCall, SortKey
from penstock.graph.relational.physical import EquiJoin, Rank
from penstock.graph.relational.types import RowType


def prune_columns(node: Node) -> Node:
    """Narrow every node to what is read of it."""
    return _kept(node, range(len(node.schema.fields)))


def _kept(node: Node, wanted: Iterable[int]) -> Node:
    """Return a node with exactly the wanted columns, in order."""
    columns = sorted(set(wanted))
    made, places = _prune(node, columns)
    if [places[i] for i in columns] == list(range(len(made.schema.fields))):
        return made
    names = node.names()
    return project(made, [made.ref(places[i]) for i in columns], [names[i] for i in columns])


def _prune(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    """Return a narrower node, and where each wanted column is now."""
    if not wanted and node.schema.fields:
        wanted = [0]
    rule = _RULES.get(type(node))
    if rule is not None:
        return rule(node, wanted)
    inputs = [_kept(source, range(len(source.schema.fields))) for source in node.inputs()]
    done = node.with_inputs(inputs) if inputs else node
    return done, {i: i for i in range(len(node.schema.fields))}


def _narrow(node: Node, wanted: Iterable[int]) -> tuple[Node, dict[int, int]]:
    """Return a node with exactly the wanted columns: in front of what keeps rows."""
    columns = sorted(set(wanted))
    return _kept(node, columns), {old: new for new, old in enumerate(columns)}


def _schema(node: Node, columns: Iterable[int]) -> RowType:
    return RowType(tuple(node.schema.fields[i] for i in columns), is_nullable=False)


def _moved(expr: Expr, places: dict[int, int]) -> Expr:
    return expr.shifted(places.__getitem__)


def _project(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, Project)
    exprs = [node.exprs[i] for i in wanted]
    source, places = _prune(node.input, _inputs(exprs))
    moved = tuple(_moved(expr, places) for expr in exprs)
    made = Project(_schema(node, wanted), source, moved)
    return made, {old: new for new, old in enumerate(wanted)}


def _inputs(exprs: Iterable[Expr]) -> list[int]:
    return sorted({i for expr in exprs for i in expr.inputs()})


def _filter(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, Filter)
    source, places = _prune(node.input, sorted({*wanted, *node.condition.inputs()}))
    made = Filter(source.schema, source, _moved(node.condition, places))
    return made, places


def _union(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, Union)
    sources = tuple(_kept(source, wanted) for source in node.sources)
    return Union(_schema(node, wanted), sources), {old: new for new, old in enumerate(wanted)}


def _aggregate(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, Aggregate)
    keys = len(node.keys)
    used = [i for i in wanted if i >= keys]
    calls = [node.calls[i - keys] for i in used]
    read = {*node.keys, *(i for call in calls for i in call.inputs())}
    source, places = _prune(node.input, sorted(read))
    moved = tuple(call.map(lambda e: _moved(e, places)) for call in calls)
    made = Aggregate(
        _schema(node, [*range(keys), *used]), source, tuple(places[i] for i in node.keys), moved
    )
    where = {i: i for i in range(keys)}
    where.update({old: keys + new for new, old in enumerate(used)})
    return made, where


def _sort_keys(keys: tuple[SortKey, ...], places: dict[int, int]) -> tuple[SortKey, ...]:
    return tuple(replace(key, operand=_moved(key.operand, places)) for key in keys)


def _rank(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, Rank)
    width = len(node.input.schema.fields)
    with_number = node.with_number and width in wanted
    read = {i for i in wanted if i < width} | set(node.partition)
    read |= {i for key in node.keys for i in key.operand.inputs()}
    source, places = _narrow(node.input, read)
    fields = source.schema.fields
    if with_number:
        fields = (*fields, node.schema.fields[-1])
    made = replace(
        node, schema=RowType(fields, is_nullable=False), input=source,
        partition=tuple(places[i] for i in node.partition), keys=_sort_keys(node.keys, places),
        with_number=with_number,
    )  # fmt: skip
    where = dict(places)
    if with_number:
        where[width] = len(fields) - 1
    return made, where


def _over(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, Over)
    width = len(node.input.schema.fields)
    used = [i for i in wanted if i >= width]
    calls = [node.calls[i - width] for i in used]
    if not calls:
        return _prune(node.input, [i for i in wanted if i < width])
    read = {i for i in wanted if i < width}
    for call in calls:
        read |= call.aggregate.inputs()
        read |= set(_inputs([*call.partition_by, *(key.operand for key in call.order_by)]))
    source, places = _narrow(node.input, read)
    moved = tuple(_moved_over(call, places) for call in calls)
    base = len(source.schema.fields)
    fields = (*source.schema.fields, *(node.schema.fields[i] for i in used))
    where = dict(places)
    where.update({old: base + new for new, old in enumerate(used)})
    return Over(RowType(fields, is_nullable=False), source, moved), where


def _moved_over(call: OverCall, places: dict[int, int]) -> OverCall:
    return replace(
        call,
        aggregate=call.aggregate.map(lambda e: _moved(e, places)),
        partition_by=tuple(_moved(e, places) for e in call.partition_by),
        order_by=_sort_keys(call.order_by, places),
    )


def _equi_join(node: Node, wanted: list[int]) -> tuple[Node, dict[int, int]]:
    assert isinstance(node, EquiJoin)
    width = len(node.left.schema.fields)
    one_sided = node.kind in ("semi", "anti")
    condition = set() if node.condition is None else node.condition.inputs()
    read = {*wanted, *condition}
    left, left_places = _narrow(node.left, {i for i in read if i < width} | set(node.left_keys))
    right_wanted = {i - width for i in (condition if one_sided else read) if i >= width}
    right, right_places = _narrow(node.right, right_wanted | set(node.right_keys))
    shift = len(left.schema.fields)
    places = dict(left_places)
    places.update({old + width: new + shift for old, new in right_places.items()})
    fields: list[object] = []
    inverse = {new: old for old, new in places.items()}
    count = shift if one_sided else shift + len(right.schema.fields)
    both = [*left.schema.fields, *right.schema.fields]
    for new in range(count):
        old = inverse.get(new)
        fields.append(both[new] if old is None else node.schema.fields[old])
    made = replace(
        node, schema=RowType(tuple(fields), is_nullable=False),  # type: ignore[arg-type]
        left=left, right=right,
        left_keys=tuple(left_places[i] for i in node.left_keys),
        right_keys=tuple(right_places[i] for i in node.right_keys),
        condition=None if node.condition is None else _moved(node.condition, places),
    )  # fmt: skip
    return made, places


_RULES: dict[type, Callable[[Node, list[int]], tuple[Node, dict[int, int]]]] = {
    Project: _project,
    Filter: _filter,
    Union: _union,
    Aggregate: _aggregate,
    Rank: _rank,
    Over: _over,
    EquiJoin: _equi_join,
}
