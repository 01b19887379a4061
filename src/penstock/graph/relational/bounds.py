"""Between which numbers the value of a whole-numbered expression lies.

Where that is within its type, code needs no test for wrapping around.
"""

from __future__ import annotations

from itertools import starmap

from penstock.graph.relational.expressions import Call, Cast, Expr, Literal
from penstock.graph.relational.types import IntegralType

Bounds = tuple[int, int]


def range_of(kind: IntegralType) -> Bounds:
    """Return the least and the greatest value of a type."""
    bound = 1 << (kind.bits() - 1)
    return -bound, bound - 1


def bounds_of(expr: Expr) -> Bounds | None:
    """Return the least and the greatest value that an expression can have; None: no whole number.

    >>> from penstock.graph.relational.expressions import InputRef
    >>> from penstock.graph.relational.functions.catalog import resolve
    >>> from penstock.graph.relational.types import BIGINT, INT
    >>> digit = resolve("%", (InputRef(0, BIGINT), Literal(10, INT.not_null())))
    >>> bounds_of(resolve("+", (digit, Literal(1, INT.not_null()))))
    (-8, 10)
    """
    if not isinstance(expr.type, IntegralType):
        return None
    low, high = range_of(expr.type)
    found = _computed(expr)
    return found if found is not None and low <= found[0] <= found[1] <= high else (low, high)


def _computed(expr: Expr) -> Bounds | None:
    if isinstance(expr, Literal):
        return (expr.value, expr.value) if isinstance(expr.value, int) else None
    if isinstance(expr, Cast):
        return bounds_of(expr.operand)
    if not isinstance(expr, Call) or len(expr.args) != 2:
        return None
    return result_bounds(expr.function, expr.args[0], expr.args[1])


def result_bounds(operator: str, left: Expr, right: Expr) -> Bounds | None:
    """Return the bounds of a sum, difference, product or remainder before it wraps around."""
    a, b = bounds_of(left), bounds_of(right)
    if a is None or b is None:
        return None
    if operator == "+":
        return a[0] + b[0], a[1] + b[1]
    if operator == "-":
        return a[0] - b[1], a[1] - b[0]
    if operator == "*":
        products = list(starmap(int.__mul__, ((x, y) for x in a for y in b)))
        return min(products), max(products)
    if operator in ("%", "MOD") and b[0] > 0:
        most = b[1] - 1
        return (-most if a[0] < 0 else 0), most
    return None
