"""The FROM clause: tables, joins, table functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import (
    Correlate,
    Join,
    Node,
    SystemTimeJoin,
    Unnest,
    Values,
    WindowSpecification,
    WindowTable,
    project,
)
from penstock.graph.relational.expressions import Expr, Literal, UdfCall, cast
from penstock.graph.relational.type_rules import common_type
from penstock.table.sql.dialect import Descriptor, TableArgument
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.match_binder import MatchBinder
from penstock.table.sql.scope import Relation, Scope, nearest, place

_WINDOW_FUNCTIONS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}


@dataclass
class BindContext:
    """What names outside of the query mean.

    :param table: gives the node of a table or view, with hints, or None.
    :param function: gives the user's function of a name, or None.
    """

    table: Callable[[tuple[str, ...], dict[str, str]], Node | None]
    function: Callable[[str], Any]
    table_names: Callable[[], list[str]] = list
    ctes: dict[str, Node] = field(default_factory=dict)

    def with_ctes(self, ctes: dict[str, Node]) -> BindContext:
        """Return a context that knows these common table expressions as well."""
        return BindContext(self.table, self.function, self.table_names, {**self.ctes, **ctes})


BindQuery = Callable[[Any, BindContext, Scope | None], Node]


class FromBinder:
    """Bind the tables of one SELECT."""

    def __init__(self, context: BindContext, bind_query: BindQuery, parent: Scope | None) -> None:
        self._context = context
        self._bind_query = bind_query
        self._parent = parent

    def bind(self, select: Any) -> tuple[Node, Scope]:
        """Return the node that gives the rows, and the names of its columns."""
        source = select.args.get("from_")
        if source is None:
            empty = Values(t.RowType((), is_nullable=False), ((),))
            return empty, Scope([], self._parent)
        node, scope = self._relation(source.this, None)
        for join in [*(source.this.args.get("joins") or ()), *(select.args.get("joins") or ())]:
            node, scope = self._join(node, scope, join)
        for lateral in select.args.get("laterals") or ():
            node, scope = self._lateral(node, scope, lateral, "inner", None)
        return node, scope

    # ---- one table -----------------------------------------------------------------------------

    def _relation(self, tree: Any, left: tuple[Node, Scope] | None) -> tuple[Node, Scope]:
        if isinstance(tree, exp.Table):
            if isinstance(tree.this, exp.Anonymous):
                node = self._table_function(tree.this)
            else:
                node = self._table(tree)
        elif isinstance(tree, exp.Values):
            node = bind_values(tree, self._context.function)
        elif isinstance(tree, exp.Subquery):
            node = self._bind_query(tree.this, self._context, None)
            if tree.args.get("joins"):
                inner = Scope.of(node, tree.alias or None, self._parent)
                scope = inner
                for join in tree.args["joins"]:
                    node, scope = self._join(node, scope, join)
                return node, scope
        elif isinstance(tree, exp.Unnest | exp.Lateral):
            empty = Values(t.RowType((), is_nullable=False), ((),))
            return self._lateral(empty, Scope([], self._parent), tree, "inner", None)
        else:
            raise ValidationError(
                "this is no table", where=place(tree), got=tree.sql(),
                todo="name a table or view, or put a query in parentheses",
            )  # fmt: skip
        return self._named(node, tree)

    def _named(self, node: Node, tree: Any) -> tuple[Node, Scope]:
        alias = tree.args.get("alias")
        name = tree.alias or (tree.name if isinstance(tree, exp.Table) and isinstance(
            tree.this, exp.Identifier) else None)  # fmt: skip
        columns = [column.name for column in alias.columns] if alias is not None else []
        if columns:
            if len(columns) != len(node.schema.fields):
                raise ValidationError(
                    f"{name} has {len(node.schema.fields)} columns",
                    where=place(tree),
                    got=f"{len(columns)} names: {', '.join(columns)}",
                    todo="give every column a name, or none",
                )
            node = project(node, node.refs(), columns)
        match = tree.args.get("match")
        if match is not None:
            node = MatchBinder(node, match, self._context.function).bind()
            return self._named(node, match)
        return node, Scope.of(node, name, self._parent)

    def _table(self, tree: Any) -> Node:
        parts = tuple(part.name for part in tree.parts)
        if len(parts) == 1 and parts[0] in self._context.ctes:
            return self._context.ctes[parts[0]]
        node = self._context.table(parts, _hints(tree))
        if node is None:
            known = [*self._context.ctes, *self._context.table_names()]
            raise ValidationError(
                f"there is no table {'.'.join(parts)!r}",
                where=place(tree),
                todo=nearest(parts[-1], known) or "create it, or register it as a view",
            )
        return node

    # ---- table functions -----------------------------------------------------------------------

    def _table_function(self, call: Any) -> Node:
        name = str(call.this).upper()
        if name in _WINDOW_FUNCTIONS:
            return self._window(name, call)
        empty = Values(t.RowType((), is_nullable=False), ((),))
        node, _ = self._correlate(empty, Scope([], self._parent), call, "inner", None, None)
        return node

    def _arguments(self, name: str, call: Any) -> dict[str, Any]:
        order = _WINDOW_FUNCTIONS[name]
        found: dict[str, Any] = {}
        for position, argument in enumerate(call.expressions):
            if isinstance(argument, exp.Kwarg):
                found[argument.this.name.upper()] = argument.expression
            elif position < len(order):
                found[order[position]] = argument
        return found

    def _window(self, name: str, call: Any) -> Node:
        arguments = self._arguments(name, call)
        data, time = arguments.get("DATA"), arguments.get("TIMECOL")
        if not isinstance(data, TableArgument) or not isinstance(time, Descriptor):
            raise ValidationError(
                f"{name} needs a table and a DESCRIPTOR",
                where=place(call),
                todo=f"write {name}(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, ...)",
            )
        source, scope = self._relation(data.this, None)
        column = scope.find([time.expressions[0].name], call)
        index = column.index  # type: ignore[attr-defined]
        domain = time_domain(column.type, name, time.expressions[0].name, place(call))
        lengths = {
            key: milliseconds(self._bind_constant(value), place(call))
            for key, value in arguments.items()
            if key not in ("DATA", "TIMECOL")
        }
        partition = tuple(
            scope.find([part.name for part in column.parts], column).index  # type: ignore[attr-defined]
            for column in data.args.get("partition_by") or ()
        )
        size = lengths.get("GAP") if name == "SESSION" else lengths.get("SIZE")
        slide = lengths.get("SLIDE", lengths.get("STEP", 0))
        window = make_window(name, index, size, slide, lengths.get("OFFSET", 0), partition,
                             domain, place(call))  # fmt: skip
        return window_table(source, window)

    def _bind_constant(self, tree: Any) -> Expr:
        return ExpressionBinder(Scope([]), self._context.function).bind(tree)

    # ---- joins ---------------------------------------------------------------------------------

    def _join(self, node: Node, scope: Scope, join: Any) -> tuple[Node, Scope]:
        tree = join.this
        side = (join.args.get("side") or "").lower()
        kind = (join.args.get("kind") or "").lower()
        word = side or ("inner" if kind in ("", "inner", "cross", "outer") else kind)
        if isinstance(tree, exp.Unnest | exp.Lateral):
            return self._lateral(node, scope, tree, word, join.args.get("on"))
        if (
            isinstance(tree, exp.Table)
            and isinstance(tree.this, exp.Anonymous)
            and (str(tree.this.this).upper() not in _WINDOW_FUNCTIONS)
        ):
            alias = tree.args.get("alias")
            return self._correlate(node, scope, tree.this, word, alias, join.args.get("on"))
        right, right_scope = self._relation(tree, (node, scope))
        version = tree.args.get("version") if isinstance(tree, exp.Table) else None
        both = scope.joined(right_scope)
        condition = self._condition(join, node, right, scope, right_scope, both)
        if version is not None:
            period = self._binder(scope).bind(version.expression)
            schema = joined_schema(node, right, word)
            return SystemTimeJoin(schema, node, right, word, condition, period), both
        if join.args.get("method") == "NATURAL" or join.args.get("using"):
            both = self._merged(join, scope, right_scope, both)
        return Join(joined_schema(node, right, word), node, right, word, condition), both

    def _condition(
        self, join: Any, left: Node, right: Node, ls: Scope, rs: Scope, both: Scope
    ) -> Expr | None:
        names = self._shared_names(join, ls, rs)
        if names:
            binder = self._binder(both)
            parts = []
            for name in names:
                a = ls.find([name], join)
                b = rs.find([name], join).shifted(lambda i: i + ls.width())
                parts.append(binder.resolve("=", [a, b], join))
            return parts[0] if len(parts) == 1 else binder.resolve("AND", parts, join)
        on = join.args.get("on")
        return None if on is None else self._binder(both).bind(on)

    def _shared_names(self, join: Any, left: Scope, right: Scope) -> list[str]:
        using = join.args.get("using")
        if using:
            return [column.name for column in using]
        if join.args.get("method") != "NATURAL":
            return []
        theirs = {ref.name for ref in right.star()}
        return [ref.name for ref in left.star() if ref.name in theirs]

    def _merged(self, join: Any, left: Scope, right: Scope, both: Scope) -> Scope:
        names = set(self._shared_names(join, left, right))
        width = left.width()
        relations = []
        for relation in both.relations:
            if relation.offset >= width:
                hidden = {i for i, c in enumerate(relation.schema.fields) if c.name in names}
                relation = Relation(
                    relation.alias, relation.schema, relation.offset, frozenset(hidden)
                )
            relations.append(relation)
        return Scope(relations, both.parent)

    def _lateral(
        self, node: Node, scope: Scope, tree: Any, kind: str, on: Any
    ) -> tuple[Node, Scope]:
        alias = tree.args.get("alias")
        if isinstance(tree, exp.Lateral):
            if isinstance(tree.this, exp.Subquery):
                raise ValidationError(
                    "LATERAL with a query is not supported", where=place(tree),
                    todo="write it as a join, or with a table function",
                )  # fmt: skip
            return self._correlate(node, scope, tree.this, kind, alias, on)
        return self._unnest(node, scope, tree, kind, alias)

    def _unnest(
        self, node: Node, scope: Scope, tree: Any, kind: str, alias: Any
    ) -> tuple[Node, Scope]:
        operand = self._binder(scope).bind(tree.expressions[0])
        offset = tree.args.get("offset")
        columns, spread = _unnested_columns(operand, tree)
        if offset:
            columns.append(t.RowField("ORDINALITY", t.IntType(is_nullable=False)))
        names = [column.name for column in alias.columns] if alias is not None else []
        if isinstance(offset, exp.Identifier):
            names.append(offset.name)
        return self._applied(
            node, scope, Unnest(operand, bool(offset), spread), kind, columns, names, alias, tree
        )

    def _correlate(
        self, node: Node, scope: Scope, call: Any, kind: str, alias: Any, on: Any
    ) -> tuple[Node, Scope]:
        name = str(call.this)
        function = self._context.function(name)
        if function is None:
            raise ValidationError(
                f"there is no table function {name}",
                where=place(call),
                todo="register it with create_temporary_function(...)",
            )
        binder = self._binder(scope)
        args = tuple(binder.bind(argument) for argument in call.expressions)
        applied = table_call(function, args, place(call))
        row = applied.function.result_type
        fields = row.fields if isinstance(row, t.RowType) else (t.RowField("f0", row),)
        names = [column.name for column in alias.columns] if alias is not None else []
        return self._applied(node, scope, applied, kind, list(fields), names, alias, call)

    def _applied(
        self, node: Node, scope: Scope, call: Any, kind: str, columns: list[t.RowField],
        names: list[str], alias: Any, tree: Any,
    ) -> tuple[Node, Scope]:  # fmt: skip
        if names and len(names) != len(columns):
            raise ValidationError(
                f"{call} gives {len(columns)} columns",
                where=place(tree),
                got=f"{len(names)} names: {', '.join(names)}",
                todo="give every column a name",
            )
        named = tuple(
            t.RowField(
                names[i] if names else column.name,
                column.type.nullable() if kind == "left" else column.type,
            )
            for i, column in enumerate(columns)
        )
        right = t.RowType(named, is_nullable=False)
        schema = t.RowType((*node.schema.fields, *named), is_nullable=False)
        alias_name = alias.name if alias is not None else None
        both = scope.joined(Scope([Relation(alias_name, right, 0)]))
        return Correlate(schema, node, call, kind), both

    def _binder(self, scope: Scope) -> ExpressionBinder:
        return ExpressionBinder(Scope(scope.relations, self._parent), self._context.function)


# ---- shared with the Table API


def table_call(function: Any, args: tuple[Expr, ...], where: str | None) -> UdfCall:
    """Return the call of a table function.

    :raises ValidationError: if the function is none.
    """
    if function.kind != "table":
        raise ValidationError(
            f"{function.name} is no table function",
            where=where,
            got=f"a function of kind {function.kind}",
            todo="declare it with udtf(...)",
        )
    return UdfCall(function, function.checked(args, where), function.result_type)


def joined_schema(left: Node, right: Node, kind: str) -> t.RowType:
    """Return the columns of a join: both sides', nullable on the side that may have no row."""
    if kind in ("semi", "anti"):
        return left.schema
    fields = []
    for node, padded in ((left, kind in ("right", "full")), (right, kind in ("left", "full"))):
        for column in node.schema.fields:
            kept = column.type.nullable() if padded else column.type
            fields.append(t.RowField(column.name, kept))
    return t.RowType(tuple(fields), is_nullable=False)


def time_domain(kind: t.LogicalType, window: str, column: str, where: str | None) -> str:
    """Return the domain of a time attribute.

    :raises ValidationError: if the column is none.
    """
    if isinstance(kind, t.PointInTimeType) and kind.is_attribute:
        return "rowtime" if kind.attribute is t.TimeAttribute.ROWTIME else "proctime"
    raise ValidationError(
        f"the window {window} needs a time attribute, and column {column!r} is none",
        where=where,
        got=f"type {kind.as_summary_string()}",
        todo="declare WATERMARK FOR it in CREATE TABLE or in the Schema, use .rowtime in "
        "from_data_stream, or PROCTIME()",
    )


def milliseconds(length: Expr, where: str | None) -> int:
    """Return the length of an interval of constant length."""
    if not isinstance(length, Literal) or not isinstance(length.type, t.DayTimeIntervalType):
        raise ValidationError(
            "the length of a window is an interval of days, hours, minutes or seconds",
            where=where,
            got=str(length),
            todo="write for instance INTERVAL '10' MINUTE",
        )
    return round(length.value.total_seconds() * 1000)


def make_window(
    kind: str, time: int, size: int | None, slide: int, offset: int,
    partition: tuple[int, ...], domain: str, where: str | None,
) -> WindowSpecification:  # fmt: skip
    """Return a checked window."""
    problem = None
    if size is None or size <= 0:
        problem = f"the size of a {kind} window must be above zero"
    elif kind in ("HOP", "CUMULATE") and slide <= 0:
        problem = f"the step of a {kind} window must be above zero"
    elif kind == "CUMULATE" and size % slide:
        problem = "the size of a CUMULATE window must be a multiple of its step"
    if problem:
        raise ValidationError(
            problem, where=where, got=f"size {size} ms, step {slide} ms",
            todo="correct the intervals of the window",
        )  # fmt: skip
    assert size is not None
    return WindowSpecification(kind, time, size, slide, offset, partition, domain)


def window_table(source: Node, window: WindowSpecification) -> WindowTable:
    """Return the window table function over a node."""
    column = source.schema.fields[window.time].type
    assert isinstance(column, t.PointInTimeType)
    attribute = column.as_attribute(column.attribute).not_null()
    bound = t.TimestampType(3, is_nullable=False)
    schema = t.RowType(
        (
            *source.schema.fields,
            t.RowField("window_start", bound),
            t.RowField("window_end", bound),
            t.RowField("window_time", attribute),
        ),
        is_nullable=False,
    )
    return WindowTable(schema, source, window)


def bind_values(tree: Any, functions: Callable[[str], Any]) -> Values:
    """Return the rows of VALUES with the types that their columns have in common."""
    binder = ExpressionBinder(Scope([]), functions)
    rows = []
    for row in tree.expressions:
        items = (
            row.expressions
            if isinstance(row, exp.Tuple)
            else [row.this if isinstance(row, exp.Paren) else row]
        )
        rows.append([binder.bind(item) for item in items])
    return make_values(rows, place(tree))


def make_values(
    rows: list[list[Expr]], where: str | None = None, names: list[str] | None = None
) -> Values:
    """Return rows with the types that their columns have in common."""
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise ValidationError(
            "all rows of VALUES must have the same number of columns",
            where=where,
            got=f"{sorted({len(row) for row in rows})} columns",
            todo="complete the short rows",
        )
    kinds = []
    for i in range(width):
        shared = common_type([row[i].type for row in rows])
        if shared is None:
            raise ValidationError(
                f"column {i + 1} of VALUES has no common type",
                where=where,
                got=", ".join(row[i].type.as_summary_string() for row in rows),
                todo="cast the values to one type",
            )
        kinds.append(shared)
    fields = tuple(
        t.RowField(names[i] if names else f"EXPR${i}", kind) for i, kind in enumerate(kinds)
    )
    cells = tuple(tuple(cast(c, k) for c, k in zip(row, kinds, strict=True)) for row in rows)
    return Values(t.RowType(fields, is_nullable=False), cells)


def _unnested_columns(operand: Expr, tree: Any) -> tuple[list[t.RowField], bool]:
    kind = operand.type
    if isinstance(kind, t.MapType):
        return [t.RowField("KEY", kind.key), t.RowField("VALUE", kind.value)], False
    if isinstance(kind, t.ArrayType | t.MultisetType):
        element = kind.element
        if isinstance(element, t.RowType):
            return list(element.fields), True
        return [t.RowField("EXPR$0", element)], False
    raise ValidationError(
        "UNNEST needs an ARRAY, MULTISET or MAP", where=place(tree),
        got=kind.as_summary_string(), todo="pass a column of such a type",
    )  # fmt: skip


def _hints(tree: Any) -> dict[str, str]:
    """Return what `/*+ OPTIONS('key'='value') */` behind a table says."""
    found: dict[str, str] = {}
    for hint in tree.args.get("hints") or ():
        for call in getattr(hint, "expressions", ()):
            for pair in getattr(call, "expressions", ()):
                if isinstance(pair, exp.EQ):
                    found[pair.this.name] = pair.expression.name
    return found
