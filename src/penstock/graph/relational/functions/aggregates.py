"""Aggregate functions: counts, sums, extremes, deviations, collections and window functions."""

from __future__ import annotations

from collections.abc import Callable

from penstock.graph.relational.expressions import AggregateCall, Expr
from penstock.graph.relational.functions.aggregate_function import (
    Accumulator,
    Aggregate,
    aggregate,
    with_value,
)
from penstock.graph.relational.functions.function import of_arg
from penstock.graph.relational.type_rules import avg_type, sum_type
from penstock.graph.relational.types import (
    BIGINT,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    BitmapType,
    DecimalType,
    FloatType,
    IntegralType,
    LogicalType,
    MultisetType,
    VarCharType,
)


def _sum_rule(args: tuple[Expr, ...]) -> LogicalType | None:
    return sum_type(args[0].type)


def _avg_rule(args: tuple[Expr, ...]) -> LogicalType | None:
    return avg_type(args[0].type)


def _deviation_rule(args: tuple[Expr, ...]) -> LogicalType | None:
    return avg_type(args[0].type)


_COUNT = Accumulator(
    slots=("0",),
    accumulate="%0 += 1",
    retract="%0 -= 1",
    merge="%0 += &0",
    value="%0",
    owes=True,
)


def _zero(t: LogicalType) -> str:
    if isinstance(t, DecimalType):
        return f"@decimals.Decimal('0E-{t.scale}')"
    return "0" if isinstance(t, IntegralType) else "0.0"


def _bounded(code: str, t: LogicalType) -> str:
    """Return code whose value is one of the type: integers wrap, FLOATs are rounded."""
    if isinstance(t, IntegralType):
        bound = 1 << (t.bits() - 1)
        return f"({code} + {bound} & {2 * bound - 1}) - {bound}"
    if isinstance(t, FloatType):
        return f"@numbers.float32({code})"
    if isinstance(t, DecimalType):
        return f"@decimals.fitted({code}, {t.precision}, @decimals.Decimal('1e-{t.scale}'))"
    return code


def _sum(call: AggregateCall) -> Accumulator:
    """Return sum and count of values: a sum over none is NULL."""
    total = _sum0(call)
    return Accumulator(
        slots=(total.slots[0], "0"),
        accumulate=f"{total.accumulate}; %1 += 1",
        retract=f"{total.retract}; %1 -= 1",
        merge=f"{total.merge}; %1 += &1",
        value=f"{total.value} if %1 else None",
        owes=True,
    )


def _sum0(call: AggregateCall) -> Accumulator:
    t = call.type
    if isinstance(t, DecimalType):
        return Accumulator(
            slots=(_zero(t),),
            accumulate="%0 = @decimals.plus(%0, $0)",
            retract="%0 = @decimals.minus(%0, $0)",
            merge="%0 = @decimals.plus(%0, &0)",
            value=_bounded("%0", t),
            owes=True,
        )
    # Integers are summed exactly and wrap once, when the value is read.
    return Accumulator(
        slots=(_zero(t),),
        accumulate="%0 += $0",
        retract="%0 -= $0",
        merge="%0 += &0",
        value=_bounded("%0", t) if not isinstance(t, DecimalType) else "%0",
        owes=True,
    )


def _avg(call: AggregateCall) -> Accumulator:
    parts, t = _sum(call), call.type
    if isinstance(t, IntegralType):
        # A mean of integers lies within their range, so nothing wraps.
        return with_value(parts, "@numbers.truncated(%0, %1) if %1 else None")
    if isinstance(t, DecimalType):
        quantum = f"@decimals.Decimal('1e-{t.scale}')"
        return with_value(
            parts, f"@decimals.divide(%0, %1, {t.precision}, {quantum}) if %1 else None"
        )
    if isinstance(t, FloatType):
        return with_value(parts, "@numbers.float32(%0 / %1) if %1 else None")
    return with_value(parts, "%0 / %1 if %1 else None")


def _least(word: str) -> Accumulator:
    sign = "<" if word == "min" else ">"
    return Accumulator(
        slots=("None",),
        accumulate=f"if %0 is None or $0 {sign} %0: %0 = $0",
        merge=f"if %0 is None or (&0 is not None and &0 {sign} %0): %0 = &0",
        value="%0",
    )


def _sorted(value: str) -> Accumulator:
    """Keep all values with their counts, in order, so that any can be taken back."""
    return Accumulator(
        slots=("{}", "[]"),
        accumulate="@extremes.add(%0, %1, $0)",
        retract="@extremes.remove(%0, %1, $0)",
        merge="@extremes.merge(%0, %1, &0)",
        value=value,
        owes=True,
    )


def _deviation(form: str) -> Accumulator:
    """Return sums of values and squares, in exact numbers where the values are."""
    return Accumulator(
        slots=("0", "0", "0"),
        accumulate="%0 += 1; %1 = @moments.plus(%1, $0); %2 = @moments.plus_square(%2, $0)",
        retract="%0 -= 1; %1 = @moments.minus(%1, $0); %2 = @moments.minus_square(%2, $0)",
        merge="%0 += &0; %1 = @moments.plus(%1, &1); %2 = @moments.plus(%2, &2)",
        value=f"@moments.{form}(%0, %1, %2)",
        owes=True,
    )


def _moments(form: str) -> Callable[[AggregateCall], Accumulator]:
    def rule(call: AggregateCall) -> Accumulator:
        accumulator = _deviation(form)
        t = call.type
        if isinstance(t, IntegralType):
            return with_value(accumulator, f"@moments.whole({accumulator.value})")
        if isinstance(t, DecimalType):
            quantum = f"@decimals.Decimal('1e-{t.scale}')"
            return with_value(
                accumulator, f"@moments.exact({accumulator.value}, {t.precision}, {quantum})"
            )
        if isinstance(t, FloatType):
            return with_value(accumulator, f"@moments.float32({accumulator.value})")
        return with_value(accumulator, f"@moments.double({accumulator.value})")

    return rule


_COLLECT = Accumulator(
    slots=("{}",),
    accumulate="@bags.add(%0, $0)",
    retract="@bags.remove(%0, $0)",
    merge="@bags.merge(%0, &0)",
    value="dict(%0)",
    owes=True,
)
_LIST = Accumulator(
    slots=("[]",),
    accumulate="%0.append($0)",
    retract="@bags.take_out(%0, $0)",
    merge="%0.extend(&0)",
    value="list(%0) if %0 else None",
)


def _listagg(call: AggregateCall) -> Accumulator:
    separator = "','" if len(call.args) == 1 else "$1"
    return Accumulator(
        slots=("[]", "','"),
        accumulate=f"%0.append($0); %1 = {separator}",
        retract="@bags.take_out(%0, $0)",
        merge="%0.extend(&0); %1 = &1 if &0 else %1",
        value="%1.join(%0) if %0 else None",
    )


def _edge(word: str) -> Accumulator:
    first = word == "first"
    test = "if %0 is None: %0 = $0" if first else "%0 = $0"
    keep = "if %0 is None: %0 = &0" if first else "if &0 is not None: %0 = &0"
    return Accumulator(slots=("None",), accumulate=test, merge=keep, value="%0")


def _edge_of_list(word: str) -> Accumulator:
    position = 0 if word == "first" else -1
    return with_value(_LIST, f"%0[{position}] if %0 else None")


_PERCENTILE = Accumulator(
    slots=("{}", "[]", "None"),
    accumulate="@extremes.add_weighted(%0, %1, $*); %2 = $1",
    retract="@extremes.remove_weighted(%0, %1, $*)",
    merge="@extremes.merge(%0, %1, &0); %2 = &2",
    value="@extremes.percentile(%0, %1, %2)",
)


def _percentile_rule(args: tuple[Expr, ...]) -> LogicalType:
    many = isinstance(args[1].type, ArrayType)
    return ArrayType(DOUBLE) if many else DOUBLE


def _json_object(call: AggregateCall) -> Accumulator:
    return Accumulator(
        slots=("{}", "None"),
        accumulate="@json_texts.add_member(%0, $0, $1); %1 = $2",
        retract="@json_texts.remove_member(%0, $0)",
        merge="%0.update(&0); %1 = &1 or %1",
        value="@json_texts.object_of(%0, %1)",
    )


_JSON_ARRAY = Accumulator(
    slots=("[]", "None"),
    accumulate="%0.append(@json_texts.item($0)); %1 = $1",
    retract="@bags.take_out(%0, @json_texts.item($0))",
    merge="%0.extend(&0); %1 = &1 or %1",
    value="@json_texts.array_of(%0, %1)",
)

_BITS = Accumulator(
    slots=("{}",),
    accumulate="@bags.add(%0, @bitmaps.number($0))",
    retract="@bags.remove(%0, @bitmaps.number($0))",
    merge="@bags.merge(%0, &0)",
    value="frozenset(%0) if %0 else None",
    owes=True,
)


def _bits_of(word: str, value: str) -> Accumulator:
    """Bitmaps with their counts; the fold over them is made when the value is read."""
    return Accumulator(
        slots=("{}",),
        accumulate="@bags.add(%0, $0)",
        retract="@bags.remove(%0, $0)",
        merge="@bags.merge(%0, &0)",
        value=value.replace("fold", f"@bitmaps.fold_{word}(%0)"),
        owes=True,
    )


#: Ranks over rows in order, from the value that they are ordered by.
_RANK = Accumulator(
    slots=("None", "0", "0"),
    accumulate="%2 += 1; %1, %0 = (%1, %0) if %0 == $0 else (%2, $0)",
    value="%1",
)
_DENSE_RANK = Accumulator(
    slots=("None", "0"),
    accumulate="%1, %0 = (%1, %0) if %0 == $0 else (%1 + 1, $0)",
    value="%1",
)

_NUMBERS = "numeric"
_CARDINALITY = "@bitmaps.cardinality(fold)"

FUNCTIONS: list[Aggregate] = [
    aggregate("COUNT", ("", "any, any..."), BIGINT, _COUNT, "Rows, or non-NULL.", nullable=False),
    aggregate("SUM", _NUMBERS, _sum_rule, _sum, "The sum; NULL if there are no values."),
    aggregate(
        "$SUM0",
        _NUMBERS,
        _sum_rule,
        _sum0,
        "The sum; 0 for none.",
        nullable=False,
        aliases=("SUM0",),
    ),
    aggregate("AVG", _NUMBERS, _avg_rule, _avg, "The mean, in the type of the values."),
    aggregate(
        "MIN",
        "any",
        of_arg(0),
        _least("min"),
        "The least value.",
        retractable=_sorted("%1[0] if %1 else None"),
    ),
    aggregate(
        "MAX",
        "any",
        of_arg(0),
        _least("max"),
        "The greatest value.",
        retractable=_sorted("%1[-1] if %1 else None"),
    ),
    aggregate(
        "STDDEV_POP",
        _NUMBERS,
        _deviation_rule,
        _moments("stddev_pop"),
        "The standard deviation of all values.",
    ),
    aggregate(
        "STDDEV_SAMP",
        _NUMBERS,
        _deviation_rule,
        _moments("stddev_samp"),
        "The standard deviation of a sample.",
        aliases=("STDDEV",),
    ),
    aggregate(
        "VAR_POP", _NUMBERS, _deviation_rule, _moments("var_pop"), "The variance of all values."
    ),
    aggregate(
        "VAR_SAMP",
        _NUMBERS,
        _deviation_rule,
        _moments("var_samp"),
        "The variance of a sample.",
        aliases=("VARIANCE",),
    ),
    aggregate(
        "COLLECT",
        "any",
        lambda args: MultisetType(args[0].type),
        _COLLECT,
        "The values as a multiset.",
        nullable=False,
    ),
    aggregate(
        "ARRAY_AGG",
        "any",
        lambda args: ArrayType(args[0].type),
        _LIST,
        "The values as an array, NULLs too.",
        nulls="own",
    ),
    aggregate("LISTAGG", "string [, string]", STRING, _listagg, "The texts, joined."),
    aggregate(
        "FIRST_VALUE",
        "any",
        of_arg(0),
        _edge("first"),
        "The first value.",
        retractable=_edge_of_list("first"),
    ),
    aggregate(
        "LAST_VALUE",
        "any",
        of_arg(0),
        _edge("last"),
        "The last value.",
        retractable=_edge_of_list("last"),
    ),
    aggregate(
        "SINGLE_VALUE",
        "any",
        of_arg(0),
        with_value(_LIST, "@bags.only(%0)"),
        "The value of the only row; more than one are an error.",
        nulls="own",
    ),
    aggregate(
        "PERCENTILE",
        ("numeric, double [, integral]", "numeric, array [, integral]"),
        _percentile_rule,
        _PERCENTILE,
        "The exact percentile, interpolated.",
    ),
    aggregate(
        "JSON_OBJECTAGG",
        "string, any, symbol",
        VarCharType(2000),
        _json_object,
        "Members of a JSON object.",
        nulls="own",
        nullable=False,
    ),
    aggregate(
        "JSON_ARRAYAGG",
        "any, symbol",
        VarCharType(2000),
        _JSON_ARRAY,
        "Items of a JSON array.",
        nulls="own",
        nullable=False,
    ),
    aggregate("BITMAP_BUILD_AGG", "int", BitmapType(), _BITS, "The numbers as a bitmap."),
    aggregate(
        "BITMAP_BUILD_CARDINALITY_AGG",
        "int",
        BIGINT,
        with_value(_BITS, "len(%0)"),
        "How many different numbers.",
    ),
    aggregate(
        "BITMAP_AND_AGG", "bitmap", BitmapType(), _bits_of("and", "fold"), "What is in all bitmaps."
    ),
    aggregate(
        "BITMAP_OR_AGG", "bitmap", BitmapType(), _bits_of("or", "fold"), "What is in any bitmap."
    ),
    aggregate(
        "BITMAP_XOR_AGG",
        "bitmap",
        BitmapType(),
        _bits_of("xor", "fold"),
        "What is in an odd number of bitmaps.",
    ),
    aggregate(
        "BITMAP_AND_CARDINALITY_AGG",
        "bitmap",
        BIGINT,
        _bits_of("and", _CARDINALITY),
        "How many numbers are in all bitmaps.",
    ),
    aggregate(
        "BITMAP_OR_CARDINALITY_AGG",
        "bitmap",
        BIGINT,
        _bits_of("or", _CARDINALITY),
        "How many numbers are in any bitmap.",
    ),
    aggregate(
        "BITMAP_XOR_CARDINALITY_AGG",
        "bitmap",
        BIGINT,
        _bits_of("xor", _CARDINALITY),
        "How many numbers are in an odd number of bitmaps.",
    ),
    aggregate("ROW_NUMBER", "", BIGINT, None, "1, 2, 3 ...", nullable=False, over_only=True),
    aggregate("RANK", "", BIGINT, None, "The rank, with gaps.", nullable=False, over_only=True),
    aggregate(
        "DENSE_RANK", "", BIGINT, None, "The rank, without gaps.", nullable=False, over_only=True
    ),
    aggregate("$RANK", "any", BIGINT, _RANK, "RANK by a value.", nullable=False, over_only=True),
    aggregate(
        "$DENSE_RANK",
        "any",
        BIGINT,
        _DENSE_RANK,
        "DENSE_RANK by a value.",
        nullable=False,
        over_only=True,
    ),
    aggregate(
        "CUME_DIST",
        "",
        DOUBLE,
        None,
        "The share of rows up to this.",
        nullable=False,
        over_only=True,
    ),
    aggregate(
        "PERCENT_RANK", "", DOUBLE, None, "The rank as a share.", nullable=False, over_only=True
    ),
    aggregate(
        "NTILE", "int", INT, None, "The number of the bucket.", nullable=False, over_only=True
    ),
    aggregate(
        "LAG", "T [, int] [, T]", of_arg(0), None, "The value some rows before.", over_only=True
    ),
    aggregate(
        "LEAD", "T [, int] [, T]", of_arg(0), None, "The value some rows after.", over_only=True
    ),
]
