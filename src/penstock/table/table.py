"""Tables: a query that is not run yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.graph.relational.algebra import Node
from penstock.graph.relational.types import RowType
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


class Table:
    """A table: columns, and how its rows come about. Methods return new tables.

    >>> from penstock.table import EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> t_env.from_elements([(1, "a")], ["id", "name"]).get_schema().names()
    ['id', 'name']
    """

    def __init__(self, node: Node, t_env: TableEnvironment) -> None:
        self._node = node
        self._t_env = t_env
        self._registered: str | None = None

    def get_schema(self) -> RowType:
        """Return the columns."""
        return self._node.schema

    def get_resolved_schema(self) -> RowType:
        """Return the columns."""
        return self._node.schema

    def print_schema(self) -> None:
        """Print the columns as a tree."""
        print(schema_text(self._node.schema))

    def execute(self) -> TableResult:
        """Run the query and bring its rows to the program."""
        return self._t_env._planner.collect(self._node)

    def __str__(self) -> str:
        """Return a name under which SQL text can read this table: f"SELECT * FROM {table}"."""
        if self._registered is None:
            self._registered = self._t_env._register_unnamed(self)
        return self._registered


def schema_text(schema: RowType) -> str:
    """Return columns as Flink prints them."""
    lines = ["("]
    for i, column in enumerate(schema.fields):
        comma = "," if i < len(schema.fields) - 1 else ""
        lines.append(f"  `{column.name}` {column.type.as_summary_string()}{comma}")
    return "\n".join([*lines, ")"])
