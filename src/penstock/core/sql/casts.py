"""CAST: texts to values and values to texts, as Flink reads and writes them."""

from __future__ import annotations

import datetime
import math
import re
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.core.sql.numbers import wrap
from penstock.errors import EvaluationError

_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}
_INTEGER = re.compile(r"([+-]?)(\d+)(?:\.\d*)?")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[dDfF]?")
_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?")


def _refused(text: str, kind: str) -> EvaluationError:
    return EvaluationError(f"'{text}' is no {kind}", todo="use TRY_CAST to get NULL for such texts")


def attempt(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function with NULL for values that it refuses: TRY_CAST."""

    def call(value: Any) -> Any:
        try:
            return function(value)
        except (EvaluationError, ArithmeticError, ValueError, TypeError):
            return None

    return call


def boolean_or_null(value: Any) -> bool | None:
    """Return a user's truth value as one of three."""
    return None if value is None else bool(value)


def text_to_boolean(text: str) -> bool:
    """Read TRUE or FALSE."""
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise _refused(text, "BOOLEAN")


def text_to_integer(text: str, bits: int) -> int:
    """Read a whole number; digits after a point are cut off."""
    match = _INTEGER.fullmatch(text.strip())
    value = 0 if match is None else int(match[1] + match[2])
    if match is None or wrap(value, bits) != value:
        raise _refused(text, {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits])
    return value


def text_to_double(text: str) -> float:
    """Read a floating-point number as Java does."""
    trimmed = text.strip()
    if not _DOUBLE.fullmatch(trimmed):
        raise _refused(text, "DOUBLE")
    return float(trimmed.rstrip("dDfF") if trimmed[-1:] in "dDfF" else trimmed)


def float_to_integer(value: float, bits: int) -> int:
    """Cut off towards zero; what is too large becomes the largest, as in Java."""
    if value != value:
        return 0
    wide = max(bits, 32)
    half = 1 << (wide - 1)
    if math.isinf(value):
        whole = half - 1 if value > 0 else -half
    else:
        whole = min(max(int(value), -half), half - 1)
    return wrap(whole, bits)


def padded(text: str, length: int) -> str:
    """Return a text of exactly this length."""
    return text[:length].ljust(length)


def padded_bytes(data: bytes, length: int) -> bytes:
    """Return bytes of exactly this length."""
    return data[:length].ljust(length, b"\0")


def double_text(value: float) -> str:
    """Show a DOUBLE as Java does: 1.0, 1.0E10, 1.0E-5."""
    return _java_text(value, repr(value))


def float32_text(value: float) -> str:
    """Show a FLOAT as Java does, with the fewest digits that tell it from others."""
    if math.isfinite(value):
        for digits in range(1, 10):
            text = f"{value:.{digits}g}"
            if struct.pack("f", float(text)) == struct.pack("f", value):
                return _java_text(value, text)
    return _java_text(value, repr(value))


def _java_text(value: float, shortest: str) -> str:
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    number = Decimal(shortest)
    exponent = number.adjusted()
    if -3 <= exponent < 7:
        text = format(number.normalize(), "f")
        return text if "." in text else text + ".0"
    digits = "".join(map(str, number.normalize().as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def text_to_date(text: str) -> datetime.date:
    """Read yyyy-MM-dd."""
    # A time of day behind the date is read over, as Flink does.
    day = text.strip().partition(" ")[0]
    match = _DATE.fullmatch(day)
    if match is not None:
        try:
            return datetime.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
        except ValueError:
            pass
    raise _refused(text, "DATE")


def text_to_time(text: str) -> datetime.time:
    """Read HH:mm:ss, with a fraction or without."""
    match = _TIME.fullmatch(text.strip())
    if match is not None:
        try:
            micros = int(f"{(match[4] or ''):0<6}"[:6])
            return datetime.time(int(match[1]), int(match[2] or 0), int(match[3] or 0), micros)
        except ValueError:
            pass
    raise _refused(text, "TIME")


def text_to_timestamp(text: str) -> datetime.datetime:
    """Read yyyy-MM-dd HH:mm:ss, with a fraction or without, or a date alone."""
    day, _, time = text.strip().partition(" ")
    try:
        moment = text_to_time(time) if time else datetime.time()
        return datetime.datetime.combine(text_to_date(day), moment)
    except EvaluationError:
        raise _refused(text, "TIMESTAMP") from None


def time_text(value: datetime.time, precision: int) -> str:
    """Show a time of day."""
    text = value.strftime("%H:%M:%S")
    return f"{text}.{value.microsecond:06d}{'0' * 3}"[: 9 + precision] if precision else text


def timestamp_text(
    value: datetime.datetime, precision: int, zone: datetime.tzinfo | None = None
) -> str:
    """Show a timestamp with the digits of its precision, in a zone if it has one."""
    local = value if zone is None else value.astimezone(zone)
    text = f"{local.year:04d}-{local:%m-%d %H:%M:%S}"
    return f"{text}.{local.microsecond:06d}{'0' * 3}"[: 20 + precision] if precision else text


def months_text(months: int) -> str:
    """Show an interval of months: +1-02."""
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{years}-{rest:02d}"


def duration_text(value: datetime.timedelta) -> str:
    """Show an interval of time: +1 02:03:04.005."""
    millis = abs(value) // datetime.timedelta(milliseconds=1)
    days, millis = divmod(millis, 86_400_000)
    hours, millis = divmod(millis, 3_600_000)
    minutes, millis = divmod(millis, 60_000)
    sign = "-" if value < datetime.timedelta() else "+"
    return f"{sign}{days} {hours:02d}:{minutes:02d}:{millis // 1000:02d}.{millis % 1000:03d}"


def _shown(function: Callable[[Any], str | None], value: Any) -> str:
    text = function(value)
    return "NULL" if text is None else text


def array_text(value: Sequence[Any], element: Callable[[Any], str | None]) -> str:
    """Show an array: [1, 2]."""
    return f"[{', '.join(_shown(element, item) for item in value)}]"


def map_text(
    value: dict[Any, Any], key: Callable[[Any], str | None], item: Callable[[Any], str | None]
) -> str:
    """Show a map: {a=1, b=2}."""
    return f"{{{', '.join(f'{_shown(key, k)}={_shown(item, v)}' for k, v in value.items())}}}"


def row_text(value: Sequence[Any], fields: Sequence[Callable[[Any], str | None]]) -> str:
    """Show a row: (1, a)."""
    return f"({', '.join(_shown(f, item) for f, item in zip(fields, value, strict=True))})"


def each(value: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
    """Cast the elements of an array."""
    return [function(item) for item in value]


def each_entry(
    value: dict[Any, Any], key: Callable[[Any], Any], item: Callable[[Any], Any]
) -> dict[Any, Any]:
    """Cast the keys and values of a map."""
    return {key(k): item(v) for k, v in value.items()}


def each_field(value: Sequence[Any], fields: Sequence[Callable[[Any], Any]]) -> tuple[Any, ...]:
    """Cast the fields of a row."""
    return tuple(f(item) for f, item in zip(fields, value, strict=True))


def is_decimal(text: str | None) -> bool:
    """Return whether a text is a number. NULLs are seen."""
    if text is None:
        return False
    try:
        return Decimal(text.strip()).is_finite() and "_" not in text
    except InvalidOperation:
        return False
