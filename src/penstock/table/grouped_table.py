"""Tables on their way to an aggregate: grouped, windowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.table.table_trees import TreeBinder, trees_of, window_call, with_window
from penstock.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from penstock.table.table import Table


class GroupedTable:
    """A table with keys, to be aggregated."""

    def __init__(self, table: Table, keys: Sequence[Any]) -> None:
        self._table = table
        self._keys = list(keys)

    def select(self, *fields: Any) -> Table:
        """Return keys and aggregates of every group.

        >>> from penstock.table import EnvironmentSettings, TableEnvironment
        >>> from penstock.table.expressions import col
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> words = t_env.from_elements([("a", 1), ("a", 2)], ["word", "n"])
        >>> sums = words.group_by(col("word")).select(col("n").sum.alias("s"))
        >>> sums.get_schema().get_field_names()
        ['s']
        """
        table = self._table
        binder = TreeBinder(table._t_env, table._node)
        return table._made(binder.select(trees_of(fields), group=self._keys))

    def aggregate(self, func: Any) -> AggregatedTable:
        """Aggregate every group with a function that gives a row."""
        return AggregatedTable(self._table, self._keys, func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Aggregate every group with a function that gives any number of rows."""
        return FlatAggregateTable(self._table, self._keys, func)


class AggregatedTable:
    """A table whose groups a function of the user aggregates; `select` chooses the columns.

    :param func: a call with columns, or the function alone, which then gets the whole row.
    """

    def __init__(self, table: Table, keys: Sequence[Any], func: Any) -> None:
        self._table = table
        self._keys = list(keys)
        self._tree, self._names = table._call_tree(func)

    def select(self, *fields: Any) -> Table:
        """Choose among the keys and the columns of the function's row."""
        table = self._table
        binder = TreeBinder(table._t_env, table._node)
        call = exp.alias_(self._tree, "$row", quoted=True)
        made = table._made(binder.select([*self._keys, call], group=self._keys))
        flat = made._flattened("$row", self._names)
        return flat.select(*fields)


class FlatAggregateTable:
    """A table whose groups a function of the user turns into rows; `select` chooses columns.

    :param func: a call with columns, or the function alone, which then gets the whole row.
    """

    def __init__(self, table: Table, keys: Sequence[Any], func: Any) -> None:
        self._table = table
        self._keys = list(keys)
        self._tree, self._names = table._call_tree(func)

    def select(self, *fields: Any) -> Table:
        """Choose among the keys and the columns of the function's rows."""
        table = self._table
        return table._flat_aggregated(self._keys, self._tree, self._names).select(*fields)


class GroupWindowedTable:
    """A table with a window, to be grouped by it."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Any) -> WindowGroupedTable:
        """Group by the window's alias, and by keys."""
        keys = trees_of(fields)
        named = [key for key in keys if _is_window(key, self._window)]
        if not named:
            raise ValidationError(
                f"group_by() must name the window {self._window.name!r}",
                got=", ".join(map(str, fields)),
                todo=f"add col({self._window.name!r})",
            )
        others = [key for key in keys if key not in named]
        return WindowGroupedTable(self._table, self._window, others)


def _is_window(tree: Any, window: GroupWindow) -> bool:
    return isinstance(tree, exp.Column) and tree.name == window.name


class WindowGroupedTable:
    """A table grouped by a window and keys."""

    def __init__(self, table: Table, window: GroupWindow, keys: Sequence[Any]) -> None:
        self._table = table
        self._window = window
        self._keys = list(keys)

    def select(self, *fields: Any) -> Table:
        """Return keys, aggregates and the window's `start`, `end`, `rowtime` or `proctime`."""
        table = self._table
        binder = TreeBinder(table._t_env, table._node)
        items = [with_window(tree, self._window) for tree in trees_of(fields)]
        group = [*self._keys, window_call(self._window)]
        return table._made(binder.select(items, group=group))

    def aggregate(self, func: Any) -> AggregatedTable:
        """Aggregate every window with a function that gives a row."""
        return AggregatedTable(self._table, [*self._keys, window_call(self._window)], func)


class OverWindowedTable:
    """A table with OVER windows, to be selected from."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        self._table = table
        self._windows = list(windows)

    def select(self, *fields: Any) -> Table:
        """Return columns, and aggregates over the windows: `col("a").sum.over(col("w"))`."""
        table = self._table
        binder = TreeBinder(table._t_env, table._node)
        return table._made(binder.select(trees_of(fields), windows=self._windows))


def unaliased(tree: Any) -> tuple[Any, list[str]]:
    """Return a call and the names that were given to the columns of its row."""
    if isinstance(tree, exp.Alias):
        return tree.this, [tree.alias]
    if type(tree).__name__ == "Modified" and tree.args["mark"] == "alias":
        return tree.this, [str(value) for value in tree.args["values"]]
    return tree, []
