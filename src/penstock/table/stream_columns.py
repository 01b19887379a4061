"""The columns of a table that is made of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from penstock.common import TypeInformation
from penstock.connectors.collection import CollectionSource
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.specs import SourceSpec
from penstock.graph.transformations import OperatorTransformation, Transformation
from penstock.table.bridge import PROCTIME, ROWTIME, WHOLE
from penstock.table.expression_tree import Modified, show
from penstock.table.schema import Schema
from penstock.table.table_trees import trees_of
from penstock.table.type_conversion import of_rows, of_type_information, of_value

#: As Flink types a rowtime that comes without a schema.
_ROW_TIME = t.TimestampType(3, attribute=t.TimeAttribute.ROWTIME)
_PROC_TIME = t.LocalZonedTimestampType(3, attribute=t.TimeAttribute.PROCTIME, is_nullable=False)


@dataclass(frozen=True)
class StreamColumn:
    """A column and where its values come from in a record."""

    field: t.RowField
    origin: Any


def natural_columns(
    info: TypeInformation | None, transformation: Transformation
) -> list[StreamColumn]:
    """Return the columns that records have of themselves."""
    kind = of_type_information(info) if info is not None else None
    if kind is None or isinstance(kind, t.RawType):
        kind = _inferred(transformation) or t.RawType()
    if isinstance(kind, t.RowType):
        by_name = info is not None and hasattr(info, "get_field_names")
        return [
            StreamColumn(field, field.name if by_name and _is_object(info) else i)
            for i, field in enumerate(kind.fields)
        ]
    return [StreamColumn(t.RowField("f0", kind), WHOLE)]


def _is_object(info: Any) -> bool:
    return type(info).__name__ == "PojoTypeInfo"


def _inferred(transformation: Transformation) -> t.LogicalType | None:
    """Look at the elements of a collection: their types need not be declared."""
    if isinstance(transformation, OperatorTransformation) and isinstance(
        transformation.spec, SourceSpec
    ):
        source = transformation.spec.source
        if isinstance(source, CollectionSource) and source._elements:
            rows = of_rows(source._elements)
            if rows is None:
                return of_value(source._elements[0])
            return t.RowType.of(*((f"f{i}", kind) for i, kind in enumerate(rows.children())))
    for origin in transformation.inputs:
        if not isinstance(transformation, OperatorTransformation) or (
            type(transformation.spec).__name__ in ("TimestampsSpec", "FilterSpec")
        ):
            return _inferred(origin)
    return None


def columns_of_schema(schema: Schema, natural: list[StreamColumn]) -> list[StreamColumn]:
    """Return the physical and metadata columns of a schema, in its order."""
    by_name = {column.field.name: column for column in natural}
    declared = [column for column in schema.columns if column.expression is None]
    physical = [column for column in declared if column.metadata is None]
    columns = []
    if not physical:
        columns = list(natural)
    for position, column in enumerate(declared):
        assert column.type is not None
        kind = column.type.not_null() if column.name in schema.key else column.type
        if column.metadata is not None:
            if column.metadata != "rowtime":
                raise ValidationError(
                    f"a stream has no metadata {column.metadata!r}",
                    where=f"column {column.name}",
                    todo="its only metadata is 'rowtime'",
                )
            columns.append(StreamColumn(t.RowField(column.name, kind), ROWTIME))
            continue
        known = by_name.get(column.name)
        origin = known.origin if known is not None else position
        if known is None and len(natural) == 1 and natural[0].origin == WHOLE:
            origin = column.name if isinstance(natural[0].field.type, t.RawType) else WHOLE
        columns.append(StreamColumn(t.RowField(column.name, kind), origin))
    return columns


def columns_of_fields(fields: Sequence[Any], natural: list[StreamColumn]) -> list[StreamColumn]:
    """Return the columns that a program names, by expressions or by texts of the classic API."""
    trees = trees_of(fields)
    if not trees:
        return natural
    names = [column.field.name for column in natural]
    columns = []
    for position, tree in enumerate(trees):
        alias, inner = (tree.alias, tree.this) if isinstance(tree, exp.Alias) else ("", tree)
        attribute = ""
        if isinstance(inner, Modified) and inner.args["mark"] in ("rowtime", "proctime"):
            attribute, inner = inner.args["mark"], inner.this
        if not isinstance(inner, exp.Column):
            raise ValidationError(
                "this is no column of a stream",
                got=show(tree),
                todo="write names, `name as other`, `ts.rowtime` or `pt.proctime`",
            )
        columns.append(_column(inner.name, attribute, alias, position, names, natural))
    return columns


def _column(
    name: str, attribute: str, alias: str, position: int, names: list[str],
    natural: list[StreamColumn],
) -> StreamColumn:  # fmt: skip
    shown = alias or name
    if attribute == "rowtime":
        return StreamColumn(t.RowField(shown, _ROW_TIME), ROWTIME)
    if attribute:
        return StreamColumn(t.RowField(shown, _PROC_TIME), PROCTIME)
    if name in names:
        known = natural[names.index(name)]
        return StreamColumn(t.RowField(shown, known.field.type), known.origin)
    if len(natural) == 1 and natural[0].origin == WHOLE:
        whole = natural[0]
        if isinstance(whole.field.type, t.RawType):
            return StreamColumn(t.RowField(shown, t.RawType()), name if alias else position)
        return StreamColumn(t.RowField(shown, whole.field.type), WHOLE)
    if position >= len(natural):
        raise ValidationError(
            f"the stream has {len(natural)} fields, and {shown!r} would be number {position + 1}",
            todo="name a field for each, or rowtime and proctime attributes",
        )
    known = natural[position]
    return StreamColumn(t.RowField(shown, known.field.type), known.origin)
