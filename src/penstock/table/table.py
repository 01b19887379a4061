"""Tables: a query that is not run yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.execution.data_frames import find_data_frames
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Correlate, Join, Node, Sort, TableAggregate, project
from penstock.graph.relational.expressions import Call, Expr, FieldAccess, UdfCall
from penstock.table.arrow_types import arrow_table
from penstock.table.changelog_columns import ChangelogArguments, from_changelog, to_changelog
from penstock.table.described import resolved
from penstock.table.explain import explain
from penstock.table.explain_detail import ExplainDetail
from penstock.table.expression import Expression
from penstock.table.expression_tree import Bound, UserCall
from penstock.table.grouped_table import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    unaliased,
)
from penstock.table.names import hint
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.from_binder import joined_schema
from penstock.table.sql.query_binder import distinct, set_operation
from penstock.table.sql.scope import Scope
from penstock.table.statement_runner import started
from penstock.table.table_pipeline import TablePipeline, sink_of
from penstock.table.table_result import TableResult
from penstock.table.table_schema import TableSchema
from penstock.table.table_trees import TreeBinder, trees_of
from penstock.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from penstock.table.table_descriptor import TableDescriptor
    from penstock.table.table_environment import TableEnvironment


class Table:
    """A table: columns, and how its rows come about. Methods return new tables.

    >>> from penstock.table import EnvironmentSettings, TableEnvironment
    >>> from penstock.table.expressions import col
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> table = t_env.from_elements([(1, "a"), (2, "b")], ["id", "name"])
    >>> table.where(col("id") > 1).select(col("name")).get_schema().get_field_names()
    ['name']
    """

    def __init__(self, node: Node, t_env: TableEnvironment, entry: Any = None) -> None:
        self._node = node
        self._t_env = t_env
        #: What the catalog holds, if this is a table as it stands there.
        self._entry = entry
        self._registered: str | None = None

    # ---- columns -------------------------------------------------------------------------------

    def get_schema(self) -> TableSchema:
        """Return names and types of the columns."""
        return TableSchema.of(self._node.schema)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns; of a table in a catalog, with watermark and primary key."""
        return resolved(self._node.schema, self._entry, self._t_env)

    def print_schema(self) -> None:
        """Print the columns."""
        print(self.get_resolved_schema())

    def __getattr__(self, name: str) -> Any:
        """Return a column by name: `table.id`."""
        if name.startswith("_") or name not in self._node.names():
            raise AttributeError(name)
        return Expression(_column_tree(name))

    def select(self, *fields: Any) -> Table:
        """Return some columns: expressions, or texts as in the classic API."""
        return self._made(self._binder().select(trees_of(fields)))

    def alias(self, field: str, *fields: str) -> Table:
        """Give the columns other names, in order."""
        names = [part.strip() for text in (field, *fields) for part in text.split(",")]
        current = self._node.names()
        return self._made(self._t_env._renamed(self._node, [*names, *current[len(names) :]]))

    def add_columns(self, *fields: Any) -> Table:
        """Return all columns and more behind them."""
        added = trees_of(fields)
        for name in map(_name_of, added):
            if name in self._node.names():
                raise ValidationError(
                    f"there is a column {name!r} already", where="add_columns()",
                    todo="give it another name with alias(...), or use add_or_replace_columns()",
                )  # fmt: skip
        return self._made(self._binder().select([exp.Star(), *added]))

    def add_or_replace_columns(self, *fields: Any) -> Table:
        """Return all columns, those of the same name replaced, the others added."""
        added = {_name_of(tree): tree for tree in trees_of(fields)}
        items = [added.pop(name, None) or _column_tree(name) for name in self._node.names()]
        return self._made(self._binder().select([*items, *added.values()]))

    def rename_columns(self, *fields: Any) -> Table:
        """Give some columns other names: `col("a").alias("b")`."""
        renamed = {tree.this.name: tree.alias for tree in trees_of(fields)}
        for name in renamed:
            self._check_column(name, "rename_columns()")
        names = [renamed.get(name, name) for name in self._node.names()]
        return self._made(self._t_env._renamed(self._node, names))

    def drop_columns(self, *fields: Any) -> Table:
        """Return all columns but some."""
        dropped = {tree.name for tree in trees_of(fields)}
        for name in dropped:
            self._check_column(name, "drop_columns()")
        kept = [ref for ref in self._node.refs() if ref.name not in dropped]
        return self._made(project(self._node, kept, [ref.name for ref in kept]))

    def _check_column(self, name: str, where: str) -> None:
        if name not in self._node.names():
            todo = hint(name, self._node.names())
            raise ValidationError(f"there is no column {name!r}", where=where, todo=todo)

    # ---- rows ----------------------------------------------------------------------------------

    def where(self, predicate: Any) -> Table:
        """Keep the rows for which an expression is TRUE."""
        condition = trees_of([predicate])[0]
        return self._made(self._binder().select([exp.Star()], where=condition))

    filter = where

    def distinct(self) -> Table:
        """Keep each row once."""
        return self._made(distinct(self._node))

    def order_by(self, *fields: Any) -> Table:
        """Sort the rows; of a stream, by a time attribute or together with `fetch`."""
        keys = trees_of(fields)
        return self._made(self._binder().select([exp.Star()], order=keys))

    def offset(self, offset: int) -> Table:
        """Leave out the first rows."""
        return self.limit(-1, offset)

    def fetch(self, fetch: int) -> Table:
        """Keep the first rows."""
        return self.limit(fetch)

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Keep some of the first rows, from an offset on."""
        node = self._node
        count = None if fetch < 0 else fetch
        if isinstance(node, Sort) and node.fetch is None:
            start = offset or node.offset
            return self._made(Sort(node.schema, node.input, node.keys, start, count))
        return self._made(Sort(node.schema, node, (), offset, count))

    # ---- groups and windows --------------------------------------------------------------------

    def group_by(self, *fields: Any) -> GroupedTable:
        """Group the rows by some keys."""
        return GroupedTable(self, trees_of(fields))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Define a window to group by."""
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Define windows for OVER aggregates."""
        return OverWindowedTable(self, over_windows)

    def aggregate(self, func: Any) -> AggregatedTable:
        """Aggregate all rows with a function that gives a row."""
        return GroupedTable(self, []).aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Aggregate all rows with a function that gives any number of rows."""
        return GroupedTable(self, []).flat_aggregate(func)

    # ---- functions over rows -------------------------------------------------------------------

    def map(self, func: Any) -> Table:
        """Turn every row into another with a scalar function that gives a row."""
        call = self._bound_call(func)
        row = call.type
        if not isinstance(row, t.RowType):
            return self._made(project(self._node, [call], ["_1"]))
        wide = project(self._node, [call], ["$row"])
        return self._made(wide)._flattened("$row", row.names())

    def flat_map(self, func: Any) -> Table:
        """Turn every row into any number of others with a table function."""
        tree, names = self._call_tree(func)
        made = self._correlated(self._binder().table_call(tree), "inner", names)
        width = len(self._node.schema.fields)
        kept = made.refs()[width:]
        return self._made(project(made, kept, [ref.name for ref in kept]))

    def _call_tree(self, func: Any) -> tuple[Any, list[str]]:
        """Return a call and names for its columns; a bare function is called with the row."""
        tree = trees_of([func])[0] if hasattr(func, "tree") else self._whole_row(func)
        return unaliased(tree)

    def _bound_call(self, func: Any) -> UdfCall:
        call = self._binder().expression(self._call_tree(func)[0])
        if not isinstance(call, UdfCall):
            raise ValidationError("a function of the user is expected", got=str(call),
                                  todo="declare it with udf(...) or udtf(...)")  # fmt: skip
        return call

    def _whole_row(self, func: Any) -> Any:
        row: Expr = Call("ROW", tuple(self._node.refs()), self._node.schema)
        return UserCall(function=func.function, expressions=[Bound(expr=row)])

    def _flattened(self, column: str, names: list[str]) -> Table:
        """Replace a column that holds rows by their fields."""
        exprs: list[Expr] = []
        out: list[str] = []
        for ref in self._node.refs():
            if ref.name != column or not isinstance(ref.type, t.RowType):
                exprs.append(ref)
                out.append((names or [ref.name])[0] if ref.name == column else ref.name)
                continue
            fields = ref.type.names()
            exprs += [FieldAccess(ref, i) for i in range(len(fields))]
            out += names or fields
        return self._made(project(self._node, exprs, out))

    def _flat_aggregated(self, keys: list[Any], tree: Any, names: list[str]) -> Table:
        binder = self._binder()
        function, args = binder.function_call(tree)
        if function.kind != "table_aggregate":
            raise ValidationError(
                f"{function.name} is no table aggregate function",
                got=f"a function of kind {function.kind}",
                todo="declare it with udtaf(...)",
            )
        bound = [binder.expression(key) for key in keys]
        key_names = [str(key.alias_or_name) or f"$k{i}" for i, key in enumerate(keys)]
        columns = [*bound, *function.checked(args)]
        arg_names = [f"$a{i}" for i in range(len(columns) - len(bound))]
        inner = project(self._node, columns, [*key_names, *arg_names])
        row = function.result_type
        fields = row.fields if isinstance(row, t.RowType) else (t.RowField("f0", row),)
        given = names or [field.name for field in fields]
        added = [t.RowField(n, f.type) for n, f in zip(given, fields, strict=True)]
        schema = t.RowType((*inner.schema.fields[: len(bound)], *added), is_nullable=False)
        return self._made(TableAggregate(schema, inner, len(bound), function))

    # ---- two tables ----------------------------------------------------------------------------

    def join(self, right: Table, join_predicate: Any = None) -> Table:
        """Join two tables whose columns have different names."""
        return self._joined(right, "inner", join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Any = None) -> Table:
        """Join two tables; rows of this one without a partner get NULLs."""
        return self._joined(right, "left", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Any) -> Table:
        """Join two tables; rows of the other one without a partner get NULLs."""
        return self._joined(right, "right", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Any) -> Table:
        """Join two tables; rows of both without a partner get NULLs."""
        return self._joined(right, "full", join_predicate)

    def join_lateral(self, table_function_call: Any, join_predicate: Any = None) -> Table:
        """Join each row with the rows that a table function makes of it."""
        return self._lateral(table_function_call, "inner", join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Any = None
    ) -> Table:
        """Do the same; a row for which the function gives nothing gets NULLs."""
        return self._lateral(table_function_call, "left", join_predicate)

    def _joined(self, right: Table, kind: str, predicate: Any) -> Table:
        both = Scope.of(self._node).joined(Scope.of(right._node))
        shared = set(self._node.names()) & set(right._node.names())
        if shared:
            raise ValidationError(
                "joined tables must have different column names",
                got=f"both have {', '.join(sorted(shared))}",
                todo="rename columns with alias(...) or rename_columns(...) first",
            )
        condition = None
        if predicate is not None:
            binder = ExpressionBinder(both, self._t_env._catalogs.find_function)
            condition = binder.bind(self._binder()._prepared(trees_of([predicate])[0]))
        schema = joined_schema(self._node, right._node, kind)
        return self._made(Join(schema, self._node, right._node, kind, condition))

    def _lateral(self, call: Any, kind: str, predicate: Any) -> Table:
        tree, names = unaliased(trees_of([call])[0])
        made = self._correlated(self._binder().table_call(tree), kind, names)
        joined = self._made(made)
        return joined if predicate is None else joined.where(predicate)

    def _correlated(self, call: UdfCall, kind: str, names: list[str] | None = None) -> Node:
        row = call.function.result_type
        fields = row.fields if isinstance(row, t.RowType) else (t.RowField("f0", row),)
        given = names or [field.name for field in fields]
        added = tuple(
            t.RowField(name, field.type.nullable() if kind == "left" else field.type)
            for name, field in zip(given, fields, strict=True)
        )
        schema = t.RowType((*self._node.schema.fields, *added), is_nullable=False)
        return Correlate(schema, self._node, call, kind)

    def union(self, right: Table) -> Table:
        """Return the rows of both, each once."""
        return self._made(set_operation(self._node, right._node, "union", False))

    def union_all(self, right: Table) -> Table:
        """Return the rows of both."""
        return self._made(set_operation(self._node, right._node, "union", True))

    def intersect(self, right: Table) -> Table:
        """Return the rows that are in both, each once."""
        return self._made(set_operation(self._node, right._node, "intersect", False))

    def intersect_all(self, right: Table) -> Table:
        """Return the rows that are in both, as often as in both."""
        return self._made(set_operation(self._node, right._node, "intersect", True))

    def minus(self, right: Table) -> Table:
        """Return the rows that are not in the other table, each once."""
        return self._made(set_operation(self._node, right._node, "except", False))

    def minus_all(self, right: Table) -> Table:
        """Return the rows that are left when those of the other table are taken away."""
        return self._made(set_operation(self._node, right._node, "except", True))

    # ---- changes as columns --------------------------------------------------------------------

    def to_changelog(self, *arguments: Any) -> Table:
        """Return the changes of this table as rows that are only added, with a column `op`.

        :param arguments: `descriptor("name").as_argument("op")` for another name of the column,
            `map_("INSERT", "I", ...).as_argument("op_mapping")` for other words; changes that
            the map does not name are left out.
        """
        given = ChangelogArguments.of(trees_of(arguments), "to_changelog()")
        return self._made(to_changelog(self._node, given))

    def from_changelog(self, *arguments: Any) -> Table:
        """Return a table that changes as the column `op` of this one says; the column goes.

        :param arguments: as with `to_changelog`; the map leads from words to kinds.
        """
        given = ChangelogArguments.of(trees_of(arguments), "from_changelog()")
        return self._made(from_changelog(self._node, given))

    # ---- running it ----------------------------------------------------------------------------

    def execute(self) -> TableResult:
        """Run the query and bring its rows to the program."""
        return self._t_env._planner.collect(self._node)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Run the query into a table."""
        insert = sink_of(self._t_env, table_path_or_descriptor, self._node, overwrite)
        return started(self._t_env, [insert])

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """Return the query with its target, to be run or explained."""
        insert = sink_of(self._t_env, table_path_or_descriptor, self._node, overwrite)
        return TablePipeline(self._t_env, insert, table_path_or_descriptor)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plans: as written, optimised, and level by level."""
        return explain(self._t_env, [self._node], [detail.name for detail in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plans."""
        print(self.explain(*extra_details))

    def to_pandas(self) -> Any:
        """Run a bounded query and return its final rows as a pandas DataFrame."""
        return final_frame(self)

    def to_data_frame(self) -> Any:
        """Run a bounded query and return its final rows as a DataFrame of Spark.

        The rows pass through the user's process.

        >>> table.to_data_frame().createOrReplaceTempView("counts")  # doctest: +SKIP
        """
        rows = arrow_table(final_rows(self), self._node.schema)
        return find_data_frames().create(rows, self._t_env._spark_settings())

    def __str__(self) -> str:
        """Return a name under which SQL text can read this table: f"SELECT * FROM {table}"."""
        if self._registered is None:
            self._registered = self._t_env._register_unnamed(self)
        return self._registered

    # ---- for the classes of this package -------------------------------------------------------

    def _binder(self) -> TreeBinder:
        return TreeBinder(self._t_env, self._node)

    def _made(self, node: Node) -> Table:
        return Table(node, self._t_env)


def final_rows(table: Table) -> list[tuple[Any, ...]]:
    """Return the rows that are left of a query; it must end by itself."""
    rows: dict[str, list[Any]] = {}
    for row in table.execute().collect():
        # By text: rows may hold lists and dicts.
        entry = rows.setdefault(repr(tuple(row)), [tuple(row), 0])
        entry[1] += -1 if row.get_row_kind().value & 1 else 1
    return [values for values, count in rows.values() for _ in range(count)]


def final_frame(table: Table) -> Any:
    """Return the rows that are left of a query, as a pandas DataFrame."""
    # Here and not above: it takes longer to load than all the rest of this package.
    import pandas

    return pandas.DataFrame(final_rows(table), columns=table._node.names())


def _name_of(tree: Any) -> str:
    return str(tree.alias or tree.name)


def _column_tree(name: str) -> Any:
    return exp.Column(this=exp.to_identifier(name, quoted=True))
