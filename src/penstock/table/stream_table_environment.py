"""The environment in which streams become tables and tables become streams."""

from __future__ import annotations

import itertools
from typing import Any

from penstock.common import TypeInformation
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.stream_types import type_of
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Node, Scan, project
from penstock.graph.relational.physical import ChangelogNormalize
from penstock.table.bridge import RecordsToRows, StreamTable
from penstock.table.catalog_manager import View
from penstock.table.catalog_table import CatalogTable
from penstock.table.changelog_mode import ChangelogMode
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.names import parts_of
from penstock.table.schema import Schema
from penstock.table.stream_columns import columns_of_fields, columns_of_schema, natural_columns
from penstock.table.table import Table
from penstock.table.table_environment import TableEnvironment

_numbers = itertools.count(1)


class StreamTableEnvironment(TableEnvironment):
    """Tables and SQL together with the DataStream API.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> t_env = StreamTableEnvironment.create(env)
    >>> stream = env.from_collection([(1, "a"), (2, "b")])
    >>> t_env.from_data_stream(stream, "id, name").get_schema().get_field_names()
    ['id', 'name']
    """

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Return an environment over one of streams."""
        settings = environment_settings or EnvironmentSettings.in_streaming_mode()
        env = stream_execution_environment
        if env is None:
            env = StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        return StreamTableEnvironment(env, settings)

    # ---- streams to tables ---------------------------------------------------------------------

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> Table:
        """Return a stream of inserts as a table.

        :param fields_or_schema: a `Schema`; or columns as expressions; or, as in the classic API,
            one text such as `"id, name as n, ts.rowtime, pt.proctime"`. Left out, the columns
            follow from the stream's type.
        """
        return Table(self._stream_node(data_stream, fields_or_schema), self)

    def from_changelog_stream(
        self,
        data_stream: DataStream,
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """Return a stream of `Row`s with kinds as a table that changes.

        :param changelog_mode: which kinds there are; all by default. An upsert stream needs a
            primary key in the schema.
        """
        mode = changelog_mode or ChangelogMode.all()
        return Table(
            self._stream_node(data_stream, () if schema is None else (schema,), mode), self
        )

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """Register a table or a stream under a name, for as long as this environment lives."""
        if isinstance(table_or_data_stream, DataStream):
            node = self._stream_node(table_or_data_stream, fields_or_schema)
            self._catalogs.create(parts_of(view_path), View(node), temporary=True)
        else:
            super().create_temporary_view(view_path, table_or_data_stream)

    def register_data_stream(self, name: str, data_stream: DataStream, *fields: Any) -> None:
        """Register a stream under a name: the classic name of `create_temporary_view`."""
        self.create_temporary_view(name, data_stream, *fields)

    def _stream_node(
        self, stream: DataStream, described: tuple[Any, ...], mode: ChangelogMode | None = None
    ) -> Node:
        info = type_of(stream._transformation)
        natural = natural_columns(info, stream._transformation)
        name = f"Unregistered_DataStream_{next(_numbers)}"
        kinds = frozenset("I") if mode is None else mode.kinds
        changes = kinds != frozenset("I")
        if described and isinstance(described[0], Schema):
            columns = columns_of_schema(described[0], natural)
        else:
            columns = columns_of_fields(described, natural)
        schema = t.RowType(tuple(column.field for column in columns), is_nullable=False)
        rows = RecordsToRows(schema, tuple(column.origin for column in columns), changes)
        update_before = mode is None or mode.update_before
        table = StreamTable(name, stream._transformation, rows, kinds, (), update_before)
        node: Node = Scan(schema, table)
        if described and isinstance(described[0], Schema):
            node = self._with_schema(node, described[0])
        if "U" in kinds and not update_before:
            keys = described[0].key if described and isinstance(described[0], Schema) else ()
            if not keys:
                raise ValidationError(
                    "an upsert stream needs a primary key",
                    where="from_changelog_stream()",
                    todo="pass a schema with primary_key(...), or ChangelogMode.all()",
                )
            places = tuple(node.names().index(key) for key in keys)
            node = ChangelogNormalize(node.schema, node, places)
        return node

    def _with_schema(self, node: Node, schema: Schema) -> Node:
        """Add the computed columns and the watermark of a schema."""
        from_table = _as_table(schema)
        return from_table._with_watermark(from_table._computed(node, self), self)

    # ---- tables to streams ---------------------------------------------------------------------

    def to_data_stream(self, table: Table) -> DataStream:
        """Return the rows of an append-only table; a rowtime column becomes their timestamp.

        :raises ValidationError: if the table updates or deletes rows.
        """
        return self._stream(table, "to_data_stream()", append=True)

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:
        """Return the changes of a table: each `Row` has its kind."""
        if target_schema is not None:
            names = [column.name for column in target_schema.columns]
            table = Table(
                project(table._node, [table._node.ref(table._node.names().index(n))
                                      for n in names], names), self,
            )  # fmt: skip
        return self._stream(table, "to_changelog_stream()", mode=changelog_mode)

    def to_append_stream(
        self, table: Table, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return the rows of an append-only table: the classic name of `to_data_stream`."""
        return self._stream(table, "to_append_stream()", append=True)

    def to_retract_stream(
        self, table: Table, type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return changes as pairs: `(True, row)` adds a row, `(False, row)` takes it back."""
        return self._stream(table, "to_retract_stream()", flag=True)

    def _stream(
        self, table: Table, call: str, *, append: bool = False, flag: bool = False,
        mode: ChangelogMode | None = None,
    ) -> DataStream:  # fmt: skip
        translator = self._planner.stream_translator()
        operator, changes = self._planner.to_stream(
            table._node, translator, flag=flag, append=append,
            update_before=mode is None or mode.update_before,
        )  # fmt: skip
        inserts_only = append or (mode is not None and mode.kinds == frozenset("I"))
        if inserts_only and not changes.insert_only:
            raise ValidationError(
                f"{call} takes tables that are only added to, and this one has changes {changes}",
                got=f"columns {', '.join(table._node.names())}",
                todo="use to_changelog_stream() or to_retract_stream()",
            )
        return DataStream(self._env, operator)


def _as_table(schema: Schema) -> Any:
    from_columns = schema.columns
    return CatalogTable(from_columns, {}, schema.key, schema.watermark, name="stream")
