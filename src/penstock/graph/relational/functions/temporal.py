"""Temporal functions: parts, rounding, formats and the current time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.graph.relational.expressions import Call, Cast, Expr, Literal, cast, symbol
from penstock.graph.relational.functions.function import Function, Rewrite, scalar
from penstock.graph.relational.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    CharacterType,
    DatetimeType,
    DateType,
    IntervalType,
    LocalZonedTimestampType,
    LogicalType,
    PointInTimeType,
    TimeAttribute,
    TimestampType,
    TimeType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter

_TIMESTAMP_LTZ = LocalZonedTimestampType(3)
_SHORT_UNITS = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND")


def _unit(expr: Expr) -> str:
    assert isinstance(expr, Literal)
    return str(expr.value).upper()


def _extract_code(call: Call, emitter: Emitter) -> str:
    value = call.args[1]
    return f"@temporal.extract($0, $1{emitter.zone_if_local(value.type)})"


def _part(unit: str) -> Callable[[tuple[Expr, ...]], Expr | None]:
    """Return the rewrite of YEAR(d) and its kin to EXTRACT."""

    def rewrite(args: tuple[Expr, ...]) -> Expr | None:
        if len(args) != 1 or not isinstance(args[0].type, DatetimeType):
            return None
        return Call(
            "EXTRACT", (symbol(unit), args[0]), BIGINT.with_nullability(args[0].type.is_nullable)
        )

    return rewrite


def _part_row(name: str, unit: str, doc: str) -> Rewrite:
    return Rewrite(name, (f"{name}(DATETIME)",), _part(unit), doc)


def _now(template: str) -> Callable[[Call, Emitter], str]:
    """Return the rule of a function of the current time, in the session's zone if it asks."""

    def code(call: Call, emitter: Emitter) -> str:
        moment = f"@temporal.from_millis({emitter.need('now')})"
        return template.replace("NOW", moment).replace("ZONE", emitter.zone())

    return code


def _add_result(args: tuple[Expr, ...]) -> LogicalType:
    unit, target = _unit(args[0]), args[2].type
    if isinstance(target, DateType) and any(unit.endswith(word) for word in _SHORT_UNITS):
        return TimestampType(6)
    if isinstance(target, PointInTimeType):
        return target.as_attribute(TimeAttribute.NONE)
    return target


def _add_code(call: Call, emitter: Emitter) -> str:
    moment = call.args[2].type
    start = (
        "@temporal.start_of($2)"
        if isinstance(moment, DateType) and isinstance(call.type, TimestampType)
        else "$2"
    )
    if isinstance(moment, LocalZonedTimestampType):
        zone = emitter.zone()
        return (
            f"@temporal.instant(@temporal.add_units(@temporal.local($2, {zone}), $0, $1), {zone})"
        )
    return f"@temporal.add_units({start}, $0, $1)"


def _difference_result(args: tuple[Expr, ...]) -> LogicalType | None:
    times = [arg.type for arg in args[1:]]
    return None if any(isinstance(t, TimeType) for t in times) else INT


def _difference_code(call: Call, emitter: Emitter) -> str:
    parts = []
    for i in (1, 2):
        local = isinstance(call.args[i].type, LocalZonedTimestampType)
        parts.append(f"@temporal.local(${i}, {emitter.zone()})" if local else f"${i}")
    return emitter.wrapped(f"@temporal.difference($0, {parts[0]}, {parts[1]})", INT)


def _format_code(call: Call, emitter: Emitter) -> str:
    t = call.args[0].type
    if isinstance(t, CharacterType):
        return "@date_texts.rewrite($0, $1)"
    return f"@date_texts.write($0, $1{emitter.zone_if_local(t)})"


def _unix_code(call: Call, emitter: Emitter) -> str:
    if not call.args:
        return f"{emitter.need('now')} // 1000"
    rest = ", $1" if len(call.args) == 2 else ""
    return f"@date_texts.to_unix($0, {emitter.zone()}{rest})"


def _from_unix_code(call: Call, emitter: Emitter) -> str:
    rest = ", $1" if len(call.args) == 2 else ""
    return f"@date_texts.from_unix($0, {emitter.zone()}{rest})"


def _read_code(call: Call, emitter: Emitter) -> str:
    if len(call.args) == 1:
        return "@temporal.cut(@date_texts.read_plain($0), 3)"
    return "@temporal.cut(@date_texts.read($0, $1), 3)"


def _ltz_code(call: Call, emitter: Emitter) -> str:
    if isinstance(call.args[0].type, CharacterType):
        rest = "".join(f", ${i}" for i in range(1, len(call.args)))
        # Without a zone of its own a text is of UTC, not of the session's.
        return f"@date_texts.read_local($0, @temporal.UTC{rest})"
    return f"@date_texts.from_epoch($0, {'$1' if len(call.args) == 2 else '3'})"


def _watermark_result(args: tuple[Expr, ...]) -> LogicalType | None:
    t = args[0].type
    if not isinstance(t, PointInTimeType):
        return None
    return type(t)(3)


def _watermark_code(call: Call, emitter: Emitter) -> str:
    local = isinstance(call.type, LocalZonedTimestampType)
    word = "from_millis" if local else "timestamp_from_millis"
    name = emitter.need("watermark")
    return f"(None if {name} is None else @temporal.{word}({name}))"


def _overlaps_result(args: tuple[Expr, ...]) -> LogicalType | None:
    starts = isinstance(args[0].type, DatetimeType) and isinstance(args[2].type, DatetimeType)
    ends = all(isinstance(args[i].type, DatetimeType | IntervalType) for i in (1, 3))
    return BOOLEAN if starts and ends else None


def _to_type(target: LogicalType) -> Callable[[tuple[Expr, ...]], Expr | None]:
    def rewrite(args: tuple[Expr, ...]) -> Expr | None:
        if len(args) != 1 or not isinstance(args[0].type, CharacterType):
            return None
        converted = cast(args[0], target)
        return converted if isinstance(converted, Cast | Literal) else None

    return rewrite


_POINT = "TIMESTAMP or TIMESTAMP_LTZ"
_READ = {"nulls": "maybe"}
_CURRENT = {"deterministic": False}

FUNCTIONS: list[Function | Rewrite] = [
    scalar(
        "LOCALTIME",
        "",
        TimeType(0),
        _now("@temporal.cut(NOW.astimezone(ZONE).time(), 0)"),
        "The time of day in the session's zone.",
        aliases=("CURRENT_TIME",),
        **_CURRENT,
    ),
    scalar(
        "LOCALTIMESTAMP",
        "",
        TimestampType(3),
        _now("@temporal.local(NOW, ZONE)"),
        "The time in the session's zone.",
        **_CURRENT,
    ),
    scalar(
        "CURRENT_DATE",
        "",
        DATE,
        _now("NOW.astimezone(ZONE).date()"),
        "The day in the session's zone.",
        **_CURRENT,
    ),
    scalar(
        "CURRENT_TIMESTAMP",
        "",
        _TIMESTAMP_LTZ,
        _now("NOW"),
        "The point in time.",
        aliases=("NOW", "CURRENT_ROW_TIMESTAMP"),
        **_CURRENT,
    ),
    scalar(
        "PROCTIME",
        "",
        LocalZonedTimestampType(3, attribute=TimeAttribute.PROCTIME),
        _now("NOW"),
        "The processing time, as a time attribute.",
        **_CURRENT,
    ),
    scalar(
        "EXTRACT",
        ("symbol, datetime", "symbol, interval"),
        BIGINT,
        _extract_code,
        "A part of a date, time or interval.",
    ),
    _part_row("YEAR", "YEAR", "The year."),
    _part_row("QUARTER", "QUARTER", "The quarter, 1 to 4."),
    _part_row("MONTH", "MONTH", "The month, 1 to 12."),
    _part_row("WEEK", "WEEK", "The week of the year, by ISO."),
    _part_row("DAYOFYEAR", "DOY", "The day of the year."),
    _part_row("DAYOFMONTH", "DAY", "The day of the month."),
    _part_row("DAYOFWEEK", "DOW", "The day of the week; Sunday is 1."),
    _part_row("HOUR", "HOUR", "The hour."),
    _part_row("MINUTE", "MINUTE", "The minute."),
    _part_row("SECOND", "SECOND", "The second."),
    scalar(
        "OVERLAPS",
        "any, any, any, any",
        _overlaps_result,
        "@temporal.overlaps($*)",
        "Whether two periods overlap.",
    ),
    scalar(
        "DATE_FORMAT",
        ("point, string", "date, string", "string, string"),
        STRING,
        _format_code,
        f"A {_POINT} written by a pattern of Java's.",
        **_READ,
    ),
    scalar(
        "TIMESTAMPADD",
        "symbol, integral, datetime",
        _add_result,
        _add_code,
        "Some units of time later.",
    ),
    scalar(
        "TIMESTAMPDIFF",
        "symbol, datetime, datetime",
        _difference_result,
        _difference_code,
        "How many units of time lie between.",
    ),
    scalar(
        "CONVERT_TZ",
        "string, string, string",
        STRING,
        "@date_texts.convert($*)",
        "A time of one zone in another.",
        **_READ,
    ),
    scalar(
        "FROM_UNIXTIME",
        "bigint [, string]",
        STRING,
        _from_unix_code,
        "Seconds since 1970 as text.",
        **_READ,
    ),
    scalar(
        "UNIX_TIMESTAMP",
        ("", "string [, string]"),
        BIGINT,
        _unix_code,
        "Seconds since 1970.",
        **_CURRENT,
    ),
    scalar(
        "TO_DATE",
        "string [, string]",
        DATE,
        "@date_texts.read_date($*)",
        "A day read by a pattern.",
        **_READ,
    ),
    scalar(
        "TO_TIMESTAMP",
        "string [, string]",
        TimestampType(3),
        _read_code,
        "A timestamp read by a pattern.",
        **_READ,
    ),
    scalar(
        "TO_TIMESTAMP_LTZ",
        ("numeric [, int]", "string [, string] [, string]"),
        _TIMESTAMP_LTZ,
        _ltz_code,
        "A point in time from a number or a text.",
        **_READ,
    ),
    scalar(
        "CURRENT_WATERMARK",
        "point",
        _watermark_result,
        _watermark_code,
        "The watermark, or NULL before the first.",
        nulls="own",
        **_CURRENT,
    ),
    scalar(
        "SOURCE_WATERMARK",
        "",
        _TIMESTAMP_LTZ,
        "None",
        "Stands for the source's own watermark in WATERMARK FOR.",
        nulls="own",
        **_CURRENT,
    ),
    Rewrite("DATE", ("DATE 'yyyy-MM-dd'",), _to_type(DATE), "A day."),
    Rewrite("TIME", ("TIME 'HH:mm:ss'",), _to_type(TimeType(0)), "A time of day."),
    Rewrite(
        "TIMESTAMP",
        ("TIMESTAMP 'yyyy-MM-dd HH:mm:ss'",),
        _to_type(TimestampType(3)),
        "A timestamp.",
    ),
]
