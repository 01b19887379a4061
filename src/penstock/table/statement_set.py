"""Several inserts as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ValidationError
from penstock.table.explain import explain
from penstock.table.explain_detail import ExplainDetail
from penstock.table.sql import statements as st
from penstock.table.sql.parser import parse_statement
from penstock.table.statement_runner import bound_insert, started
from penstock.table.table_descriptor import TableDescriptor
from penstock.table.table_pipeline import sink_of
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table import Table
    from penstock.table.table_environment import TableEnvironment


class StatementSet:
    """Collect inserts and run them together: what they share is computed once."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._inserts: list[tuple[Any, Any]] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT statement."""
        statement = parse_statement(stmt)
        if not isinstance(statement, st.Insert):
            raise ValidationError("a statement set takes INSERT statements", got=stmt)
        self._inserts.append(bound_insert(self._t_env, statement))
        return self

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Table,
        overwrite: bool = False,
    ) -> StatementSet:  # fmt: skip
        """Add a table as the input of another."""
        insert = sink_of(self._t_env, target_path_or_descriptor, table._node, overwrite)
        self._inserts.append(insert)
        return self

    def add(self, table_pipeline: Any) -> StatementSet:
        """Add what `Table.insert_into` returned."""
        self._inserts.append(table_pipeline._insert)
        return self

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plans of the inserts."""
        return explain(self._t_env, self._inserts, [detail.name for detail in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plans of the inserts."""
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start the job and empty the set."""
        if not self._inserts:
            raise ValidationError("the statement set is empty", todo="add an INSERT first")
        inserts, self._inserts = self._inserts, []
        return started(self._t_env, inserts)

    def attach_as_datastream(self) -> None:
        """Add the inserts to the job that the stream environment executes next."""
        planner = self._t_env._planner
        translator = planner.stream_translator()
        for operator in planner.insert_operators(self._inserts, translator):
            if operator not in self._t_env._env._operators:
                self._t_env._env.add_operator(operator)
        self._inserts = []
