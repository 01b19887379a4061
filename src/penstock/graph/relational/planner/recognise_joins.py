"""Joins by what their conditions say: regular, of windows, of time intervals, of versions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import ValidationError
from penstock.graph.relational.algebra import Join, Node, Scan, SystemTimeJoin, project
from penstock.graph.relational.expressions import Call, Cast, Expr, InputRef, Literal
from penstock.graph.relational.physical import EquiJoin, IntervalJoin, TemporalJoin, WindowJoin
from penstock.graph.relational.planner.conditions import (
    SWAPPED,
    JoinParts,
    conjunction,
    conjuncts,
    split_join,
)
from penstock.graph.relational.planner.window_columns import window_columns
from penstock.graph.relational.types import (
    BooleanType,
    DayTimeIntervalType,
    PointInTimeType,
    RowType,
    TimeAttribute,
)


def recognise_joins(node: Node) -> Node:
    """Replace joins by the special ones that they are."""
    return node.transform(_recognise)


def _recognise(node: Node) -> Node | None:
    if isinstance(node, SystemTimeJoin):
        return _temporal(node)
    if not isinstance(node, Join):
        return None
    if node.null_aware:
        node = _null_aware(node)
    parts = split_join(node.condition, len(node.left.schema.fields))
    return _interval(node, parts) or _keyed(node, parts)


def _null_aware(node: Join) -> Join:
    """Return NOT IN as an anti join: a row has a partner also if comparing them is UNKNOWN."""
    first, *rest = conjuncts(node.condition)
    if not first.type.is_nullable:
        return replace(node, null_aware=False)
    unknown = Call("IS NOT FALSE", (first,), BooleanType(is_nullable=False))
    return replace(node, condition=conjunction([unknown, *rest]), null_aware=False)


# ---- regular joins and joins of windows


@dataclass
class _Sides:
    """Both inputs with the join keys as columns."""

    left: Node
    right: Node
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    added_left: int
    added_right: int


def _with_keys(left: Node, right: Node, parts: JoinParts) -> _Sides:
    ours, left_keys = _as_columns(left, parts.left)
    theirs, right_keys = _as_columns(right, parts.right)
    added_left = len(ours.schema.fields) - len(left.schema.fields)
    added_right = len(theirs.schema.fields) - len(right.schema.fields)
    return _Sides(ours, theirs, left_keys, right_keys, added_left, added_right)


def _as_columns(node: Node, exprs: list[Expr]) -> tuple[Node, tuple[int, ...]]:
    """Return the node with each expression as a column, and the columns' positions."""
    columns: list[Expr] = list(node.refs())
    positions = []
    for expr in exprs:
        if isinstance(expr, InputRef):
            positions.append(expr.index)
            continue
        if expr not in columns:
            columns.append(expr)
        positions.append(columns.index(expr))
    extra = len(columns) - len(node.refs())
    if not extra:
        return node, tuple(positions)
    names = [*node.names(), *(f"$j{i}" for i in range(extra))]
    return project(node, columns, names), tuple(positions)


def _keyed(node: Join, parts: JoinParts) -> Node:
    width = len(node.left.schema.fields)
    sides = _with_keys(node.left, node.right, parts)
    shift = sides.added_left

    def moved(expr: Expr) -> Expr:
        return expr.shifted(lambda i: i if i < width else i + shift)

    condition = conjunction([moved(part) for part in parts.rest])
    one_sided = node.kind in ("semi", "anti")
    schema = sides.left.schema if one_sided else _joined(sides.left, sides.right, node.kind)
    made = _window_join(node, sides, schema, condition) or EquiJoin(
        schema, sides.left, sides.right, node.kind, sides.left_keys, sides.right_keys, condition,
        node.null_aware, tuple(parts.null_safe),
    )  # fmt: skip
    if not shift and not sides.added_right:
        return replace(made, schema=node.schema)
    refs = made.refs()
    kept = refs[:width]
    if not one_sided:
        kept += refs[width + shift : len(refs) - sides.added_right]
    return project(made, kept, node.names())


def _joined(left: Node, right: Node, kind: str) -> RowType:
    fields = []
    for node, padded in ((left, kind in ("right", "full")), (right, kind in ("left", "full"))):
        for column in node.schema.fields:
            fields.append(replace(column, type=column.type.nullable()) if padded else column)
    return RowType(tuple(fields), is_nullable=False)


def _window_join(node: Join, sides: _Sides, schema: RowType, condition: Expr | None) -> Node | None:
    left, right = window_columns(sides.left), window_columns(sides.right)
    if left is None or right is None:
        return None
    pairs = set(zip(sides.left_keys, sides.right_keys, strict=True))
    if (left.start, right.start) not in pairs or (left.end, right.end) not in pairs:
        return None
    return WindowJoin(
        schema, sides.left, sides.right, node.kind, sides.left_keys, sides.right_keys, condition,
        left.end, right.end,
    )  # fmt: skip


# ---- joins of time intervals


@dataclass
class _Bounds:
    left: int
    right: int
    lower: int | None = None
    upper: int | None = None


def _interval(node: Join, parts: JoinParts) -> Node | None:
    width = len(node.left.schema.fields)
    if node.kind not in ("inner", "left", "right", "full"):
        return None
    bounds: _Bounds | None = None
    rest = []
    for part in parts.rest:
        found = _time_bound(part, width)
        if found is None or (bounds and (bounds.left, bounds.right) != (found.left, found.right)):
            rest.append(part)
        else:
            bounds = _narrowed(bounds, found)
    keys = JoinParts()
    for left, right, safe in zip(parts.left, parts.right, parts.null_safe, strict=True):
        a, b = _attribute(left), _attribute(right)
        if a is not None and b is not None:
            bounds = _narrowed(bounds, _Bounds(a, b, 0, 0))
        else:
            keys.left.append(left)
            keys.right.append(right)
            keys.null_safe.append(safe)
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return None
    sides = _with_keys(node.left, node.right, keys)
    if sides.added_left or sides.added_right or any(keys.null_safe):
        return None
    domain = "rowtime"
    column = node.left.schema.fields[bounds.left].type
    assert isinstance(column, PointInTimeType)
    if column.attribute is TimeAttribute.PROCTIME:
        domain = "proctime"
    return IntervalJoin(
        node.schema, node.left, node.right, node.kind, sides.left_keys, sides.right_keys,
        conjunction(rest), bounds.left, bounds.right, bounds.lower, bounds.upper, domain,
    )  # fmt: skip


def _narrowed(bounds: _Bounds | None, found: _Bounds) -> _Bounds:
    if bounds is None:
        return found
    lowers = [b for b in (bounds.lower, found.lower) if b is not None]
    uppers = [b for b in (bounds.upper, found.upper) if b is not None]
    return _Bounds(bounds.left, bounds.right, max(lowers, default=None), min(uppers, default=None))


def _attribute(expr: Expr) -> int | None:
    kind = expr.type
    if isinstance(expr, InputRef) and isinstance(kind, PointInTimeType) and kind.is_attribute:
        return expr.index
    return None


def _time_bound(part: Expr, width: int) -> _Bounds | None:
    """Return what `l.ts <= r.ts + INTERVAL ...` says of left time minus right time."""
    if not isinstance(part, Call) or part.function not in ("<", "<=", ">", ">=", "="):
        return None
    a, b = (_shifted_time(arg) for arg in part.args)
    if a is None or b is None:
        return None
    operator = part.function
    if a[0] >= width > b[0]:
        a, b, operator = b, a, SWAPPED[operator]
    if not a[0] < width <= b[0]:
        return None
    # left + x OP right + y  <=>  left - right OP y - x
    difference = b[1] - a[1]
    bounds = _Bounds(a[0], b[0] - width)
    if operator in ("<=", "="):
        bounds.upper = difference
    if operator in (">=", "="):
        bounds.lower = difference
    if operator == "<":
        bounds.upper = difference - 1
    if operator == ">":
        bounds.lower = difference + 1
    return bounds


def _shifted_time(expr: Expr) -> tuple[int, int] | None:
    """Return the column and the shift in milliseconds of `attribute +- interval`."""
    if isinstance(expr, Cast):
        return _shifted_time(expr.operand)
    index = _attribute(expr)
    if index is not None:
        return index, 0
    if isinstance(expr, Call) and expr.function in ("+", "-") and len(expr.args) == 2:
        base, length = expr.args
        if expr.function == "+" and isinstance(base, Literal):
            base, length = length, base
        inner = _shifted_time(base)
        if (
            inner is not None
            and isinstance(length, Literal)
            and (isinstance(length.type, DayTimeIntervalType))
        ):
            shift = round(length.value.total_seconds() * 1000)
            return inner[0], inner[1] + (shift if expr.function == "+" else -shift)
    return None


# ---- joins with a version of the other side


def _temporal(node: SystemTimeJoin) -> Node:
    width = len(node.left.schema.fields)
    parts = split_join(node.condition, width)
    period = node.period
    kind = period.type
    if (
        not isinstance(period, InputRef)
        or not isinstance(kind, PointInTimeType)
        or (not kind.is_attribute)
    ):
        raise ValidationError(
            "FOR SYSTEM_TIME AS OF needs a time attribute of the left table",
            got=f"{period} of type {kind.as_summary_string()}",
            todo="use a column with a watermark, or one that is PROCTIME()",
        )
    if not parts.left or node.kind not in ("inner", "left"):
        raise ValidationError(
            "a temporal join needs equal keys, and is an inner or a left join",
            got=f"{node.kind} join on {node.condition}",
            todo="compare the primary key of the versioned table with =",
        )
    sides = _with_keys(node.left, node.right, parts)
    condition = conjunction(parts.rest)
    lookup = _lookup(node.right)
    is_proctime = kind.attribute is TimeAttribute.PROCTIME
    if is_proctime and lookup is not None:
        right_time = None
    elif is_proctime:
        lookup, right_time = None, None
    else:
        lookup, right_time = None, _row_time(node.right)
    if sides.added_left or sides.added_right:
        raise ValidationError(
            "the keys of a temporal join are columns",
            got=str(node.condition),
            todo="compute the key in a view first",
        )
    return TemporalJoin(
        node.schema, sides.left, sides.right, node.kind, sides.left_keys, sides.right_keys,
        condition, period.index, right_time, lookup,
    )  # fmt: skip


def _lookup(node: Node) -> object | None:
    if isinstance(node, Scan) and getattr(node.table, "lookup", None) is not None:
        return node.table
    return None


def _row_time(node: Node) -> int:
    for i, column in enumerate(node.schema.fields):
        kind = column.type
        if isinstance(kind, PointInTimeType) and kind.attribute is TimeAttribute.ROWTIME:
            return i
    raise ValidationError(
        "the versioned table of an event-time temporal join has no rowtime attribute",
        got=f"columns {', '.join(node.names())}",
        todo="declare a WATERMARK and a PRIMARY KEY for it",
    )
