"""A query with its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.graph.relational.algebra import Node
from penstock.table.explain import explain
from penstock.table.explain_detail import ExplainDetail
from penstock.table.names import parts_of
from penstock.table.statement_runner import insert_into, started
from penstock.table.table_descriptor import TableDescriptor
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


class TablePipeline:
    """A query and the table that it goes into: what `Table.insert_into` returns."""

    def __init__(
        self, t_env: TableEnvironment, insert: tuple[Any, Any], target: str | TableDescriptor
    ) -> None:
        self._t_env = t_env
        self._insert = insert
        self._target = target

    def execute(self) -> TableResult:
        """Start the job."""
        return started(self._t_env, [self._insert])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plans."""
        return explain(self._t_env, [self._insert], [detail.name for detail in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plans."""
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> str | None:
        """Return the name of the target, None if it has none."""
        return self._target if isinstance(self._target, str) else None


def sink_of(
    t_env: TableEnvironment,
    target: str | TableDescriptor,
    node: Node,
    overwrite: bool = False,
) -> tuple[Any, Any]:
    """Return rows as they fit a target, and the target."""
    if isinstance(target, TableDescriptor):
        name = "Unregistered_Sink"
        made = target.table(t_env, name, node.schema)
        t_env._catalogs.create((name,), made, temporary=True, replace=True)
        return insert_into(t_env, (name,), node, overwrite=overwrite)
    return insert_into(t_env, parts_of(target), node, overwrite=overwrite)
