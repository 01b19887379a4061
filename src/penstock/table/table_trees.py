"""Calls of the Table API as trees of the SQL parser: one binder serves both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Node
from penstock.graph.relational.expressions import Expr, UdfCall
from penstock.graph.relational.user_functions import UserFunction
from penstock.table.classic_expressions import parse_expressions
from penstock.table.column_names import named
from penstock.table.expression_base import ExpressionBase, tree_of
from penstock.table.expression_tree import Bound, Modified, call, with_named_functions
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.from_binder import BindContext, table_call
from penstock.table.sql.query_binder import bind_query
from penstock.table.sql.scope import Scope
from penstock.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment

_INPUT = "$input"


def trees_of(fields: Iterable[Any]) -> list[Any]:
    """Return the trees of expressions; a text may hold several, as in the classic API."""
    found: list[Any] = []
    for field in fields:
        if isinstance(field, str):
            found += [expression.tree.copy() for expression in parse_expressions(field)]
        elif isinstance(field, ExpressionBase):
            found.append(field.tree.copy())
        else:
            found.append(tree_of(field))
    return found


class TreeBinder:
    """Bind trees over the columns of one node."""

    def __init__(self, t_env: TableEnvironment, node: Node) -> None:
        self._t_env = t_env
        self._node = node
        self._functions: dict[str, UserFunction] = {}

    def select(
        self, items: Sequence[Any], *, where: Any = None, group: Sequence[Any] | None = None,
        order: Sequence[Any] = (), windows: Sequence[OverWindow] = (),
    ) -> Node:  # fmt: skip
        """Return a SELECT over the node."""
        prepared = self._spread([self._prepared(item, windows) for item in items])
        prepared = named(prepared, self._is_aggregate)
        select = exp.Select(
            expressions=prepared,
            from_=exp.From(this=exp.Table(this=exp.to_identifier(_INPUT, quoted=True))),
        )
        if where is not None:
            select.set("where", exp.Where(this=self._prepared(where)))
        if group is not None:
            select.set("group", exp.Group(expressions=[self._prepared(key) for key in group]))
        if order:
            select.set("order", exp.Order(expressions=[ordered(key) for key in order]))
        return bind_query(select, self.context())

    def context(self) -> BindContext:
        """Return names: the node is the only table without a name of its own."""
        outer = self._t_env._context()

        def table(parts: tuple[str, ...], hints: dict[str, str]) -> Node | None:
            return self._node if parts == (_INPUT,) else outer.table(parts, hints)

        return BindContext(table, self._function, outer.table_names)

    def _function(self, name: str) -> Any:
        return self._functions.get(name) or self._t_env._catalogs.find_function(name)

    def _is_aggregate(self, name: str) -> bool:
        return getattr(self._function(name), "kind", "") == "aggregate"

    def _named(self, function: UserFunction) -> str:
        name = f"{function.name}${len(self._functions)}"
        self._functions[name] = function
        return name

    def expression(self, tree: Any, node: Node | None = None) -> Any:
        """Return one typed expression over the node's columns."""
        binder = ExpressionBinder(Scope.of(node or self._node), self._function)
        return binder.bind(self._prepared(tree))

    def table_call(self, tree: Any) -> UdfCall:
        """Return the call of a table function over the node's columns."""
        return table_call(*self.function_call(tree), None)

    def function_call(self, tree: Any) -> tuple[UserFunction, tuple[Expr, ...]]:
        """Return the user's function that a tree calls, and the arguments."""
        prepared = self._prepared(tree)
        is_call = isinstance(prepared, exp.Anonymous)
        function = self._function(str(prepared.this)) if is_call else None
        if function is None:
            raise ValidationError(
                "a function of the user is expected",
                got=str(tree),
                todo="declare it with udtf(...) or udtaf(...)",
            )
        binder = ExpressionBinder(Scope.of(self._node), self._function)
        return function, tuple(map(binder.bind, prepared.expressions))

    def _prepared(self, tree: Any, windows: Sequence[OverWindow] = ()) -> Any:
        by_name = {window.name: window for window in windows}

        def change(node: Any) -> Any:
            if isinstance(node, Modified):
                return self._unmarked(node, by_name)
            return node

        return with_named_functions(tree.copy().transform(change), self._named)

    def _unmarked(self, node: Any, windows: dict[str, OverWindow]) -> Any:
        mark, values = node.args["mark"], node.args.get("values") or []
        if mark == "over":
            window = windows.get(str(values[0]))
            if window is None:
                raise ValidationError(
                    f"there is no window {values[0]!r}",
                    todo="define it with over_window(...) in front of select(...)",
                )
            return over_tree(node.this, window)
        if mark == "in_table":
            table = values[0]
            name = table._t_env._register_unnamed(table).strip("`")
            query = exp.select("*").from_(exp.Table(this=exp.to_identifier(name, quoted=True)))
            return exp.In(this=node.this, query=exp.Subquery(this=query))
        return node

    def _spread(self, items: list[Any]) -> list[Any]:
        """Replace marks that stand for several columns."""
        names = self._node.names()
        found: list[Any] = []
        for item in items:
            if not isinstance(item, Modified):
                found.append(item)
                continue
            mark, values = item.args["mark"], item.args.get("values") or []
            if mark == "flatten":
                found += self._flattened(item.this)
            elif mark in ("with_columns", "without_columns"):
                chosen = [name for value in values for name in _columns(value, names)]
                kept = chosen if mark == "with_columns" else [n for n in names if n not in chosen]
                found += [_column(name) for name in kept]
            else:
                raise ValidationError(
                    f"{mark} has no meaning here",
                    got=str(item),
                    todo="use it with windows, or in from_data_stream(...)",
                )
        return found

    def _flattened(self, tree: Any) -> list[Any]:
        row = self.expression(tree).type
        if not isinstance(row, t.RowType):
            raise ValidationError("flatten needs a row", got=row.as_summary_string())
        name = tree.name if isinstance(tree, exp.Column) else "f"
        return [
            exp.alias_(
                exp.Dot(this=tree.copy(), expression=exp.to_identifier(field, quoted=True)),
                f"{name}${field}", quoted=True,
            )
            for field in row.names()
        ]  # fmt: skip


def _column(name: str) -> Any:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def _columns(value: Any, names: list[str]) -> list[str]:
    """Return the names that an argument of `with_columns` stands for."""
    if isinstance(value, Modified) and value.args["mark"] == "range":
        first, last = value.args["values"]
        start = names.index(first) if isinstance(first, str) else int(first) - 1
        end = names.index(last) if isinstance(last, str) else int(last) - 1
        return names[start : end + 1]
    if isinstance(value, Bound):
        inner = value.args["expr"].value
        return [names[int(inner) - 1]] if isinstance(inner, int) else [str(inner)]
    return [value.name]


def ordered(tree: Any) -> Any:
    """Return a sort key with Flink's place for NULLs: they are the smallest."""
    if not isinstance(tree, exp.Ordered):
        tree = exp.Ordered(this=tree, desc=False)
    tree.set("nulls_first", not tree.args.get("desc"))
    return tree


def over_tree(aggregate: Any, window: OverWindow) -> Any:
    """Return an aggregate over a window."""
    spec = None
    rows = False
    start: Any = "UNBOUNDED"
    preceding = window.preceding
    if isinstance(preceding, Modified):
        mark = preceding.args["mark"]
        rows = mark in ("unbounded_row", "rows", "current_row")
        if mark == "rows":
            start = exp.Literal.number(preceding.args["values"][0])
        elif mark.startswith("current"):
            start = "CURRENT ROW"
    elif preceding is not None:
        start = preceding
    spec = exp.WindowSpec(
        kind="ROWS" if rows else "RANGE", start=start, start_side="PRECEDING", end="CURRENT ROW"
    )
    order = exp.Order(expressions=[ordered(window.order.copy())])
    return exp.Window(
        this=aggregate, partition_by=[key.copy() for key in window.partition], order=order,
        spec=spec, over="OVER",
    )  # fmt: skip


_PROPERTIES = {"start": "START", "end": "END", "rowtime": "ROWTIME", "proctime": "PROCTIME"}


def window_call(window: GroupWindow, suffix: str = "") -> Any:
    """Return a group window, or one of its properties, as SQL calls it."""
    lengths = [length.copy() for length in window.lengths]
    return call(f"{window.kind}{suffix}", window.time.copy(), *lengths)


def with_window(tree: Any, window: GroupWindow) -> Any:
    """Replace `col("w").start` and its kind by the calls of SQL."""

    def change(node: Any) -> Any:
        if isinstance(node, Modified) and node.args["mark"] in _PROPERTIES:
            inner = node.this
            if isinstance(inner, exp.Column) and inner.name == window.name:
                return window_call(window, "_" + _PROPERTIES[node.args["mark"]])
        return node

    return tree.copy().transform(change)
