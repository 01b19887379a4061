"""Arithmetic: operators on numbers, times and intervals, and the functions of mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.graph.relational.bounds import range_of, result_bounds
from penstock.graph.relational.expressions import Call, Expr, Literal
from penstock.graph.relational.functions.function import Function, Rewrite, of_arg, scalar
from penstock.graph.relational.type_rules import (
    arithmetic_type,
    common_type,
    rounded_decimal,
)
from penstock.graph.relational.types import (
    DOUBLE,
    INT,
    STRING,
    ApproximateType,
    CharacterType,
    CharType,
    DatetimeType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegralType,
    IntervalType,
    LogicalType,
    NumericType,
    TimeType,
    YearMonthIntervalType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter


def _sum_result(operator: str) -> Callable[[tuple[Expr, ...]], LogicalType | None]:
    def result(args: tuple[Expr, ...]) -> LogicalType | None:
        left, right = args[0].type, args[1].type
        if isinstance(left, DatetimeType) and isinstance(right, IntervalType):
            return left
        if isinstance(left, IntervalType) and isinstance(right, DatetimeType):
            return right if operator == "+" else None
        if isinstance(left, IntervalType) and isinstance(right, IntervalType):
            return common_type([left, right])
        if isinstance(left, CharacterType) and isinstance(right, CharacterType):
            # The Table API joins texts by +.
            return STRING if operator == "+" else None
        return arithmetic_type(operator, left, right)

    return result


def _product_result(args: tuple[Expr, ...]) -> LogicalType | None:
    left, right = args[0].type, args[1].type
    for interval, number in ((left, right), (right, left)):
        if isinstance(interval, IntervalType) and isinstance(number, NumericType):
            return interval
    return arithmetic_type("*", left, right)


def _number_result(operator: str) -> Callable[[tuple[Expr, ...]], LogicalType | None]:
    return lambda args: arithmetic_type(operator, args[0].type, args[1].type)


def _number_code(operator: str, call: Call, emitter: Emitter) -> str:
    """Code for numbers: integers wrap, FLOATs are rounded, DECIMALs have their scale."""
    t = call.type
    if isinstance(t, IntegralType):
        (low, high), made = range_of(t), result_bounds(operator, *call.args)
        if made is not None and low <= made[0] and made[1] <= high:
            return f"$0 {operator} $1"
        return emitter.wrapped(f"$0 {operator} $1", t)
    if isinstance(t, FloatType):
        return f"@numbers.float32($0 {operator} $1)"
    if isinstance(t, DecimalType):
        word = {"+": "add", "-": "subtract", "*": "multiply"}[operator]
        return f"@decimals.{word}($0, $1, {t.precision}, {emitter.quantum(t.scale)})"
    if DecimalType in {type(arg.type) for arg in call.args}:
        return f"float($0) {operator} float($1)"
    return f"$0 {operator} $1"


def _sum_code(operator: str) -> Callable[[Call, Emitter], str]:
    def code(call: Call, emitter: Emitter) -> str:
        left, right = call.args[0].type, call.args[1].type
        if isinstance(left, IntervalType) and isinstance(right, DatetimeType):
            return _shift_code(right, left, "$1", "$0")
        if isinstance(left, DatetimeType):
            sign = "" if operator == "+" else "-"
            return _shift_code(left, right, "$0", f"{sign}$1")
        if isinstance(left, IntervalType | CharacterType):
            return f"$0 {operator} $1"
        return _number_code(operator, call, emitter)

    return code


def _shift_code(moment: LogicalType, interval: LogicalType, value: str, by: str) -> str:
    if isinstance(interval, YearMonthIntervalType):
        return f"@temporal.add_months({value}, {by})"
    if isinstance(moment, TimeType):
        return f"@temporal.add_to_time({value}, {by})"
    if isinstance(moment, DateType):
        return f"@temporal.add_to_date({value}, {by})"
    return f"{value} + {by}" if not by.startswith("-") else f"{value} - {by[1:]}"


def _product_code(call: Call, emitter: Emitter) -> str:
    if isinstance(call.type, DayTimeIntervalType):
        return "@temporal.scaled($0, $1)"
    if isinstance(call.type, YearMonthIntervalType):
        return "int($0 * $1)"
    return _number_code("*", call, emitter)


def _quotient_code(call: Call, emitter: Emitter) -> str:
    t, divisor = call.type, call.args[1]
    if isinstance(t, IntegralType):
        if isinstance(divisor, Literal) and divisor.value is not None and divisor.value > 0:
            return "($0 // $1 if $0 >= 0 else -(-$0 // $1))"
        return f"@numbers.quotient($0, $1, {t.bits()})"
    if isinstance(t, DecimalType):
        return f"@decimals.divide($0, $1, {t.precision}, {emitter.quantum(t.scale)})"
    word = "@numbers.ratio($0, $1)"
    return f"@numbers.float32({word})" if isinstance(t, FloatType) else word


def _remainder_code(call: Call, emitter: Emitter) -> str:
    t, divisor = call.type, call.args[1]
    if isinstance(t, IntegralType):
        if isinstance(divisor, Literal) and divisor.value is not None and divisor.value > 0:
            return "($0 % $1 if $0 >= 0 else -(-$0 % $1))"
        return "@numbers.remainder($0, $1)"
    if isinstance(t, DecimalType):
        return f"@decimals.remainder($0, $1, {t.precision}, {emitter.quantum(t.scale)})"
    return "@numbers.float_remainder(float($0), float($1))"


def _negate_code(call: Call, emitter: Emitter) -> str:
    t = call.type
    return emitter.wrapped("-$0", t) if isinstance(t, IntegralType) else "-$0"


def _abs_code(call: Call, emitter: Emitter) -> str:
    t = call.type
    return emitter.wrapped("abs($0)", t) if isinstance(t, IntegralType) else "abs($0)"


def _whole(word: str) -> Callable[[Call, Emitter], str]:
    """Code of FLOOR and CEIL: of numbers, and of times to a unit."""

    def code(call: Call, emitter: Emitter) -> str:
        t = call.args[0].type
        if len(call.args) == 2:
            unit = call.args[1]
            assert isinstance(unit, Literal)
            zone = emitter.zone_if_local(t)
            return f"@temporal.{word}($0, {str(unit.value).upper()!r}{zone})"
        if isinstance(t, IntegralType):
            return "$0"
        if isinstance(t, DecimalType):
            return f"@decimals.{word}($0)"
        return f"@numbers.{word}($0)"

    return code


def _whole_result(args: tuple[Expr, ...]) -> LogicalType | None:
    t = args[0].type
    if len(args) == 2:
        return t if isinstance(t, DatetimeType) else None
    if isinstance(t, DecimalType):
        return DecimalType(t.precision, 0)
    return t if isinstance(t, NumericType) else None


def _round_result(args: tuple[Expr, ...]) -> LogicalType | None:
    t = args[0].type
    if not isinstance(t, DecimalType):
        return t
    digits = args[1] if len(args) == 2 else Literal(0, INT)
    if isinstance(digits, Literal) and isinstance(digits.value, int):
        return rounded_decimal(t, digits.value)
    return t


def _round_code(word: str) -> Callable[[Call, Emitter], str]:
    def code(call: Call, emitter: Emitter) -> str:
        t, places = call.type, "$1" if len(call.args) == 2 else "0"
        if isinstance(t, IntegralType):
            return emitter.wrapped(f"@numbers.{word}_int($0, {places})", t)
        if isinstance(t, DecimalType):
            quantum = emitter.quantum(t.scale)
            return f"@decimals.{word}($0, {places}, {t.precision}, {quantum})"
        text = f"@numbers.{word}_float($0, {places})"
        return f"@numbers.float32({text})" if isinstance(t, FloatType) else text

    return code


def _sign_result(args: tuple[Expr, ...]) -> LogicalType:
    return args[0].type


def _sign_code(call: Call, emitter: Emitter) -> str:
    if isinstance(call.type, DecimalType):
        return f"@decimals.sign($0, {emitter.quantum(call.type.scale)})"
    kind = "sign_float" if isinstance(call.type, ApproximateType) else "sign"
    return f"@numbers.{kind}($0)"


def _bin_hex_result(args: tuple[Expr, ...]) -> LogicalType:
    return STRING


def _hex_code(call: Call, emitter: Emitter) -> str:
    if isinstance(call.args[0].type, IntegralType):
        return "format($0 & 0xFFFFFFFFFFFFFFFF, 'X')"
    return "@strings.hex_of($0)"


def _rand_code(word: str, seeded: str) -> Callable[[Call, Emitter], str]:
    """Return the rule: a generator with a seed is made once for its place in the query."""

    def code(call: Call, emitter: Emitter) -> str:
        bound = ["$1"] if len(call.args) == 2 else ["$0"] if word == "rand_integer" else []
        if len(call.args) > len(bound):
            if not isinstance(call.args[0], Literal):
                return f"@randoms.{seeded}($0)({', '.join(bound)})"
            seed = emitter.value(call.args[0])
            maker = emitter.library(f"randoms.{seeded}")
            return f"{emitter.hoist_new(f'{maker}({seed})')}({', '.join(bound)})"
        return f"@randoms.{word}({', '.join(bound)})"

    return code


def _math(name: str, doc: str, word: str | None = None) -> Function:
    return scalar(name, "double", DOUBLE, f"@numbers.{word or name.lower()}($0)", doc)


def _plus(args: tuple[Expr, ...]) -> Expr | None:
    return args[0] if len(args) == 1 and isinstance(args[0].type, NumericType) else None


FUNCTIONS: list[Function | Rewrite] = [
    scalar("+", "any, any", _sum_result("+"), _sum_code("+"), "The sum.", nulls="loose"),
    scalar("-", "any, any", _sum_result("-"), _sum_code("-"), "The difference.", nulls="loose"),
    scalar("*", "any, any", _product_result, _product_code, "The product.", nulls="loose"),
    scalar(
        "/", "numeric, numeric", _number_result("/"), _quotient_code, "The quotient.", nulls="loose"
    ),
    scalar(
        "%",
        "numeric, numeric",
        _number_result("%"),
        _remainder_code,
        "The remainder, with the sign of the dividend.",
        aliases=("MOD",),
        nulls="loose",
    ),
    scalar("NEGATE", ("numeric", "interval"), of_arg(0), _negate_code, "The negative value."),
    Rewrite("UNARY +", ("UNARY +(NUMERIC)",), _plus, "The value itself."),
    scalar(
        "POWER", "double, double", DOUBLE, "@numbers.power($0, $1)", "A power.", aliases=("POW",)
    ),
    scalar("ABS", "numeric", of_arg(0), _abs_code, "The absolute value."),
    _math("SQRT", "The square root."),
    _math("LN", "The natural logarithm."),
    _math("LOG10", "The logarithm to base 10."),
    _math("LOG2", "The logarithm to base 2."),
    scalar(
        "LOG", "double [, double]", DOUBLE, "@numbers.log($*)", "A logarithm; the base is first."
    ),
    _math("EXP", "e raised to a power."),
    scalar(
        "CEIL",
        ("numeric", "datetime, symbol"),
        _whole_result,
        _whole("ceil"),
        "The smallest whole number, or full unit of time, that is not below.",
        aliases=("CEILING",),
    ),
    scalar(
        "FLOOR",
        ("numeric", "datetime, symbol"),
        _whole_result,
        _whole("floor"),
        "The greatest whole number, or full unit of time, that is not above.",
    ),
    _math("SIN", "The sine."),
    _math("SINH", "The hyperbolic sine."),
    _math("COS", "The cosine."),
    _math("TAN", "The tangent."),
    _math("TANH", "The hyperbolic tangent."),
    _math("COT", "The cotangent."),
    _math("ASIN", "The arc sine."),
    _math("ACOS", "The arc cosine."),
    _math("ATAN", "The arc tangent."),
    scalar("ATAN2", "double, double", DOUBLE, "@numbers.atan2($0, $1)", "The angle of (x, y)."),
    _math("COSH", "The hyperbolic cosine."),
    _math("DEGREES", "Radians as degrees."),
    _math("RADIANS", "Degrees as radians."),
    scalar("SIGN", "numeric", _sign_result, _sign_code, "-1, 0 or 1."),
    scalar(
        "ROUND",
        "numeric [, int]",
        _round_result,
        _round_code("round"),
        "Rounded half up.",
        nulls="loose",
    ),
    scalar("PI", "", DOUBLE, "@numbers.PI", "The number pi."),
    scalar("E", "", DOUBLE, "@numbers.E", "The base of natural logarithms."),
    scalar(
        "RAND",
        "[int]",
        DOUBLE,
        _rand_code("rand", "seeded"),
        "A random number from 0 up to 1.",
        deterministic=False,
    ),
    scalar(
        "RAND_INTEGER",
        ("int", "int, int"),
        INT,
        _rand_code("rand_integer", "seeded_integer"),
        "A random whole number from 0 up to the bound; a seed may come first.",
        deterministic=False,
    ),
    scalar(
        "UUID",
        "",
        CharType(36),
        "@randoms.uuid()",
        "A random identifier.",
        deterministic=False,
    ),
    scalar("BIN", "bigint", STRING, "format($0 & 0xFFFFFFFFFFFFFFFF, 'b')", "In base 2."),
    scalar("HEX", ("integral", "string"), _bin_hex_result, _hex_code, "In base 16."),
    scalar(
        "TRUNCATE",
        "numeric [, int]",
        _round_result,
        _round_code("truncate"),
        "Cut off after some digits.",
        nulls="loose",
    ),
]
