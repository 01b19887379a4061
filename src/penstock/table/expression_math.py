"""Methods of `Expression` for numbers, comparisons and aggregates."""

from __future__ import annotations

from typing import Any

from penstock.table.expression_base import ExpressionBase, tree_of
from penstock.table.expression_tree import call


class NumberMethods(ExpressionBase):
    """Part of `Expression`: numbers, comparisons and aggregates."""

    @property
    def exp(self) -> Any:
        """Return e raised to this power."""
        return self._call("EXP")

    @property
    def log10(self) -> Any:
        """Return the logarithm to base 10."""
        return self._call("LOG10")

    @property
    def log2(self) -> Any:
        """Return the logarithm to base 2."""
        return self._call("LOG2")

    @property
    def ln(self) -> Any:
        """Return the natural logarithm."""
        return self._call("LN")

    def log(self, base: Any = None) -> Any:
        """Return the logarithm to a base; the natural one if none is given."""
        if base is None:
            return self._call("LOG")
        return type(self)(call("LOG", tree_of(base), self.tree.copy()))

    @property
    def cosh(self) -> Any:
        """Return the hyperbolic cosine."""
        return self._call("COSH")

    @property
    def sinh(self) -> Any:
        """Return the hyperbolic sine."""
        return self._call("SINH")

    @property
    def sin(self) -> Any:
        """Return the sine."""
        return self._call("SIN")

    @property
    def cos(self) -> Any:
        """Return the cosine."""
        return self._call("COS")

    @property
    def tan(self) -> Any:
        """Return the tangent."""
        return self._call("TAN")

    @property
    def cot(self) -> Any:
        """Return the cotangent."""
        return self._call("COT")

    @property
    def asin(self) -> Any:
        """Return the arc sine."""
        return self._call("ASIN")

    @property
    def acos(self) -> Any:
        """Return the arc cosine."""
        return self._call("ACOS")

    @property
    def atan(self) -> Any:
        """Return the arc tangent."""
        return self._call("ATAN")

    @property
    def tanh(self) -> Any:
        """Return the hyperbolic tangent."""
        return self._call("TANH")

    @property
    def degrees(self) -> Any:
        """Return radians as degrees."""
        return self._call("DEGREES")

    @property
    def radians(self) -> Any:
        """Return degrees as radians."""
        return self._call("RADIANS")

    @property
    def sqrt(self) -> Any:
        """Return the square root."""
        return self._call("SQRT")

    @property
    def abs(self) -> Any:
        """Return the absolute value."""
        return self._call("ABS")

    @property
    def sign(self) -> Any:
        """Return -1, 0 or 1."""
        return self._call("SIGN")

    def round(self, places: Any) -> Any:
        """Return rounded half up to so many places."""
        return self._call("ROUND", places)

    @property
    def bin(self) -> Any:
        """Return the number in base 2."""
        return self._call("BIN")

    @property
    def hex(self) -> Any:
        """Return the number or text in base 16."""
        return self._call("HEX")

    @property
    def unhex(self) -> Any:
        """Return bytes from base 16."""
        return self._call("UNHEX")

    def truncate(self, n: Any = 0) -> Any:
        """Return cut off after so many places."""
        return self._call("TRUNCATE", n)

    def between(self, lower_bound: Any, upper_bound: Any) -> Any:
        """Return whether it lies between two bounds."""
        return self._call("BETWEEN", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Any:
        """Return whether it lies outside two bounds."""
        return self._call("NOT BETWEEN", lower_bound, upper_bound)

    def then(self, if_true: Any, if_false: Any) -> Any:
        """Return one of two values, by this condition."""
        return self._call("IF", if_true, if_false)

    def if_null(self, null_replacement: Any) -> Any:
        """Return the value, or a replacement for NULL."""
        return self._call("IFNULL", null_replacement)

    @property
    def is_null(self) -> Any:
        """Return whether it is NULL."""
        return self._call("IS NULL")

    @property
    def is_not_null(self) -> Any:
        """Return whether it is not NULL."""
        return self._call("IS NOT NULL")

    @property
    def is_true(self) -> Any:
        """Return whether it is TRUE."""
        return self._call("IS TRUE")

    @property
    def is_false(self) -> Any:
        """Return whether it is FALSE."""
        return self._call("IS FALSE")

    @property
    def is_not_true(self) -> Any:
        """Return whether it is FALSE or NULL."""
        return self._call("IS NOT TRUE")

    @property
    def is_not_false(self) -> Any:
        """Return whether it is TRUE or NULL."""
        return self._call("IS NOT FALSE")

    @property
    def sum(self) -> Any:
        """Return the sum over the group; NULL for no values."""
        return self._call("SUM")

    @property
    def sum0(self) -> Any:
        """Return the sum over the group; 0 for no values."""
        return self._call("$SUM0")

    @property
    def min(self) -> Any:
        """Return the least value of the group."""
        return self._call("MIN")

    @property
    def max(self) -> Any:
        """Return the greatest value of the group."""
        return self._call("MAX")

    @property
    def count(self) -> Any:
        """Return how many values of the group are not NULL."""
        return self._call("COUNT")

    @property
    def avg(self) -> Any:
        """Return the mean over the group."""
        return self._call("AVG")

    @property
    def first_value(self) -> Any:
        """Return the first value of the group."""
        return self._call("FIRST_VALUE")

    @property
    def last_value(self) -> Any:
        """Return the last value of the group."""
        return self._call("LAST_VALUE")

    def list_agg(self, separator: Any = None) -> Any:
        """Return the texts of the group, joined."""
        return self._call_given("LISTAGG", separator)

    @property
    def stddev_pop(self) -> Any:
        """Return the standard deviation of the group."""
        return self._call("STDDEV_POP")

    @property
    def stddev_samp(self) -> Any:
        """Return the standard deviation of the group as a sample."""
        return self._call("STDDEV_SAMP")

    @property
    def var_pop(self) -> Any:
        """Return the variance of the group."""
        return self._call("VAR_POP")

    @property
    def var_samp(self) -> Any:
        """Return the variance of the group as a sample."""
        return self._call("VAR_SAMP")

    @property
    def collect(self) -> Any:
        """Return the values of the group as a multiset."""
        return self._call("COLLECT")

    @property
    def array_agg(self) -> Any:
        """Return the values of the group as an array."""
        return self._call("ARRAY_AGG")

    def percentile(self, percentage: Any, frequency: Any = None) -> Any:
        """Return the exact percentile of the group."""
        return self._call_given("PERCENTILE", percentage, frequency)
