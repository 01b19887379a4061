"""Types of tables as types of streams, where a format of streams is given one."""

from __future__ import annotations

from penstock.common.type_information import SizedDecimalTypeInfo, declared_type
from penstock.common.typeinfo import TypeInformation, Types
from penstock.graph.relational import types as t

_PLAIN: dict[type[t.LogicalType], TypeInformation] = {
    t.BooleanType: Types.BOOLEAN(),
    t.TinyIntType: Types.BYTE(),
    t.SmallIntType: Types.SHORT(),
    t.IntType: Types.INT(),
    t.BigIntType: Types.LONG(),
    t.FloatType: Types.FLOAT(),
    t.DoubleType: Types.DOUBLE(),
    t.CharType: Types.STRING(),
    t.VarCharType: Types.STRING(),
    t.BinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.VarBinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    t.DateType: Types.SQL_DATE(),
    t.TimeType: Types.SQL_TIME(),
    t.TimestampType: Types.SQL_TIMESTAMP(),
    t.LocalZonedTimestampType: Types.INSTANT(),
}


@declared_type.register(t.LogicalType)
def type_information(kind: t.LogicalType) -> TypeInformation:
    """Return the type that values of a table's column have in a stream.

    >>> type_information(t.RowType.of(("id", t.INT), ("tags", t.ArrayType(t.STRING))))
    RowTypeInfo(id: Integer, tags: ObjectArrayTypeInfo<String>)
    """
    if type(kind) in _PLAIN:
        return _PLAIN[type(kind)]
    if isinstance(kind, t.DecimalType):
        return SizedDecimalTypeInfo(kind.precision, kind.scale)
    if isinstance(kind, t.ArrayType):
        return Types.OBJECT_ARRAY(type_information(kind.element))
    if isinstance(kind, t.MapType):
        return Types.MAP(type_information(kind.key), type_information(kind.value))
    if isinstance(kind, t.MultisetType):
        return Types.MAP(type_information(kind.element), Types.INT())
    if isinstance(kind, t.RowType):
        return Types.ROW_NAMED(kind.names(), [type_information(each) for each in kind.children()])
    return Types.PICKLED_BYTE_ARRAY()
