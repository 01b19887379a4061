"""Numbers as Java computes with them: integers that wrap, floats that know no exceptions."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from penstock.core.sql.decimals import CONTEXT
from penstock.errors import EvaluationError

PI = math.pi
E = math.e
_FLOAT = struct.Struct("f")
_NAN = math.nan


def wrap(value: int, bits: int) -> int:
    """Return the value that an integer of so many bits holds after an overflow."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def float32(value: float) -> float:
    """Return the nearest number that 32 bits can hold."""
    try:
        return _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def float32_or_null(value: float | None) -> float | None:
    """Return what a user's function gave as a FLOAT; NULL stays."""
    return None if value is None else float32(value)


def _no_division() -> EvaluationError:
    return EvaluationError(
        "Division by zero", todo="test the divisor, for instance with NULLIF(divisor, 0)"
    )


def truncated(dividend: int, divisor: int) -> int:
    """Divide and cut off towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend >= 0) == (divisor > 0) else -quotient


def quotient(dividend: int, divisor: int, bits: int) -> int:
    """Divide integers as Java does."""
    if divisor == 0:
        raise _no_division()
    return wrap(truncated(dividend, divisor), bits)


def remainder(dividend: int, divisor: int) -> int:
    """Return the remainder; its sign is the dividend's."""
    if divisor == 0:
        raise _no_division()
    rest = abs(dividend) % abs(divisor)
    return rest if dividend >= 0 else -rest


def ratio(dividend: float, divisor: float) -> float:
    """Divide floats; by zero gives an infinity or NaN."""
    dividend, divisor = float(dividend), float(divisor)
    if divisor:
        return dividend / divisor
    if dividend == 0 or dividend != dividend:
        return _NAN
    return math.copysign(math.inf, dividend) * math.copysign(1, divisor)


def float_remainder(dividend: float, divisor: float) -> float:
    """Return the remainder of floats; NaN where there is none."""
    if divisor == 0 or math.isinf(dividend) or dividend != dividend or divisor != divisor:
        return _NAN
    return math.fmod(dividend, divisor)


def _or_nan(function: Callable[[float], float]) -> Callable[[float], float]:
    def call(value: float) -> float:
        try:
            return function(value)
        except ValueError:
            return _NAN
        except OverflowError:
            return math.inf

    return call


sqrt = _or_nan(math.sqrt)
exp = _or_nan(math.exp)
sin = _or_nan(math.sin)
cos = _or_nan(math.cos)
tan = _or_nan(math.tan)
asin = _or_nan(math.asin)
acos = _or_nan(math.acos)
atan = math.atan
atan2 = math.atan2
tanh = math.tanh
cosh = _or_nan(math.cosh)
degrees = math.degrees
radians = math.radians


def sinh(value: float) -> float:
    """Return the hyperbolic sine."""
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def cot(value: float) -> float:
    """Return the cotangent."""
    return ratio(1.0, tan(value))


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    def call(value: float) -> float:
        if value > 0:
            return function(value)
        return -math.inf if value == 0 else _NAN

    return call


ln = _logarithm(math.log)
log10 = _logarithm(math.log10)
log2 = _logarithm(lambda value: math.log(value) / math.log(2))


def log(first: float, second: float | None = None) -> float:
    """Return the natural logarithm, or that of the second number to the base of the first."""
    if second is None:
        return ln(first)
    return ratio(ln(second), ln(first))


def power(base: float, exponent: float) -> float:
    """Return a power, with Java's infinities and NaN."""
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base == 0:
            odd = exponent % 2 == 1 and math.copysign(1, base) < 0
            return -math.inf if odd else math.inf
        return _NAN
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def floor(value: float) -> float:
    """Return the greatest whole number that is not above."""
    return float(math.floor(value)) if math.isfinite(value) else value


def ceil(value: float) -> float:
    """Return the smallest whole number that is not below."""
    return float(math.ceil(value)) if math.isfinite(value) else value


def sign(value: int) -> int:
    """Return -1, 0 or 1."""
    return (value > 0) - (value < 0)


def sign_float(value: float) -> float:
    """Return -1.0, 0.0 or 1.0; NaN for NaN."""
    return value if value != value else float((value > 0) - (value < 0))


def _rounded(value: Decimal, places: int, rounding: str) -> Decimal:
    exponent = Decimal(1).scaleb(-places)
    return (
        CONTEXT.quantize(value, exponent)
        if rounding == ROUND_HALF_UP
        else value.quantize(exponent, rounding=rounding, context=CONTEXT)
    )


def round_int(value: int, places: int) -> int:
    """Round half away from zero; negative places are digits before the point."""
    return value if places >= 0 else int(_rounded(Decimal(value), places, ROUND_HALF_UP))


def truncate_int(value: int, places: int) -> int:
    """Cut off; negative places are digits before the point."""
    return value if places >= 0 else int(_rounded(Decimal(value), places, ROUND_DOWN))


def round_float(value: float, places: int) -> float:
    """Round half away from zero, on the digits that the number shows."""
    if not math.isfinite(value):
        return value
    return float(_rounded(Decimal(repr(value)), places, ROUND_HALF_UP))


def truncate_float(value: float, places: int) -> float:
    """Cut off after some digits, on the digits that the number shows."""
    if not math.isfinite(value):
        return value
    return float(_rounded(Decimal(repr(value)), places, ROUND_DOWN))
