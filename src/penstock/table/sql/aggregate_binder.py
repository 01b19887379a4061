"""GROUP BY and aggregate functions of one SELECT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import (
    Aggregate,
    Expand,
    GroupWindowAggregate,
    Node,
    WindowSpecification,
    project,
)
from penstock.graph.relational.expressions import (
    AggregateCall,
    Case,
    Expr,
    InputRef,
    Literal,
    cast,
)
from penstock.graph.relational.functions import catalog
from penstock.table.sql.aggregate_calls import bind_aggregate, is_aggregate
from penstock.table.sql.expression_binder import ExpressionBinder, number_literal
from penstock.table.sql.from_binder import make_window, milliseconds, time_domain
from penstock.table.sql.scope import Scope, place

_GROUP_WINDOWS = {"TUMBLE": "TUMBLE", "HOP": "HOP", "SESSION": "SESSION"}
_PROPERTIES = {
    f"{window}_{word}": (window, word.lower())
    for window in _GROUP_WINDOWS
    for word in ("START", "END", "ROWTIME", "PROCTIME")
}


@dataclass(frozen=True)
class AggregateColumn(Expr):
    """The result of an aggregate, or a property of the group window, by its number."""

    kind: str  # call, property, grouping
    index: int
    type: t.LogicalType
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text


class AggregateBinder:
    """Find the aggregates of a SELECT and put the node that computes them below it."""

    def __init__(self, tree: Any, scope: Scope, functions: Callable[[str], Any]) -> None:
        self.tree = tree
        self.scope = scope
        self.functions = functions
        self.calls: list[AggregateCall] = []
        self.keys: list[Expr] = []
        self.sets: list[tuple[int, ...]] | None = None
        self.window: WindowSpecification | None = None
        self.properties: list[str] = []
        self.grouping_calls: list[tuple[Expr, ...]] = []

    def is_needed(self) -> bool:
        """Tell whether the SELECT aggregates."""
        if self.tree.args.get("group") is not None or self.tree.args.get("having") is not None:
            return True
        return any(self._has_aggregate(item) for item in self.tree.expressions)

    def _has_aggregate(self, tree: Any) -> bool:
        if isinstance(tree, exp.Window | exp.Query):
            inner = tree.this if isinstance(tree, exp.Window) else None
            arguments = inner.expressions if isinstance(inner, exp.Anonymous) else []
            return any(self._has_aggregate(argument) for argument in arguments)
        if self._aggregate_name(tree) is not None:
            return True
        return any(self._has_aggregate(child) for child in tree.iter_expressions())

    def _aggregate_name(self, tree: Any) -> str | None:
        from_json = type(tree).__name__ == "JsonCall"
        if not isinstance(tree, exp.Anonymous) and not from_json:
            return None
        name = str(tree.this if isinstance(tree.this, str) else tree.this.name)
        function = self.functions(name)
        if function is not None:
            return name if getattr(function, "kind", "") == "aggregate" else None
        return name if is_aggregate(name) else None

    # ---- keys ----------------------------------------------------------------------------------

    def bind_keys(self) -> None:
        """Bind the GROUP BY clause."""
        group = self.tree.args.get("group")
        if group is None:
            return
        binder = ExpressionBinder(self.scope, self.functions)
        sets: list[tuple[int, ...]] = [()]
        multiple = False
        kinds = ("grouping_sets", "rollup", "cube")
        more = [item for kind in kinds for item in group.args.get(kind) or ()]
        for item in [*group.expressions, *more]:
            choices = self._choices(item, binder)
            multiple = (
                multiple
                or len(choices) > 1
                or isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube)
            )
            sets = [tuple(dict.fromkeys((*a, *b))) for a in sets for b in choices]
        if multiple:
            self.sets = sets

    def _choices(self, item: Any, binder: ExpressionBinder) -> list[tuple[int, ...]]:
        """Return the sets of keys that an item of GROUP BY stands for."""
        if isinstance(item, exp.GroupingSets):
            return [
                one for part in item.expressions for one in self._choices(_unwrapped(part), binder)
            ]
        if isinstance(item, exp.Rollup | exp.Cube):
            parts = [self._choices(part, binder)[0] for part in item.expressions]
            if isinstance(item, exp.Rollup):
                return [
                    tuple(k for part in parts[:n] for k in part) for n in range(len(parts), -1, -1)
                ]
            found = []
            for mask in range(2 ** len(parts) - 1, -1, -1):
                chosen = [p for i, p in enumerate(parts) if mask >> (len(parts) - 1 - i) & 1]
                found.append(tuple(k for part in chosen for k in part))
            return found
        if isinstance(item, exp.Tuple):
            return [tuple(self._key(part, binder) for part in item.expressions)]
        if self._group_window(item, binder):
            return [()]
        return [(self._key(item, binder),)]

    def _key(self, item: Any, binder: ExpressionBinder) -> int:
        if isinstance(item, exp.Paren):
            item = item.this
        if isinstance(item, exp.Literal) and not item.is_string:
            expr = binder.bind(self._item(int(item.this), item))
        else:
            expr = self._bound_key(item, binder)
        if expr not in self.keys:
            self.keys.append(expr)
        return self.keys.index(expr)

    def _item(self, position: int, tree: Any) -> Any:
        if not 1 <= position <= len(self.tree.expressions):
            raise ValidationError(f"GROUP BY {position}: there is no such column",
                                  where=place(tree))  # fmt: skip
        item = self.tree.expressions[position - 1]
        return item.this if isinstance(item, exp.Alias) else item

    def _bound_key(self, item: Any, binder: ExpressionBinder) -> Expr:
        try:
            return binder.bind(item)
        except ValidationError:
            # An alias of the SELECT list, if there is no such column.
            for select in self.tree.expressions:
                if (
                    isinstance(select, exp.Alias)
                    and isinstance(item, exp.Column)
                    and (select.alias == item.name)
                ):
                    return binder.bind(select.this)
            raise

    # ---- group windows -------------------------------------------------------------------------

    def _group_window(self, item: Any, binder: ExpressionBinder) -> bool:
        if not isinstance(item, exp.Anonymous) or str(item.this).upper() not in _GROUP_WINDOWS:
            return False
        window = self._make_window(str(item.this).upper(), item, binder)
        if self.window is not None and self.window != window:
            raise ValidationError("GROUP BY has two windows", where=place(item), got=item.sql(),
                                  todo="group by one window")  # fmt: skip
        self.window = window
        return True

    def _make_window(self, kind: str, call: Any, binder: ExpressionBinder) -> WindowSpecification:
        args = call.expressions
        where = place(call)
        least = 3 if kind == "HOP" else 2
        if len(args) < least:
            raise ValidationError(
                f"{kind} takes a time attribute and {'two intervals' if least == 3 else 'one'}",
                where=where, got=call.sql(), todo=f"write {kind}(ts, INTERVAL '1' MINUTE ...)",
            )  # fmt: skip
        time = binder.bind(args[0])
        domain = time_domain(time.type, kind, str(time), where)
        index = time.index if isinstance(time, InputRef) else -1
        if index < 0 and domain == "rowtime":
            raise ValidationError("a window needs a column as its time attribute", where=where,
                                  got=call.sql())  # fmt: skip
        lengths = [milliseconds(binder.bind(arg), where) for arg in args[1:]]
        if kind == "HOP":
            offset = lengths[2] if len(lengths) > 2 else 0
            return make_window(kind, index, lengths[1], lengths[0], offset, (), domain, where)
        offset = lengths[1] if len(lengths) > 1 else 0
        return make_window(kind, index, lengths[0], 0, offset, (), domain, where)

    # ---- calls ---------------------------------------------------------------------------------

    def special(self, tree: Any, binder: ExpressionBinder) -> Expr | None:
        """Return a placeholder for an aggregate, a window property or a group key."""
        condition = None
        call = tree
        if isinstance(tree, exp.Filter):
            condition, call = tree.expression.this, tree.this
        name = self._aggregate_name(call)
        if name is not None:
            return self._aggregate(name, call, condition)
        if isinstance(call, exp.Anonymous):
            upper = str(call.this).upper()
            if upper in _PROPERTIES:
                return self._property(upper, call)
            if upper in ("GROUPING", "GROUPING_ID", "GROUP_ID"):
                return self._grouping(call)
        return None

    def _aggregate(self, name: str, tree: Any, condition: Any) -> Expr:
        plain = ExpressionBinder(self.scope, self.functions)
        bound = bind_aggregate(name, tree, condition, plain, self.functions)
        if bound not in self.calls:
            self.calls.append(bound)
        return AggregateColumn("call", self.calls.index(bound), bound.type, str(bound))

    def _property(self, name: str, call: Any) -> Expr:
        kind, word = _PROPERTIES[name]
        window = self._make_window(kind, call, ExpressionBinder(self.scope, self.functions))
        if self.window is None or window != self.window:
            raise ValidationError(
                f"{name} must be called with the window of GROUP BY",
                where=place(call),
                got=call.sql(),
                todo="repeat the arguments of the window in the GROUP BY clause",
            )
        if word not in self.properties:
            self.properties.append(word)
        return AggregateColumn(
            "property", self.properties.index(word), property_type(word, window, self.scope), name
        )

    def _grouping(self, call: Any) -> Expr:
        plain = ExpressionBinder(self.scope, self.functions)
        args = tuple(plain.bind(argument) for argument in call.expressions) or tuple(self.keys)
        if args not in self.grouping_calls:
            self.grouping_calls.append(args)
        kind = t.BigIntType(is_nullable=False)
        return AggregateColumn("grouping", self.grouping_calls.index(args), kind, str(call.this))

    # ---- the node ------------------------------------------------------------------------------

    def put_below(self, node: Node) -> tuple[Node, Callable[[Expr], Expr]]:
        """Return the aggregate over a node, and what turns bound expressions into ones over it."""
        if self.sets is not None:
            return self._grouping_sets(node)
        inner, key_positions, calls = self._prepared(node)
        keys = tuple(range(len(self.keys)))
        del key_positions
        schema = aggregate_schema(inner, keys, calls)
        if self.window is not None:
            fields = tuple(
                t.RowField(f"w${word}", property_type(word, self.window, self.scope))
                for word in self.properties
            )
            window = self._moved_window(inner)
            done: Node = GroupWindowAggregate(
                t.RowType((*schema.fields, *fields), is_nullable=False),
                inner, keys, calls, window, tuple(self.properties),
            )  # fmt: skip
        else:
            done = Aggregate(schema, inner, keys, calls)
        return done, lambda expr: self._rewritten(expr, done, None)

    def _moved_window(self, inner: Node) -> WindowSpecification:
        assert self.window is not None
        window = self.window
        return WindowSpecification(
            window.kind, inner.names().index("$time") if window.time >= 0 else -1,
            window.size, window.slide, window.offset, (), window.domain,
        )  # fmt: skip

    def _prepared(self, node: Node) -> tuple[Node, tuple[int, ...], tuple[AggregateCall, ...]]:
        """Return a projection of keys and arguments, and the calls over it."""
        columns: list[Expr] = list(self.keys)
        names = [_key_name(key, i) for i, key in enumerate(self.keys)]

        def place_of(expr: Expr) -> Expr:
            if isinstance(expr, Literal):
                return expr
            if expr not in columns:
                columns.append(expr)
                names.append(expr.name if isinstance(expr, InputRef) and expr.name not in names
                             else f"$f{len(columns) - 1}")  # fmt: skip
            index = columns.index(expr)
            return InputRef(index, expr.type, names[index])

        calls = tuple(call.map(place_of) for call in self.calls)
        if self.window is not None and self.window.time >= 0:
            columns.append(node.ref(self.window.time))
            names.append("$time")
        from_names = _deduplicated(names)
        inner = project(node, columns, from_names)
        return inner, tuple(range(len(self.keys))), calls

    def _grouping_sets(self, node: Node) -> tuple[Node, Callable[[Expr], Expr]]:
        assert self.sets is not None
        inner, _, calls = self._prepared(node)
        count = len(self.keys)
        # A key may also be an argument: the argument keeps its value in every set.
        copied = [*inner.refs(), *inner.refs()[:count]]
        names = _deduplicated([*inner.names(), *inner.names()[:count]])
        wide = project(inner, copied, names)
        width = len(inner.refs())

        def kept(expr: Expr) -> Expr:
            return expr.shifted(lambda i: width + i if i < count else i)

        calls = tuple(call.map(kept) for call in calls)
        fields = [
            t.RowField(c.name, c.type.nullable() if i < count else c.type)
            for i, c in enumerate(wide.schema.fields)
        ]
        fields.append(t.RowField("$e", t.BigIntType(is_nullable=False)))
        keys = tuple(range(count))
        expand = Expand(t.RowType(tuple(fields), is_nullable=False), wide, tuple(self.sets), keys)
        all_keys = (*keys, len(fields) - 1)
        schema = aggregate_schema(expand, all_keys, calls)
        done = Aggregate(schema, expand, all_keys, calls)
        return done, lambda expr: self._rewritten(expr, done, count)

    def _rewritten(self, expr: Expr, done: Node, set_column: int | None) -> Expr:
        """Return an expression over the input as one over the aggregate's row."""
        shift = len(self.keys) + (0 if set_column is None else 1)
        if expr in self.keys:
            return done.ref(self.keys.index(expr))
        if isinstance(expr, AggregateColumn):
            if expr.kind == "call":
                return done.ref(shift + expr.index)
            if expr.kind == "property":
                return done.ref(shift + len(self.calls) + expr.index)
            return self._grouping_value(self.grouping_calls[expr.index], done, set_column)
        if isinstance(expr, InputRef):
            raise ValidationError(
                f"column {expr.name!r} is neither a key of GROUP BY nor inside an aggregate",
                got=f"keys: {', '.join(map(str, self.keys)) or 'none'}",
                todo=f"add {expr.name} to GROUP BY, or aggregate it",
            )
        children = [self._rewritten(child, done, set_column) for child in expr.children()]
        return expr.with_children(children) if children else expr

    def _grouping_value(self, args: tuple[Expr, ...], done: Node, set_column: int | None) -> Expr:
        zero = Literal(0, t.BigIntType(is_nullable=False))
        if set_column is None:
            return zero
        assert self.sets is not None
        branches = []
        number = done.ref(set_column)
        for index, one in enumerate(self.sets):
            bits = 0
            for arg in args:
                missing = self.keys.index(arg) not in one if arg in self.keys else True
                bits = bits * 2 + int(missing)
            test = catalog.resolve("=", (number, cast(number_literal(str(index)), zero.type)))
            branches.append((test, Literal(bits, zero.type)))
        return Case(tuple(branches), zero, zero.type)


def property_type(word: str, window: WindowSpecification, scope: Scope) -> t.LogicalType:
    """Return the type of a property of a group window."""
    if word in ("start", "end"):
        return t.TimestampType(3, is_nullable=False)
    if word == "proctime":
        return t.LocalZonedTimestampType(3, attribute=t.TimeAttribute.PROCTIME, is_nullable=False)
    for relation in scope.relations:
        if relation.offset <= window.time < relation.offset + len(relation.schema.fields):
            kind = relation.schema.fields[window.time - relation.offset].type
            assert isinstance(kind, t.PointInTimeType)
            return kind.not_null()
    return t.TimestampType(3, attribute=t.TimeAttribute.ROWTIME, is_nullable=False)


def aggregate_schema(
    node: Node, keys: tuple[int, ...], calls: tuple[AggregateCall, ...]
) -> t.RowType:
    """Return the columns of an aggregate: its keys and its results."""
    fields = []
    for key in keys:
        column = node.schema.fields[key]
        kind = column.type
        if isinstance(kind, t.PointInTimeType) and kind.is_attribute:
            kind = kind.as_attribute(t.TimeAttribute.NONE)
        fields.append(t.RowField(column.name, kind))
    names = [field_.name for field_ in fields]
    for i, call in enumerate(calls):
        name = f"EXPR${i}"
        while name in names:
            name = f"{name}_"
        fields.append(t.RowField(name, call.type))
    return t.RowType(tuple(fields), is_nullable=False)


def _key_name(key: Expr, index: int) -> str:
    return key.name if isinstance(key, InputRef) else f"$k{index}"


def _deduplicated(names: list[str]) -> list[str]:
    seen: set[str] = set()
    result = []
    for name in names:
        while name in seen:
            name = f"{name}$"
        seen.add(name)
        result.append(name)
    return result


def _unwrapped(tree: Any) -> Any:
    if isinstance(tree, exp.Paren):
        return exp.Tuple(expressions=[tree.this])
    return tree
