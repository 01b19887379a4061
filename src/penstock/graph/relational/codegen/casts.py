"""Code templates for CAST, by the types on both sides; `$0` alone where nothing is to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import FunctionError
from penstock.graph.relational.types import (
    MAX_LENGTH,
    ApproximateType,
    ArrayType,
    BinaryStringType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharacterType,
    CharType,
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
    RawType,
    RowType,
    SymbolType,
    TimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter


def can_cast(source: LogicalType, target: LogicalType) -> bool:
    """Return whether CAST takes a value from one type to the other."""
    if isinstance(source, SymbolType) or isinstance(target, SymbolType):
        return False
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return True
    if isinstance(target, CharacterType):
        return not isinstance(source, RawType)
    if isinstance(source, CharacterType):
        return not isinstance(target, IntervalType | RawType) and not target.children()
    if isinstance(source, BooleanType | NumericType):
        return isinstance(target, BooleanType | NumericType)
    if isinstance(source, BinaryStringType):
        return isinstance(target, BinaryStringType)
    if isinstance(source, DatetimeType):
        return _can_cast_datetime(source, target)
    if isinstance(source, IntervalType):
        return type(source) is type(target) or isinstance(target, IntegralType)
    if isinstance(source, VariantType):
        return not target.children()
    return _can_cast_composite(source, target)


def _can_cast_datetime(source: LogicalType, target: LogicalType) -> bool:
    if isinstance(source, TimeType):
        return isinstance(target, TimeType | TimestampType | LocalZonedTimestampType)
    if isinstance(source, DateType):
        return isinstance(target, DateType | PointInTimeType)
    return isinstance(target, DatetimeType)


def _can_cast_composite(source: LogicalType, target: LogicalType) -> bool:
    if type(source) is not type(target):
        return False
    mine, others = source.children(), target.children()
    return (
        bool(mine)
        and len(mine) == len(others)
        and all(can_cast(a, b) for a, b in zip(mine, others, strict=True))
    )


def template(source: LogicalType, target: LogicalType, emitter: Emitter) -> str:
    """Return the template of a cast, for a value that is not NULL."""
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return "$0"
    if isinstance(target, BooleanType):
        return "@casts.text_to_boolean($0)" if isinstance(source, CharacterType) else "($0 != 0)"
    if isinstance(target, IntegralType):
        return _to_integer(source, target, emitter)
    if isinstance(target, ApproximateType):
        return _to_approximate(source, target)
    if isinstance(target, DecimalType):
        return _to_decimal(source, target, emitter)
    if isinstance(target, CharacterType):
        return _to_text(source, target, emitter)
    if isinstance(target, BinaryStringType):
        return _to_binary(source, target)
    if isinstance(target, DatetimeType):
        return _to_datetime(source, target, emitter)
    if isinstance(target, IntervalType):
        return "$0"
    return _to_composite(source, target, emitter)


def _to_integer(source: LogicalType, target: IntegralType, emitter: Emitter) -> str:
    if isinstance(source, IntegralType):
        return "$0" if source.bits() <= target.bits() else emitter.wrapped("$0", target)
    if isinstance(source, BooleanType):
        return "int($0)"
    if isinstance(source, CharacterType):
        return f"@casts.text_to_integer($0, {target.bits()})"
    if isinstance(source, ApproximateType):
        return f"@casts.float_to_integer($0, {target.bits()})"
    if isinstance(source, DayTimeIntervalType):
        return emitter.wrapped("@temporal.milliseconds($0)", target)
    return emitter.wrapped("int($0)", target)


def _to_approximate(source: LogicalType, target: LogicalType) -> str:
    code = "float($0)"
    if isinstance(source, CharacterType):
        code = "@casts.text_to_double($0)"
    elif isinstance(source, ApproximateType):
        code = "$0"
    narrow = isinstance(target, FloatType) and not isinstance(source, FloatType)
    return f"@numbers.float32({code})" if narrow else code


def _to_decimal(source: LogicalType, target: DecimalType, emitter: Emitter) -> str:
    word = "fitted"
    if isinstance(source, CharacterType):
        word = "from_text"
    elif isinstance(source, ApproximateType):
        word = "from_float" if isinstance(source, DoubleType) else "from_float32"
    return f"@decimals.{word}($0, {target.precision}, {emitter.quantum(target.scale)})"


def _to_text(source: LogicalType, target: CharacterType, emitter: Emitter) -> str:
    code = text_template(source, emitter)
    if isinstance(target, CharType):
        return f"@casts.padded({code}, {target.length})"
    if target.length == MAX_LENGTH:
        return code
    if isinstance(source, CharacterType) and source.length <= target.length:
        return code
    return f"{code}[:{target.length}]"


def text_template(source: LogicalType, emitter: Emitter) -> str:
    """Return the template that shows a value as text, as CAST AS STRING does."""
    if isinstance(source, CharacterType):
        return "$0"
    if isinstance(source, BooleanType):
        return "('TRUE' if $0 else 'FALSE')"
    if isinstance(source, IntegralType):
        return "str($0)"
    if isinstance(source, DecimalType):
        return "format($0, 'f')"
    if isinstance(source, FloatType):
        return "@casts.float32_text($0)"
    if isinstance(source, DoubleType):
        return "@casts.double_text($0)"
    if isinstance(source, BinaryStringType):
        return "$0.decode('utf-8', 'replace')"
    if isinstance(source, DateType):
        return "$0.isoformat()"
    if isinstance(source, TimeType):
        return f"@casts.time_text($0, {source.precision})"
    if isinstance(source, PointInTimeType):
        return f"@casts.timestamp_text($0, {source.precision}{emitter.zone_if_local(source)})"
    if isinstance(source, YearMonthIntervalType):
        return "@casts.months_text($0)"
    if isinstance(source, DayTimeIntervalType):
        return "@casts.duration_text($0)"
    if isinstance(source, ArrayType | MapType | MultisetType | RowType):
        return _composite_text(source, emitter)
    if isinstance(source, BitmapType):
        return "@bitmaps.text($0)"
    return "@json_texts.variant_text($0)" if isinstance(source, VariantType) else "str($0)"


def _composite_text(source: LogicalType, emitter: Emitter) -> str:
    inner = ", ".join(_function(text_template(t, emitter), emitter) for t in source.children())
    word = type(source).__name__.removesuffix("Type").lower()
    if isinstance(source, MultisetType):
        return f"@casts.map_text($0, {inner}, str)"
    return f"@casts.{word}_text($0, {f'({inner},)' if isinstance(source, RowType) else inner})"


def _to_binary(source: LogicalType, target: BinaryStringType) -> str:
    code = "$0.encode('utf-8')" if isinstance(source, CharacterType) else "$0"
    if isinstance(source, BitmapType):
        code = "@bitmaps.to_bytes($0)"
    if isinstance(target, BinaryType):
        return f"@casts.padded_bytes({code}, {target.length})"
    return code if target.length == MAX_LENGTH else f"{code}[:{target.length}]"


def _to_datetime(source: LogicalType, target: LogicalType, emitter: Emitter) -> str:
    if isinstance(target, DateType):
        if isinstance(source, CharacterType):
            return "@casts.text_to_date($0)"
        if isinstance(source, LocalZonedTimestampType):
            return f"$0.astimezone({emitter.zone()}).date()"
        return "$0.date()"
    if isinstance(target, TimeType):
        return _to_time(source, target, emitter)
    assert isinstance(target, PointInTimeType)
    return _to_point(source, target, emitter)


def _to_time(source: LogicalType, target: TimeType, emitter: Emitter) -> str:
    code = "$0"
    if isinstance(source, CharacterType):
        code = "@casts.text_to_time($0)"
    elif isinstance(source, LocalZonedTimestampType):
        code = f"$0.astimezone({emitter.zone()}).time()"
    elif isinstance(source, TimestampType):
        code = "$0.time()"
    finer = not isinstance(source, TimeType) or source.precision > target.precision
    return f"@temporal.cut({code}, {target.precision})" if finer else code


def _to_point(source: LogicalType, target: PointInTimeType, emitter: Emitter) -> str:
    local = isinstance(target, LocalZonedTimestampType)
    zone = f", {emitter.zone()}" if local else ""
    if isinstance(source, PointInTimeType):
        code = "$0"
        if isinstance(source, LocalZonedTimestampType) and not local:
            code = f"@temporal.local($0, {emitter.zone()})"
        elif not isinstance(source, LocalZonedTimestampType) and local:
            code = f"@temporal.instant($0{zone})"
        fine = source.precision <= target.precision or target.precision >= 6
        return code if fine else f"@temporal.cut({code}, {target.precision})"
    if isinstance(source, CharacterType):
        code = f"@temporal.cut(@casts.text_to_timestamp($0), {target.precision})"
    elif isinstance(source, DateType):
        code = "@temporal.start_of($0)"
    else:
        code = "@temporal.on_first_day($0)"
    return f"@temporal.instant({code}{zone})" if local else code


def _to_composite(source: LogicalType, target: LogicalType, emitter: Emitter) -> str:
    pairs = list(zip(source.children(), target.children(), strict=False))
    if not pairs or type(source) is not type(target):
        raise FunctionError(f"CAST from {source} to {target} has no code")
    inner = [template(a, b, emitter) for a, b in pairs]
    if all(code == "$0" for code in inner):
        return "$0"
    names = [_function(code, emitter) for code in inner]
    if isinstance(source, ArrayType):
        return f"@casts.each($0, {names[0]})"
    if isinstance(source, MapType):
        return f"@casts.each_entry($0, {', '.join(names)})"
    if isinstance(source, MultisetType):
        return f"@casts.each_entry($0, {names[0]}, int)"
    return f"@casts.each_field($0, ({', '.join(names)},))"


def _function(code: str, emitter: Emitter) -> str:
    """Return a name for the template as a function that leaves NULL alone."""
    body = emitter.filled(code, ["x"])
    return emitter.hoist(f"lambda x: None if x is None else {body}")
