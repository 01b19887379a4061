"""Which type several types have in common, what becomes what by itself, and decimal results.

The rules are Flink's. All functions look at types only; nullability of a result is the
disjunction of the operands' unless a docstring says otherwise.

>>> from penstock.graph.relational.types import IntType
>>> common_type([IntType(), DecimalType(4, 2)]).as_summary_string()
'DECIMAL(12, 2)'
>>> arithmetic_type("/", DecimalType(10, 2), IntType()).as_summary_string()
'DECIMAL(21, 13)'
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.graph.relational.types import (
    DOUBLE,
    MAX_DECIMAL_PRECISION,
    ApproximateType,
    ArrayType,
    BinaryStringType,
    BooleanType,
    CharacterType,
    DatetimeType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    IntervalType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    PointInTimeType,
    RowField,
    RowType,
    SymbolType,
    TimeAttribute,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)

_MINIMUM_ADJUSTED_SCALE = 6


def any_nullable(types: Iterable[LogicalType]) -> bool:
    """Return whether one of the types is nullable."""
    return any(t.is_nullable for t in types)


def as_decimal(t: LogicalType) -> DecimalType:
    """Return the DECIMAL that holds every value of an exact number's type."""
    if isinstance(t, DecimalType):
        return t
    if isinstance(t, IntegralType):
        return DecimalType(t.digits(), 0, is_nullable=t.is_nullable)
    raise TypeError(f"{t} is no exact number")


def adjusted_decimal(precision: int, scale: int) -> DecimalType:
    """Return the DECIMAL with these digits; too many cost digits after the point first."""
    if precision <= MAX_DECIMAL_PRECISION:
        return DecimalType(precision, scale)
    kept = min(scale, _MINIMUM_ADJUSTED_SCALE)
    return DecimalType(
        MAX_DECIMAL_PRECISION, max(MAX_DECIMAL_PRECISION - (precision - scale), kept)
    )


def decimal_result(operator: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """Return the type of `left operator right`, for + - * / and %."""
    whole = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    if operator in ("+", "-"):
        return adjusted_decimal(max(whole) + scale + 1, scale)
    if operator == "*":
        return adjusted_decimal(left.precision + right.precision + 1, left.scale + right.scale)
    if operator == "/":
        scale = max(_MINIMUM_ADJUSTED_SCALE, left.scale + right.precision + 1)
        return adjusted_decimal(whole[0] + right.scale + scale, scale)
    if operator == "%":
        return adjusted_decimal(min(whole) + scale, scale)
    raise ValueError(f"no decimal operator: {operator}")


def rounded_decimal(t: DecimalType, digits: int) -> DecimalType:
    """Return the type of ROUND(t, digits)."""
    if digits >= t.scale:
        return t
    if digits < 0:
        return DecimalType(min(MAX_DECIMAL_PRECISION, 1 + t.precision - t.scale), 0)
    return DecimalType(1 + t.precision - t.scale + digits, digits)


def arithmetic_type(operator: str, left: LogicalType, right: LogicalType) -> LogicalType | None:
    """Return the type of `left operator right` for two numbers, or None if they are not."""
    if not (isinstance(left, NumericType) and isinstance(right, NumericType)):
        return None
    nullable = left.is_nullable or right.is_nullable
    if isinstance(left, ApproximateType) or isinstance(right, ApproximateType):
        common = common_type([left, right])
        return None if common is None else common.with_nullability(nullable)
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        result: LogicalType = decimal_result(operator, as_decimal(left), as_decimal(right))
        return result.with_nullability(nullable)
    if operator == "%":
        # The remainder is never wider than the divisor.
        return right.with_nullability(nullable)
    return common_type([left, right])


def common_type(types: Iterable[LogicalType]) -> LogicalType | None:
    """Return the type that values of all these types can take, or None if there is none."""
    given = list(types)
    nullable = any_nullable(given) or any(isinstance(t, NullType) for t in given)
    known = [t for t in given if not isinstance(t, NullType)]
    if not known:
        return given[0] if given else None
    result: LogicalType | None = known[0]
    for t in known[1:]:
        result = None if result is None else _common(result, t)
    return None if result is None else result.with_nullability(nullable)


def _common(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if left.not_null() == right.not_null():
        return left
    if isinstance(left, NumericType) and isinstance(right, NumericType):
        return _common_number(left, right)
    if isinstance(left, CharacterType) and isinstance(right, CharacterType):
        # Texts of two fixed lengths have no fixed length: nothing is padded.
        return VarCharType(max(left.length, right.length))
    if isinstance(left, BinaryStringType) and isinstance(right, BinaryStringType):
        return VarBinaryType(max(left.length, right.length))
    if isinstance(left, DatetimeType) and isinstance(right, DatetimeType):
        return _common_datetime(left, right)
    if isinstance(left, IntervalType) and isinstance(right, IntervalType):
        return _common_interval(left, right)
    return _common_composite(left, right)


def _common_number(left: NumericType, right: NumericType) -> LogicalType:
    if isinstance(left, ApproximateType) and isinstance(right, ApproximateType):
        # The first decides: FLOAT * DOUBLE is FLOAT, as in Flink.
        return left
    if isinstance(left, ApproximateType) or isinstance(right, ApproximateType):
        # A FLOAT has too few digits for a DECIMAL.
        double = {DoubleType, DecimalType} & {type(left), type(right)}
        return DOUBLE if double else FloatType()
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return left if left.bits() >= right.bits() else right
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return DecimalType(min(whole + scale, MAX_DECIMAL_PRECISION), scale)


def _common_datetime(left: DatetimeType, right: DatetimeType) -> LogicalType | None:
    if isinstance(left, TimeType) or isinstance(right, TimeType):
        if isinstance(left, TimeType) and isinstance(right, TimeType):
            return TimeType(max(left.precision, right.precision))
        return None
    precision = max(t.precision for t in (left, right) if isinstance(t, PointInTimeType))
    zoned = any(isinstance(t, LocalZonedTimestampType) for t in (left, right))
    same = (
        isinstance(left, PointInTimeType)
        and isinstance(right, PointInTimeType)
        and type(left) is type(right)
        and left.attribute is right.attribute
    )
    kept = left.attribute if same and isinstance(left, PointInTimeType) else TimeAttribute.NONE
    return (LocalZonedTimestampType if zoned else TimestampType)(precision, attribute=kept)


def _common_interval(left: IntervalType, right: IntervalType) -> LogicalType | None:
    if type(left) is not type(right):
        return None
    if isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType):
        if left.resolution == right.resolution == "SECOND":
            digits = max(left.fractional_precision, right.fractional_precision)
            return DayTimeIntervalType("SECOND", fractional_precision=digits)
        return DayTimeIntervalType(
            day_precision=max(left.day_precision, right.day_precision),
            fractional_precision=max(left.fractional_precision, right.fractional_precision),
        )
    return YearMonthIntervalType()


def _common_composite(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if isinstance(left, ArrayType | MultisetType) and type(left) is type(right):
        element = common_type([*left.children(), *right.children()])
        return None if element is None else type(left)(element)
    if isinstance(left, MapType) and isinstance(right, MapType):
        key, value = common_type([left.key, right.key]), common_type([left.value, right.value])
        return None if key is None or value is None else MapType(key, value)
    if isinstance(left, RowType) and isinstance(right, RowType):
        if len(left.fields) != len(right.fields):
            return None
        fields = []
        for a, b in zip(left.fields, right.fields, strict=True):
            t = common_type([a.type, b.type])
            if t is None:
                return None
            fields.append(RowField(a.name, t))
        return RowType(tuple(fields))
    return None


def comparable(left: LogicalType, right: LogicalType) -> LogicalType | None:
    """Return the type in which two values are compared, or None if they cannot be.

    A text beside a number, time or boolean is read as that.
    """
    common = common_type([left, right])
    if common is not None:
        return common
    for text, other in ((left, right), (right, left)):
        if isinstance(text, CharacterType):
            if isinstance(other, IntegralType | DecimalType):
                return DecimalType(38, 18) if isinstance(other, DecimalType) else other
            if isinstance(other, ApproximateType | DatetimeType | BooleanType):
                return other.nullable()
    return None


def can_cast_implicitly(source: LogicalType, target: LogicalType) -> bool:
    """Return whether a value of one type is taken where the other is asked for."""
    if isinstance(source, NullType):
        return True
    if isinstance(source, SymbolType) or isinstance(target, SymbolType):
        return type(source) is type(target)
    if type(source) is type(target) and not source.children():
        return True
    if isinstance(source, IntegralType) and isinstance(target, IntegralType):
        return source.bits() <= target.bits()
    if isinstance(source, NumericType) and isinstance(target, NumericType):
        order = (IntegralType, DecimalType, FloatType, DoubleType)
        rank = [next(i for i, c in enumerate(order) if isinstance(t, c)) for t in (source, target)]
        return rank[0] <= rank[1]
    if isinstance(source, CharacterType):
        return isinstance(target, CharacterType)
    if isinstance(source, BinaryStringType):
        return isinstance(target, BinaryStringType)
    if isinstance(source, DateType | PointInTimeType):
        return isinstance(target, PointInTimeType)
    if isinstance(source, IntervalType):
        return isinstance(target, IntervalType) and type(source) is type(target)
    return _common_composite(source, target) is not None


def sum_type(t: LogicalType) -> LogicalType | None:
    """Return the type of SUM over values of a type."""
    if isinstance(t, DecimalType):
        return DecimalType(MAX_DECIMAL_PRECISION, t.scale)
    return t.nullable() if isinstance(t, NumericType) else None


def avg_type(t: LogicalType) -> LogicalType | None:
    """Return the type of AVG over values of a type."""
    if isinstance(t, DecimalType):
        return DecimalType(MAX_DECIMAL_PRECISION, max(_MINIMUM_ADJUSTED_SCALE, t.scale))
    return t.nullable() if isinstance(t, NumericType) else None
