"""`ROW_NUMBER() OVER (...)` with a bound on the number: Top-N and deduplication."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import ValidationError
from penstock.graph.relational.algebra import Filter, Node, Over, Project, Sort, project
from penstock.graph.relational.expressions import Call, Cast, Expr, InputRef, Literal, SortKey
from penstock.graph.relational.physical import Deduplicate, Rank, WindowRank
from penstock.graph.relational.planner.conditions import SWAPPED, conjunction, conjuncts
from penstock.graph.relational.planner.window_columns import window_columns
from penstock.graph.relational.types import BigIntType, PointInTimeType, RowField, RowType

_FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK")


def recognise_ranks(node: Node) -> Node:
    """Replace a filtered row number by a rank or a deduplication, and ORDER BY LIMIT by a rank."""
    return node.transform(_recognise)


def _recognise(node: Node) -> Node | None:
    if isinstance(node, Filter) and isinstance(node.input, Over) and len(node.input.calls) == 1:
        return _rank(node, node.input)
    if isinstance(node, Sort) and node.keys and node.fetch is not None and not _is_time(node):
        return _sort_limit(node)
    return None


def _is_time(node: Sort) -> bool:
    first = node.keys[0]
    kind = first.operand.type
    return (
        isinstance(kind, PointInTimeType)
        and kind.is_attribute
        and not first.descending
        and node.fetch is None
    )


def _sort_limit(node: Sort) -> Node:
    """ORDER BY with LIMIT: the first rows of all, in one partition."""
    keys = node.keys
    assert node.fetch is not None
    end = node.offset + node.fetch
    return Rank(node.schema, node.input, (), keys, node.offset + 1, end, with_number=False)


def _rank(node: Filter, over: Over) -> Node | None:
    call = over.calls[0]
    number = len(over.input.schema.fields)
    if call.aggregate.name not in _FUNCTIONS or not call.order_by:
        return None
    start, end, rest = 1, None, []
    for part in conjuncts(node.condition):
        bound = _bound(part, number)
        if bound is None:
            rest.append(part)
            continue
        low, high = bound
        start = max(start, low)
        if high is not None:
            end = high if end is None else min(end, high)
    if end is None:
        return None
    if call.aggregate.name != "ROW_NUMBER":
        # As in Flink: rows with equal ranks would have to be kept without a bound.
        raise ValidationError(
            f"{call.aggregate.name}() cannot bound the number of rows",
            todo="use ROW_NUMBER(), which numbers rows with equal keys one after the other",
        )
    ranked = _make(over, start, end)
    condition = conjunction(rest)
    return ranked if condition is None else Filter(ranked.schema, ranked, condition)


def _bound(part: Expr, number: int) -> tuple[int, int | None] | None:
    """Return the range of row numbers that a comparison allows."""
    if not isinstance(part, Call) or len(part.args) != 2:
        return None
    left, right = (_uncast(arg) for arg in part.args)
    operator = part.function
    if isinstance(right, InputRef) and isinstance(left, Literal):
        left, right, operator = right, left, SWAPPED.get(operator, "")
    if not (isinstance(left, InputRef) and left.index == number and isinstance(right, Literal)):
        return None
    if not isinstance(right.value, int):
        return None
    value = right.value
    return {
        "<=": (1, value), "<": (1, value - 1), "=": (value, value),
        ">=": (value, None), ">": (value + 1, None),
    }.get(operator)  # fmt: skip


def _uncast(expr: Expr) -> Expr:
    return expr.operand if isinstance(expr, Cast) else expr


def _make(over: Over, start: int, end: int) -> Node:
    call = over.calls[0]
    source = over.input
    width = len(source.schema.fields)
    extra = [
        expr
        for expr in (*call.partition_by, *(key.operand for key in call.order_by))
        if not isinstance(expr, InputRef)
    ]
    if extra:
        names = [*source.names(), *(f"$r{i}" for i in range(len(extra)))]
        source = project(source, [*source.refs(), *extra], names)

    def column(expr: Expr) -> InputRef:
        if isinstance(expr, InputRef):
            return expr
        return source.ref(width + extra.index(expr))

    partition = tuple(column(expr).index for expr in call.partition_by)
    keys = tuple(replace(key, operand=column(key.operand)) for key in call.order_by)
    made = _chosen(source, partition, keys, start, end, call.aggregate.name)
    exprs = [*made.refs()[:width], made.ref(len(made.schema.fields) - 1)]
    names = over.names()
    return made if not extra else project(made, exprs, names)


def _chosen(
    source: Node, partition: tuple[int, ...], keys: tuple[SortKey, ...], start: int, end: int,
    function: str,
) -> Node:  # fmt: skip
    number = RowField("w0$o", BigIntType(is_nullable=False))
    schema = RowType((*source.schema.fields, number), is_nullable=False)
    window = window_columns(source)
    if window is not None and window.start in partition and window.end in partition:
        return WindowRank(schema, source, partition, keys, start, end, True, window.end)
    first = keys[0].operand.type
    is_time = isinstance(first, PointInTimeType) and first.is_attribute
    if function == "ROW_NUMBER" and start == end == 1 and len(keys) == 1 and is_time:
        assert isinstance(first, PointInTimeType) and isinstance(keys[0].operand, InputRef)
        domain = first.attribute.value
        kept = Deduplicate(
            source.schema, source, partition, keys[0].descending, keys[0].operand.index, domain
        )
        one = Literal(1, number.type)
        return Project(schema, kept, (*kept.refs(), one))
    ranked = Rank(schema, source, partition, keys, start, end, True, function)
    if start == end:
        # The number is known: rows need not be sent again when it changes.
        plain = replace(ranked, schema=source.schema, with_number=False)
        return Project(schema, plain, (*plain.refs(), Literal(start, number.type)))
    return ranked
