"""DECIMAL arithmetic: exact, rounded half up to the scale of the result, NULL if too large."""

from __future__ import annotations

from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
    InvalidOperation,
)
from typing import Any

from penstock.errors import EvaluationError

# Wide enough for the product of two numbers of 38 digits; nothing is trapped but nonsense.
CONTEXT = Context(prec=100, rounding=ROUND_HALF_UP, traps=[InvalidOperation])
_LIMITS = [Decimal(10) ** digits for digits in range(40)]


def fitted(value: Decimal | int, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the number with the scale of `quantum`, or None if it has too many digits."""
    result = CONTEXT.quantize(Decimal(value), quantum)
    scale = -quantum.as_tuple().exponent  # type: ignore[operator]
    return result if abs(result) < _LIMITS[precision - scale] else None


def add(a: Decimal, b: Decimal, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the sum."""
    return fitted(CONTEXT.add(a, b), precision, quantum)


def subtract(a: Decimal, b: Decimal, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the difference."""
    return fitted(CONTEXT.subtract(a, b), precision, quantum)


def multiply(a: Decimal, b: Decimal, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the product."""
    return fitted(CONTEXT.multiply(a, b), precision, quantum)


def divide(a: Decimal, b: Decimal | int, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the quotient."""
    if b == 0:
        raise EvaluationError(
            "Division by zero", todo="test the divisor, for instance with NULLIF(divisor, 0)"
        )
    return fitted(CONTEXT.divide(a, b), precision, quantum)


def remainder(a: Decimal, b: Decimal, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the remainder, with the sign of the dividend."""
    if b == 0:
        raise EvaluationError(
            "Division by zero", todo="test the divisor, for instance with NULLIF(divisor, 0)"
        )
    return fitted(CONTEXT.remainder(a, b), precision, quantum)


def plus(a: Decimal, b: Decimal) -> Decimal:
    """Return the exact sum, for accumulators."""
    return CONTEXT.add(a, b)


def minus(a: Decimal, b: Decimal) -> Decimal:
    """Return the exact difference, for accumulators."""
    return CONTEXT.subtract(a, b)


def floor(value: Decimal) -> Decimal:
    """Return the greatest whole number that is not above."""
    return value.quantize(Decimal(1), rounding=ROUND_FLOOR, context=CONTEXT)


def ceil(value: Decimal) -> Decimal:
    """Return the smallest whole number that is not below."""
    return value.quantize(Decimal(1), rounding=ROUND_CEILING, context=CONTEXT)


def sign(value: Decimal, quantum: Decimal) -> Decimal:
    """Return -1, 0 or 1 with the scale of the number."""
    return CONTEXT.quantize(Decimal((value > 0) - (value < 0)), quantum)


def round(value: Decimal, places: int, precision: int, quantum: Decimal) -> Decimal | None:
    """Round half away from zero after some digits, then give it the result's scale."""
    return fitted(CONTEXT.quantize(value, Decimal(1).scaleb(-places)), precision, quantum)


def truncate(value: Decimal, places: int, precision: int, quantum: Decimal) -> Decimal | None:
    """Cut off after some digits, then give it the result's scale."""
    cut = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_DOWN, context=CONTEXT)
    return fitted(cut, precision, quantum)


def from_text(text: str, precision: int, quantum: Decimal) -> Decimal | None:
    """Read a number."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or "_" in text:
        raise EvaluationError(
            f"'{text}' is no DECIMAL", todo="use TRY_CAST to get NULL for such texts"
        )
    return fitted(value, precision, quantum)


def from_float(value: float, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the number that a DOUBLE shows."""
    number = Decimal(repr(value))
    return fitted(number, precision, quantum) if number.is_finite() else None


def from_float32(value: float, precision: int, quantum: Decimal) -> Decimal | None:
    """Return the number that a FLOAT is, widened to a DOUBLE as in Java."""
    return from_float(value, precision, quantum)


def of_user(value: Any, precision: int, quantum: Decimal) -> Decimal | None:
    """Return what a user's function gave as a number with the declared scale; NULL stays."""
    if value is None:
        return None
    return fitted(value if isinstance(value, int) else Decimal(str(value)), precision, quantum)
