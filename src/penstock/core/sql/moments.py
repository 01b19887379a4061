"""Variance and standard deviation from count, sum and sum of squares.

Sums of exact numbers are exact: adding and taking back leaves nothing behind. Sums of floats are
kept as exact fractions for the same reason.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.core.sql import decimals, numbers


def _exact(value: Any) -> Any:
    return value if isinstance(value, int | Fraction) else Fraction(value)


def plus(total: Any, value: Any) -> Any:
    """Add a value to a sum."""
    return total + _exact(value)


def minus(total: Any, value: Any) -> Any:
    """Take a value back."""
    return total - _exact(value)


def plus_square(total: Any, value: Any) -> Any:
    """Add the square of a value."""
    exact = _exact(value)
    return total + exact * exact


def minus_square(total: Any, value: Any) -> Any:
    """Take the square of a value back."""
    exact = _exact(value)
    return total - exact * exact


def _spread(count: int, total: Any, squares: Any) -> Fraction:
    return squares - Fraction(total * total) / count


def var_pop(count: int, total: Any, squares: Any) -> Fraction | None:
    """Return the variance of all values."""
    return _spread(count, total, squares) / count if count > 0 else None


def var_samp(count: int, total: Any, squares: Any) -> Fraction | None:
    """Return the variance of a sample; NULL of one value."""
    return _spread(count, total, squares) / (count - 1) if count > 1 else None


def stddev_pop(count: int, total: Any, squares: Any) -> float | None:
    """Return the standard deviation of all values."""
    variance = var_pop(count, total, squares)
    return None if variance is None else math.sqrt(variance)


def stddev_samp(count: int, total: Any, squares: Any) -> float | None:
    """Return the standard deviation of a sample; NULL of one value."""
    variance = var_samp(count, total, squares)
    return None if variance is None else math.sqrt(variance)


def whole(value: Any) -> int | None:
    """Return a result as an integer, cut off."""
    return None if value is None else int(value)


def double(value: Any) -> float | None:
    """Return a result as a DOUBLE."""
    return None if value is None else float(value)


def float32(value: Any) -> float | None:
    """Return a result as a FLOAT."""
    return None if value is None else numbers.float32(float(value))


def exact(value: Any, precision: int, quantum: Decimal) -> Decimal | None:
    """Return a result as a DECIMAL."""
    if value is None:
        return None
    if isinstance(value, float):
        return decimals.from_float(value, precision, quantum)
    quotient = decimals.CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
    return decimals.fitted(quotient, precision, quantum)
