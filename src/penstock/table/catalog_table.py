"""Tables that CREATE TABLE and descriptors describe."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Node, Project, Scan, SinkNode, Watermark, project
from penstock.graph.relational.changelog import Changes
from penstock.graph.relational.expressions import Expr, Literal, cast
from penstock.graph.relational.physical import ChangelogNormalize
from penstock.graph.relational.specs import ConvertSpec
from penstock.graph.relational.translate import AddKind
from penstock.graph.relational.translator import Translated, Translator
from penstock.graph.specs import Hash, SinkSpec, SourceSpec
from penstock.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
)
from penstock.table.factories.base import TableContext, TableSink, TableSource
from penstock.table.factories.registry import REGISTRY
from penstock.table.factories.watermark_options import WatermarkSettings, watermark_settings
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.scope import Scope
from penstock.table.sql.underline import placed_in

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment


@dataclass(frozen=True)
class Column:
    """A column: physical, computed (`expression`, a tree) or of metadata (`metadata`, its key)."""

    name: str
    type: t.LogicalType | None = None
    expression: Any = None
    expression_text: str = ""
    metadata: str | None = None
    virtual: bool = False
    comment: str | None = None
    #: The type as the program wrote it, if as text.
    written: str | None = None


@dataclass(frozen=True)
class CatalogTable:
    """A table with its connector's options.

    :param watermark: column, tree of the expression, and its text.
    """

    columns: tuple[Column, ...]
    options: dict[str, str]
    primary_key: tuple[str, ...] = ()
    watermark: tuple[str, Any, str] | None = None
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    name: str = ""
    temporary: bool = False
    properties: dict[str, Any] = field(default_factory=dict)

    def physical(self) -> t.RowType:
        """Return the columns that the connector knows."""
        fields = []
        for column in self.columns:
            if column.type is not None and column.metadata is None:
                kind = column.type.not_null() if column.name in self.primary_key else column.type
                fields.append(t.RowField(column.name, kind))
        return t.RowType(tuple(fields), is_nullable=False)

    def metadata_columns(self) -> list[Column]:
        """Return the columns that the connector gives beside the physical ones."""
        return [column for column in self.columns if column.metadata is not None]

    def context(
        self, t_env: TableEnvironment, hints: dict[str, str], columns: list[Column]
    ) -> TableContext:
        """Return the table as its connector sees it.

        :param columns: the metadata columns that count.
        """
        return TableContext(
            self.name, self.physical(), {**self.options, **hints}, self.primary_key,
            self.partition_keys, tuple(c.metadata or c.name for c in columns),
            t_env.get_config().get_local_timezone(),
            t_env._settings.is_streaming_mode(), t_env._env.get_parallelism(),
            t_env._spark_settings(),
        )  # fmt: skip

    def _with_metadata(
        self, columns: list[Column], known: dict[str, t.LogicalType], verb: str
    ) -> t.RowType:
        """Return the columns that pass between the connector and the table."""
        fields = list(self.physical().fields)
        for column in columns:
            key = column.metadata or column.name
            if key not in known:
                raise ValidationError(
                    f"the connector {self.options.get('connector')!r} has no metadata {key!r} that "
                    f"can be {verb}",
                    where=f"table {self.name}, column {column.name}",
                    todo=f"it has: {', '.join(sorted(known)) or 'none'}"
                    + ("; declare the column VIRTUAL" if verb == "written" else ""),
                )
            fields.append(t.RowField(column.name, known[key]))
        return t.RowType(tuple(fields), is_nullable=False)

    def scan(self, t_env: TableEnvironment, hints: dict[str, str]) -> Node:
        """Return the node that reads the table: computed columns and watermarks included."""
        columns = self.metadata_columns()
        context = self.context(t_env, hints, columns)
        factory = REGISTRY.find(context)
        schema = self._with_metadata(columns, factory.readable_metadata(context), "read")
        source = factory.source(context)
        table = ConnectorTable(
            self.name, source, factory.lookup(context),
            watermark_settings(context),
        )  # fmt: skip
        node: Node = Scan(schema, table)
        if "U" in source.kinds and not source.update_before:
            keys = tuple(schema.names().index(key) for key in self.primary_key)
            node = ChangelogNormalize(schema, node, keys)
        node = self._computed(node, t_env)
        return self._with_watermark(node, t_env)

    def resolved(self, t_env: TableEnvironment) -> t.RowType:
        """Return all columns with their types; the connector is not asked."""
        fields = [*self.physical().fields]
        fields += [t.RowField(c.name, c.type or t.STRING) for c in self.metadata_columns()]
        node: Node = Scan(t.RowType(tuple(fields), is_nullable=False), self)
        return self._with_watermark(self._computed(node, t_env), t_env).schema

    def _computed(self, node: Node, t_env: TableEnvironment) -> Node:
        names = node.names()
        if [column.name for column in self.columns] == names and not self.metadata_columns():
            return node
        binder = ExpressionBinder(Scope.of(node), t_env._catalogs.find_function)
        exprs: list[Expr] = []
        for column in self.columns:
            if column.expression is not None:
                with placed_in(f"table {self.name}, column {column.name}"):
                    exprs.append(binder.bind(column.expression))
            else:
                value: Expr = node.ref(names.index(column.name))
                if column.metadata is not None and column.type is not None:
                    value = cast(value, column.type)
                exprs.append(value)
        return project(node, exprs, [column.name for column in self.columns])

    def _with_watermark(self, node: Node, t_env: TableEnvironment) -> Node:
        if self.watermark is None:
            return node
        name, tree, _ = self.watermark
        if name not in node.names():
            raise ValidationError(f"there is no column {name!r} for the watermark",
                                  where=f"table {self.name}")  # fmt: skip
        index = node.names().index(name)
        kind = node.schema.fields[index].type
        if not isinstance(kind, t.PointInTimeType) or kind.precision > 3:
            raise ValidationError(
                "a rowtime column is TIMESTAMP(3) or TIMESTAMP_LTZ(3)",
                where=f"table {self.name}, column {name}",
                got=kind.as_summary_string(),
                todo=f"declare it so, or compute it: {name} AS CAST(... AS TIMESTAMP(3))",
            )
        binder = ExpressionBinder(Scope.of(node), t_env._catalogs.find_function)
        with placed_in(f"table {self.name}, WATERMARK FOR {name}"):
            expr = binder.bind(tree)
        fields = list(node.schema.fields)
        fields[index] = t.RowField(name, kind.as_attribute(t.TimeAttribute.ROWTIME))
        schema = t.RowType(tuple(fields), is_nullable=False)
        return Watermark(schema, node, index, cast(expr, kind.as_attribute(t.TimeAttribute.NONE)))

    def sink(
        self,
        t_env: TableEnvironment,
        overwrite: bool = False,
        partition: tuple[tuple[str, Any], ...] = (),
    ) -> SinkTable:
        """Return the table as the target of rows.

        :param overwrite: whether the rows replace what is there.
        :param partition: values of partition columns that are the same in all rows.
        :raises ValidationError: if the connector cannot do that.
        """
        columns = [column for column in self.metadata_columns() if not column.virtual]
        context = self.context(t_env, {}, columns)
        context = replace(context, overwrite=overwrite, static_partition=partition)
        factory = REGISTRY.find(context)
        if overwrite and not factory.overwrites:
            raise ValidationError(
                f"the connector {factory.identifier!r} does not replace what a table holds",
                where=f"INSERT OVERWRITE {self.name}",
                todo="use INSERT INTO, and empty the table itself before",
            )
        schema = self._with_metadata(columns, factory.writable_metadata(context), "written")
        return SinkTable(self.name, schema, factory.sink(context), self.primary_key)

    def partitions(self, t_env: TableEnvironment) -> list[str]:
        """Return the names of the partitions that the table has."""
        context = self.context(t_env, {}, [])
        return REGISTRY.find(context).partitions(context)

    def named(self, name: str) -> CatalogTable:
        """Return the table under a name."""
        return replace(self, name=name)


class ConnectorTable:
    """A connector's source as a table of a plan."""

    def __init__(
        self,
        name: str,
        source: TableSource,
        lookup: Any = None,
        marks: WatermarkSettings | None = None,
    ) -> None:
        self.name = name
        self.kinds = source.kinds
        self.lookup = lookup
        self.split_watermarks = source.split_watermarks
        self.partitions = source.partitions
        #: Values of the partitions that are read; None: all.
        self.chosen: list[tuple[Any, ...]] | None = None
        self._source = source
        self._marks = marks or WatermarkSettings()
        self.eager_watermarks = self._marks.eager

    def of_partitions(self, wanted: list[tuple[Any, ...]]) -> ConnectorTable:
        """Return some partitions of the table."""
        assert self.partitions is not None
        made = copy.copy(self)
        made.chosen = wanted
        made._source = replace(self._source, source=self.partitions.source(wanted))
        return made

    def translate(self, translator: Translator, node: Scan) -> tuple[Transformation, Changes]:
        """Return the rows of the connector."""
        source = self._source
        strategy = translator.strategies.get(node)
        if strategy is not None:
            strategy = self._marks.applied(strategy, translator.settings.idle_timeout)
        spec = SourceSpec(source.source, strategy)
        operator = translator.add(node, spec, [], name=self.name)
        if not source.source.parallel:
            operator.force_non_parallel()
        elif source.parallelism is not None:
            operator.set_parallelism(source.parallelism)
        return operator, Changes(source.kinds, source.update_before)


class SinkTable:
    """A connector's sink as the target of rows."""

    def __init__(
        self, name: str, schema: t.RowType, sink: TableSink, primary_key: tuple[str, ...]
    ) -> None:
        self.name = name
        self.schema = schema
        self._sink = sink
        self._key = tuple(schema.names().index(k) for k in primary_key if k in schema.names())

    def wants_update_before(self) -> bool:
        """Whether the row before each update must come along."""
        return self._sink.update_before

    def check_changes(self, changes: Changes, node: Node) -> None:
        """Refuse changes that the sink cannot take.

        :raises ValidationError: if the query updates and the sink only appends.
        """
        missing = changes.kinds - self._sink.kinds
        if missing:
            words = {"U": "update", "D": "delete", "I": "insert"}
            raise ValidationError(
                f"the table {self.name!r} takes inserts only, and the query makes "
                f"{' and '.join(words[k] for k in sorted(missing, reverse=True))} changes",
                where=f"INSERT INTO {self.name}",
                got=f"changes {changes} of a query with columns {', '.join(node.names())}",
                todo="write to a table with a primary key (upsert-kafka, jdbc), or use a window",
            )

    def add_sink(
        self, translator: Translator, node: SinkNode, done: Translated
    ) -> OperatorTransformation:
        """Add the sink behind the rows."""
        source = done.source
        if self._sink.with_kinds and not done.has_kinds:
            source = translator.add(node, ConvertSpec(AddKind()), [source], name="AddKind")
        if self._key and done.has_kinds:
            source = PartitionTransformation(source, Hash(RowKey(self._key)))
        spec = SinkSpec(self._sink.sink)
        operator = translator.add(node, spec, [source], name=self.name, changes=done.has_kinds)
        if self._sink.parallelism is not None:
            operator.set_parallelism(self._sink.parallelism)
        return operator


@dataclass(frozen=True)
class RowKey:
    """The primary key of a row."""

    columns: tuple[int, ...]

    def get_key(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of the key."""
        return tuple(row[i] for i in self.columns)


def fitted(node: Node, schema: t.RowType, columns: tuple[str, ...], where: str) -> Node:
    """Return a query's rows as rows of a table: in order, cast, missing columns NULL.

    :raises ValidationError: if a column is missing or its type does not fit.
    """
    from_names = list(columns) or schema.names()
    if len(node.schema.fields) != len(from_names):
        raise ValidationError(
            "the query has another number of columns than the table",
            where=where,
            got=f"{len(node.schema.fields)} columns for {', '.join(from_names)}",
            todo="select one value for every column, or name the columns: INSERT INTO t (a, b)",
        )
    exprs: list[Expr] = []
    for column in schema.fields:
        if column.name in from_names:
            exprs.append(_implicit(node.ref(from_names.index(column.name)), column, where))
        else:
            exprs.append(null_of(column, where))
    done = project(node, exprs, schema.names())
    fields = tuple(
        t.RowField(c.name, c.type.with_nullability(e.type.is_nullable or c.type.is_nullable))
        for c, e in zip(schema.fields, exprs, strict=True)
    )
    if isinstance(done, Project):
        return replace(done, schema=t.RowType(fields, is_nullable=False))
    return done


def _implicit(value: Expr, column: t.RowField, where: str) -> Expr:
    source, target = value.type, column.type
    if not can_store(source, target):
        raise ValidationError(
            f"the query's type for column {column.name!r} does not fit the table's",
            where=where,
            got=f"{source.as_summary_string()} for {target.as_summary_string()}",
            todo=f"cast it: CAST(... AS {target.nullable()})",
        )
    return cast(value, target)


def can_store(source: t.LogicalType, target: t.LogicalType) -> bool:
    """Tell whether values of a type go into a column of another without being asked for."""
    if isinstance(source, t.NullType):
        return True
    if isinstance(source, t.NumericType) and isinstance(target, t.NumericType):
        return True
    groups: list[Any] = [
        t.CharacterType, t.BinaryStringType, t.PointInTimeType, t.BooleanType, t.DateType,
        t.TimeType, t.YearMonthIntervalType, t.DayTimeIntervalType, t.MapType, t.ArrayType,
        t.MultisetType, t.RowType, t.RawType,
    ]  # fmt: skip
    return any(isinstance(source, g) and isinstance(target, g) for g in groups)


def null_of(column: t.RowField, where: str) -> Expr:
    """Return the value of a column that INSERT does not name."""
    if not column.type.is_nullable:
        raise ValidationError(
            f"column {column.name!r} is NOT NULL and the statement gives it no value",
            where=where,
            todo=f"add {column.name} to the columns of the statement",
        )
    return Literal(None, column.type)
