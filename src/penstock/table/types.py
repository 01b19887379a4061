"""Data types of tables: PyFlink's `pyflink.table.types`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.types import Row, RowKind
from penstock.errors import ConfigurationError
from penstock.graph.relational import stream_types as _stream_types  # noqa: F401
from penstock.graph.relational import types as t

# The import of `stream_types` lets formats of streams take these types too.
DataType = t.LogicalType
RowField = t.RowField


class Resolution:
    """A unit of an interval type, as `DataTypes.DAY(2)` gives it."""

    def __init__(self, unit: str, precision: int = -1) -> None:
        self.unit = unit
        self.precision = precision


class DataTypes:
    """Makes data types.

    >>> DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT(False))]).as_summary_string()
    'ROW<`id` BIGINT NOT NULL>'
    """

    @staticmethod
    def NULL() -> t.NullType:
        """Return the type of a bare NULL."""
        return t.NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> t.CharType:
        """Return texts of a fixed length."""
        return t.CharType(_between(length, 1, t.MAX_LENGTH, "CHAR"), is_nullable=nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> t.VarCharType:
        """Return texts of at most a length."""
        return t.VarCharType(_between(length, 1, t.MAX_LENGTH, "VARCHAR"), is_nullable=nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> t.VarCharType:
        """Return texts of any length."""
        return t.VarCharType(t.MAX_LENGTH, is_nullable=nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> t.BooleanType:
        """Return truth values."""
        return t.BooleanType(is_nullable=nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> t.BinaryType:
        """Return bytes of a fixed length."""
        return t.BinaryType(_between(length, 1, t.MAX_LENGTH, "BINARY"), is_nullable=nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> t.VarBinaryType:
        """Return at most a number of bytes."""
        return t.VarBinaryType(_between(length, 1, t.MAX_LENGTH, "VARBINARY"), is_nullable=nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> t.VarBinaryType:
        """Return any number of bytes."""
        return t.VarBinaryType(t.MAX_LENGTH, is_nullable=nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> t.DecimalType:
        """Return numbers with so many digits, `scale` of them after the point."""
        digits = _between(precision, 1, t.MAX_DECIMAL_PRECISION, "DECIMAL")
        return t.DecimalType(digits, _between(scale, 0, precision, "DECIMAL"), is_nullable=nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> t.TinyIntType:
        """Return whole numbers of 8 bits."""
        return t.TinyIntType(is_nullable=nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> t.SmallIntType:
        """Return whole numbers of 16 bits."""
        return t.SmallIntType(is_nullable=nullable)

    @staticmethod
    def INT(nullable: bool = True) -> t.IntType:
        """Return whole numbers of 32 bits."""
        return t.IntType(is_nullable=nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> t.BigIntType:
        """Return whole numbers of 64 bits."""
        return t.BigIntType(is_nullable=nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> t.FloatType:
        """Return floating-point numbers of 32 bits."""
        return t.FloatType(is_nullable=nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> t.DoubleType:
        """Return floating-point numbers of 64 bits."""
        return t.DoubleType(is_nullable=nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> t.DateType:
        """Return days."""
        return t.DateType(is_nullable=nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> t.TimeType:
        """Return times of day."""
        return t.TimeType(_between(precision, 0, 9, "TIME"), is_nullable=nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> t.TimestampType:
        """Return timestamps without a zone."""
        return t.TimestampType(_between(precision, 0, 9, "TIMESTAMP"), is_nullable=nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(
        precision: int = 6, nullable: bool = True
    ) -> t.LocalZonedTimestampType:
        """Return points in time."""
        digits = _between(precision, 0, 9, "TIMESTAMP_LTZ")
        return t.LocalZonedTimestampType(digits, is_nullable=nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> t.LocalZonedTimestampType:
        """Return points in time."""
        return DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> t.ArrayType:
        """Return lists of elements."""
        return t.ArrayType(element_type, is_nullable=nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> t.ArrayType:
        """Return the type of a `ListView` in an accumulator."""
        return t.ArrayType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> t.MapType:
        """Return values by key."""
        return t.MapType(key_type, value_type, is_nullable=nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> t.MapType:
        """Return the type of a `MapView` in an accumulator."""
        return t.MapType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> t.MultisetType:
        """Return elements with their counts."""
        return t.MultisetType(element_type, is_nullable=nullable)

    @staticmethod
    def ROW(row_fields: Sequence[RowField] | None = None, nullable: bool = True) -> t.RowType:
        """Return rows of fields, each made by `FIELD`; types alone get the names f0, f1 ..."""
        fields = [
            field if isinstance(field, RowField) else RowField(f"f{i}", field)
            for i, field in enumerate(row_fields or ())
        ]
        return t.RowType(tuple(fields), is_nullable=nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """Return a field of a ROW."""
        return RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        """Return the unit SECOND of an interval."""
        return Resolution("SECOND", precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Return the unit MINUTE of an interval."""
        return Resolution("MINUTE")

    @staticmethod
    def HOUR() -> Resolution:
        """Return the unit HOUR of an interval."""
        return Resolution("HOUR")

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        """Return the unit DAY of an interval."""
        return Resolution("DAY", precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Return the unit MONTH of an interval."""
        return Resolution("MONTH")

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        """Return the unit YEAR of an interval."""
        return Resolution("YEAR", precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> t.IntervalType:
        """Return intervals of a unit, or from a unit down to another."""
        units = [upper_resolution, *([lower_resolution] if lower_resolution else [])]
        words = " TO ".join(unit.unit for unit in units)
        digits = {unit.unit: unit.precision for unit in units}
        if digits.keys() <= {"YEAR", "MONTH"}:
            return t.YearMonthIntervalType(words, digits.get("YEAR", 2))
        if digits.keys() & {"YEAR", "MONTH"}:
            raise ConfigurationError(
                "an interval is of years and months, or of days and less", got=words
            )
        return t.DayTimeIntervalType(words, digits.get("DAY", 2), digits.get("SECOND", 6))


def _between(value: int, low: int, high: int, name: str) -> int:
    if not low <= value <= high:
        raise ConfigurationError(f"{name} takes a number from {low} to {high}", got=str(value))
    return value


class UserDefinedType:
    """A Python class of the user's as a data type: how it is written as another type and read.

    :meth:`sql_type` tells the type that stands in the table; a value of the class is given
    to `serialize` on the way in, and `deserialize` makes it again.
    """

    @classmethod
    def type_name(cls) -> str:
        """Return the type's name."""
        return cls.__name__.removesuffix("Type").lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """Return the data type that stands for this one."""
        raise ConfigurationError(f"{cls.__name__} does not say its sql_type()")

    @classmethod
    def module(cls) -> str:
        """Return the module that the type is in."""
        return cls.__module__

    @classmethod
    def java_udt(cls) -> str:
        """Return the name of a twin in Java; there is none."""
        return ""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    def nullable(self) -> UserDefinedType:
        """Return the type for values that may be NULL."""
        return type(self)(True)

    def not_null(self) -> UserDefinedType:
        """Return the type for values that are never NULL."""
        return type(self)(False)

    def bridged_to(self, conversion_cls: Any) -> UserDefinedType:
        """Return the type itself."""
        return self

    def need_conversion(self) -> bool:
        """Return whether values are converted: always."""
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """Return the value that stands in the table."""
        return None if obj is None else self.serialize(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """Return the value that users see."""
        return None if obj is None else self.deserialize(obj)

    def serialize(self, obj: Any) -> Any:
        """Write a value of the user's class as one of `sql_type`."""
        raise ConfigurationError(f"{type(self).__name__} does not write serialize()")

    def deserialize(self, datum: Any) -> Any:
        """Read a value of the user's class from one of `sql_type`."""
        raise ConfigurationError(f"{type(self).__name__} does not write deserialize()")


__all__ = ["DataType", "DataTypes", "Row", "RowField", "RowKind", "UserDefinedType"]
