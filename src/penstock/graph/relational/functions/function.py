"""What the catalog knows of a built-in function: arguments, result, code and text.

A family file lists its functions as data:

    scalar("REPEAT", "string, int", STRING, "@strings.repeat($0, $1)", "...")

**Signatures** are texts of parameter kinds (`KINDS`). `[, int]` may be left out, `string...` may
be repeated. `T` stands for one type that all arguments marked T have in common, `C` for one
in which they can be compared.

**Results** are a type, or a function from the arguments (already cast) to a type.

**Code** is a template over the arguments (`$0`, `$1` ..., `$*` for all of them) and the library of
values (`@strings.repeat` is `penstock.core.sql.strings.repeat`), or a function that gives one for
a call.

**Nulls** say who looks after NULL:

* `args`: NULL if an argument is NULL; the code never sees one.
* `maybe`: the same, and the code may give NULL of itself.
* `loose`: NULL if an argument is NULL, and in rare cases of itself (a DECIMAL that overflows),
  which the type does not say.
* `own`: the code sees NULLs; the result rule gives the nullability.
* `never`: the code sees NULLs, and the result is never NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.graph.relational.expressions import Call, Expr, cast
from penstock.graph.relational.type_rules import (
    any_nullable,
    can_cast_implicitly,
    common_type,
    comparable,
)
from penstock.graph.relational.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    ArrayType,
    BinaryStringType,
    BitmapType,
    BooleanType,
    CharacterType,
    DatetimeType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    IntervalType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    PointInTimeType,
    RowType,
    SymbolType,
    TimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)

if TYPE_CHECKING:
    from penstock.graph.relational.codegen.emitter import Emitter

ResultRule = LogicalType | Callable[[tuple[Expr, ...]], LogicalType | None]
CodeRule = str | Callable[[Call, "Emitter"], str]


@dataclass(frozen=True)
class Kind:
    """A kind of parameter.

    :param classes: types that are taken as they are.
    :param target: the type that others are cast to, if they can be; also that of a bare NULL.
    """

    classes: tuple[type, ...]
    target: LogicalType | None = None

    def accept(self, arg: Expr) -> Expr | None:
        """Return the argument, cast if need be, or None if it is not taken."""
        if isinstance(arg.type, NullType):
            return arg if self.target is None else cast(arg, self.target)
        if isinstance(arg.type, self.classes):
            return arg
        if self.target is not None and can_cast_implicitly(arg.type, self.target):
            return cast(arg, self.target)
        return None


_NUMBER = (NumericType,)
KINDS: dict[str, Kind] = {
    "any": Kind((LogicalType,)),
    "T": Kind((LogicalType,)),
    "C": Kind((LogicalType,)),
    "numeric": Kind(_NUMBER, INT),
    "exact": Kind((IntegralType, DecimalType), INT),
    "decimal": Kind((DecimalType,)),
    "integral": Kind((IntegralType,), INT),
    "int": Kind((type(INT),), INT),
    "bigint": Kind((type(BIGINT),), BIGINT),
    "double": Kind((type(DOUBLE),), DOUBLE),
    "string": Kind((CharacterType,), STRING),
    "binary": Kind((BinaryStringType,), BYTES),
    "boolean": Kind((BooleanType,), BOOLEAN),
    "date": Kind((DateType,), DATE),
    "time": Kind((TimeType,), TIME),
    "timestamp": Kind((TimestampType,), TimestampType(3)),
    "timestamp_ltz": Kind((LocalZonedTimestampType,), LocalZonedTimestampType(3)),
    "point": Kind((PointInTimeType,), TimestampType(3)),
    "day": Kind((DateType, PointInTimeType), DATE),
    "datetime": Kind((DatetimeType,), TimestampType(3)),
    "interval": Kind((IntervalType,)),
    "months": Kind((YearMonthIntervalType,)),
    "duration": Kind((DayTimeIntervalType,)),
    "array": Kind((ArrayType,)),
    "map": Kind((MapType,)),
    "multiset": Kind((MultisetType,)),
    "row": Kind((RowType,)),
    "bitmap": Kind((BitmapType,), BitmapType()),
    "variant": Kind((VariantType,)),
    "symbol": Kind((SymbolType,)),
}


@dataclass(frozen=True)
class Signature:
    """The parameters of a function in one of its forms."""

    text: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    repeated: str | None = None

    @staticmethod
    def parse(text: str) -> Signature:
        """Read a signature such as `string, int [, string]` or `string, string...`."""
        head, _, tail = text.partition("[")
        required = [kind.strip() for kind in head.split(",") if kind.strip()]
        optional = [kind.strip() for kind in re.split(r"[,\[\]]", tail) if kind.strip()]
        repeated = None
        if required and required[-1].endswith("..."):
            repeated = required.pop().removesuffix("...")
        for kind in (*required, *optional, *([repeated] if repeated else [])):
            if kind not in KINDS:
                raise ValueError(f"no kind of parameter: {kind!r} in {text!r}")
        return Signature(text, tuple(required), tuple(optional), repeated)

    def kinds(self, count: int) -> list[str] | None:
        """Return the kinds of so many arguments, or None if it takes another number."""
        least, most = len(self.required), len(self.required) + len(self.optional)
        if self.repeated is not None:
            return None if count < least else [*self.required, *[self.repeated] * (count - least)]
        return [*self.required, *self.optional][:count] if least <= count <= most else None

    def accept(self, args: Sequence[Expr]) -> tuple[Expr, ...] | None:
        """Return the arguments, cast as this signature asks, or None if it does not fit."""
        kinds = self.kinds(len(args))
        if kinds is None:
            return None
        taken = [KINDS[kind].accept(arg) for kind, arg in zip(kinds, args, strict=True)]
        accepted = tuple(arg for arg in taken if arg is not None)
        if len(accepted) != len(args):
            return None
        return _made_alike(_made_alike(accepted, kinds, "T"), kinds, "C")


def _made_alike(
    args: tuple[Expr, ...] | None, kinds: Sequence[str], mark: str
) -> tuple[Expr, ...] | None:
    """Cast the arguments of the kind `mark` to the type that they share."""
    alike = [i for i, kind in enumerate(kinds) if kind == mark]
    if args is None or not alike:
        return args
    types = [args[i].type for i in alike]
    if mark == "C" and all(isinstance(t, CharacterType) for t in types):
        # Texts are compared as they are; a cast would pad the shorter.
        return args
    common: LogicalType | None = common_type(types)
    if common is None and mark == "C":
        common = types[0]
        for t in types[1:]:
            common = None if common is None else comparable(common, t)
    if common is None:
        return None
    return tuple(cast(a, common) if i in alike else a for i, a in enumerate(args))


@dataclass(frozen=True)
class Function:
    """A built-in scalar function or operator.

    :param rewrite: gives the expression instead of the signatures, if it depends on more.
    """

    name: str
    signatures: tuple[Signature, ...]
    result: ResultRule
    code: CodeRule
    doc: str
    nulls: str = "args"
    aliases: tuple[str, ...] = ()
    deterministic: bool = True
    rewrite: Callable[[tuple[Expr, ...]], Expr | None] | None = None

    def resolve(self, args: Sequence[Expr]) -> Expr | None:
        """Return the call with these arguments, or None if no signature takes them."""
        if self.rewrite is not None:
            return self.rewrite(tuple(args))
        for signature in self.signatures:
            accepted = signature.accept(args)
            if accepted is None:
                continue
            result = self.result(accepted) if callable(self.result) else self.result
            if result is not None:
                return Call(self.name, accepted, self._nullability(result, accepted))
        return None

    def _nullability(self, result: LogicalType, args: tuple[Expr, ...]) -> LogicalType:
        if self.nulls == "own":
            return result
        if self.nulls in ("args", "loose"):
            return result.with_nullability(any_nullable(arg.type for arg in args))
        return result.with_nullability(self.nulls == "maybe")

    def shown_signatures(self) -> list[str]:
        """Return the forms in which it can be called, for error messages."""
        return [f"{self.name}({signature.text.upper()})" for signature in self.signatures]


@dataclass(frozen=True)
class Rewrite:
    """A function that is written with others: `a BETWEEN b AND c` is two comparisons.

    :param rewrite: gives the expression, or None if it does not take the arguments.
    """

    name: str
    shown: tuple[str, ...]
    rewrite: Callable[[tuple[Expr, ...]], Expr | None]
    doc: str
    aliases: tuple[str, ...] = ()
    deterministic: bool = True

    def resolve(self, args: Sequence[Expr]) -> Expr | None:
        """Return the expression, or None if the arguments are not taken."""
        return self.rewrite(tuple(args))

    def shown_signatures(self) -> list[str]:
        """Return the forms in which it can be called, for error messages."""
        return list(self.shown)


def scalar(
    name: str,
    signatures: str | Sequence[str],
    result: ResultRule,
    code: CodeRule,
    doc: str,
    **options: Any,
) -> Function:
    """Describe a scalar function. The parameters are those of `Function`."""
    forms = [signatures] if isinstance(signatures, str) else signatures
    parsed = tuple(Signature.parse(form) for form in forms)
    return Function(name, parsed, result, code, doc, **options)


def of_arg(index: int) -> Callable[[tuple[Expr, ...]], LogicalType]:
    """Return the rule: the type of the argument at this position."""
    return lambda args: args[index].type


def common_of(start: int = 0) -> Callable[[tuple[Expr, ...]], LogicalType | None]:
    """Return the rule: the common type of the arguments from a position on."""
    return lambda args: common_type([arg.type for arg in args[start:]])
