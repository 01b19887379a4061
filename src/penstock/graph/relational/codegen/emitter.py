"""Python code for typed expressions, as text.

Code of a value is one Python expression, in parentheses if it needs them; it is `None` for NULL.
An operand is tested for NULL only if its type allows NULL. Operands that are needed twice get a
name with `:=` where they are first evaluated. A condition (`truth`) needs no third value, so a
filter tests with `and` and `or` alone.

What does not depend on the row is *hoisted*: computed once when the code is loaded.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.graph.relational.codegen import casts
from penstock.graph.relational.expressions import (
    Call,
    Case,
    Cast,
    Expr,
    FieldAccess,
    In,
    InputRef,
    Literal,
    UdfCall,
)
from penstock.graph.relational.functions import catalog
from penstock.graph.relational.functions.function import Function
from penstock.graph.relational.types import (
    ArrayType,
    BooleanType,
    CharacterType,
    DecimalType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)
from penstock.graph.relational.values import InwardRows, converts_between

_NAME = re.compile(r"[A-Za-z_]\w*")
_SLOT = re.compile(r"\$(\d+|\*)|@(\w+)\.(\w+)")
_LOCAL = re.compile(r"\b(?:[cs]\d+|row|left|right|now|watermark)\b")
_HARMLESS = re.compile(r"b?'(?!row|left|right|now|watermark)[A-Za-z_]*'")
# CPython takes 200 nested parentheses; a piece that is deeper becomes a function of its own.
_MAX_NESTING = 60
_MAX_BRANCHES = 40
LIBRARY = "penstock.core.sql"


def is_simple(code: str) -> bool:
    """Return whether the code is a name or a number, and costs nothing to repeat."""
    return _NAME.fullmatch(code) is not None or code.isdigit()


def nesting(code: str) -> int:
    """Return how deep parentheses are nested."""
    depth = deepest = 0
    for character in code:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest


def _is_enclosed(code: str) -> bool:
    """Return whether one pair of parentheses encloses the whole code."""
    if not code.startswith("("):
        return False
    depth = 0
    for position, character in enumerate(code):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(code) - 1
    return False


class Emitter:
    """Turns expressions into code and gathers what that code needs around it.

    :param column: gives the code of an input column.
    :param zone: the session's time zone, by name.
    :param database: the session's database.
    """

    def __init__(
        self,
        column: Callable[[int], str],
        zone: str = "UTC",
        database: str = "default_database",
    ) -> None:
        self._column = column
        self.database: str = database
        self._zone = zone
        self._temporaries = 0
        self.first_object = 0
        self.tag = ""
        self.prelude: list[str] = []
        self.objects: list[Any] = []
        self.shared: dict[Expr, str] = {}
        #: Columns that are known not to be NULL where the code stands.
        self.sure: frozenset[int] = frozenset()
        self.needs: set[str] = set()
        self._hoisted: dict[str, str] = {}
        self._by_id: dict[int, str] = {}

    # --- what functions' code rules call ---------------------------------------------------------

    def value(self, expr: Expr) -> str:
        """Return code for the value of an expression."""
        name = self.shared.get(expr)
        return self._lifted(self._value(expr)) if name is None else name

    def truth(self, expr: Expr, wanted: bool = True) -> str:
        """Return code that is truthy exactly if the expression is TRUE (or FALSE, if wanted)."""
        return self._lifted(self._truth(expr, wanted))

    def library(self, path: str) -> str:
        """Return the name of a function of the library of values: `strings.repeat`."""
        module, _, name = path.partition(".")
        alias = f"_{module}_{name}"
        line = f"from {LIBRARY}.{module} import {name} as {alias}"
        if line not in self.prelude:
            self.prelude.append(line)
        return alias

    def hoist(self, code: str) -> str:
        """Return a name for the value of code that does not depend on the row."""
        name = self._hoisted.get(code)
        if name is None:
            name = self._hoisted[code] = f"_k{self.tag}{len(self._hoisted)}"
            self.prelude.append(f"{name} = {code}")
        return name

    def hoist_new(self, code: str) -> str:
        """Return a name for a value that this place alone uses, such as a generator."""
        name = f"_n{self.tag}{len(self.prelude)}"
        self.prelude.append(f"{name} = {code}")
        return name

    def object(self, value: Any) -> str:
        """Return a name for an object that travels beside the source."""
        name = self._by_id.get(id(value))
        if name is None:
            name = self._by_id[id(value)] = f"_o{self.first_object + len(self.objects)}"
            self.objects.append(value)
        return name

    def temporary(self) -> str:
        """Return a new name for a value inside one expression."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def wrapped(self, template: str, t: IntegralType) -> str:
        """Return a template whose value wraps around at the ends of an integer type."""
        bound, name = 1 << (t.bits() - 1), self.temporary()
        return (
            f"({name} if -{bound} <= ({name} := {template}) < {bound} "
            f"else @numbers.wrap({name}, {t.bits()}))"
        )

    def quantum(self, scale: int) -> str:
        """Return a name for the unit of the last digit of a DECIMAL."""
        return self.hoist(f"{self.library('decimals.Decimal')}('1e-{scale}')")

    def zone(self) -> str:
        """Return a name for the session's time zone."""
        return self.hoist(f"{self.library('temporal.zone_of')}({self._zone!r})")

    def zone_if_local(self, t: LogicalType) -> str:
        """Return `, zone` if values of the type are shown in the session's zone, else nothing."""
        return f", {self.zone()}" if isinstance(t, LocalZonedTimestampType) else ""

    def need(self, name: str) -> str:
        """Return a name that is set once for a chunk: `now` (in milliseconds) or `watermark`."""
        self.needs.add(name)
        return name

    def may_be_null(self, expr: Expr) -> bool:
        """Return whether a value can be NULL where the code stands."""
        if not self.sure or not may_be_null(expr):
            return may_be_null(expr)
        if isinstance(expr, InputRef):
            return expr.index not in self.sure
        if isinstance(expr, Cast) and not expr.is_try and _keeps_null(expr):
            return self.may_be_null(expr.operand)
        if isinstance(expr, Call):
            nulls = catalog.scalar_function(expr.function).nulls
            if nulls == "args" or (nulls == "loose" and not isinstance(expr.type, _OVERFLOWS)):
                return any(map(self.may_be_null, expr.args))
        return True

    # --- values ----------------------------------------------------------------------------------

    def _value(self, expr: Expr) -> str:
        if isinstance(expr, InputRef):
            return self._column(expr.index)
        if isinstance(expr, Literal):
            return self.literal(expr.value)
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, Cast):
            return self._cast(expr)
        if isinstance(expr, Case):
            return self._case(expr, self.value)
        if isinstance(expr, In):
            return self._in(expr)
        if isinstance(expr, FieldAccess):
            return self._guarded([expr.operand], f"$0[{expr.index}]")
        if isinstance(expr, UdfCall):
            return self._udf(expr)
        raise TypeError(f"no code for {type(expr).__name__}")

    def literal(self, value: Any) -> str:
        """Return code for a constant."""
        if value is None or isinstance(value, bool):
            return repr(value)
        if isinstance(value, str | bytes):
            # Code is searched for names and parentheses, so only harmless texts stand in it.
            code = repr(value)
            return code if _HARMLESS.fullmatch(code) else self.hoist(code)
        if isinstance(value, int):
            return str(value) if value >= 0 else f"({value})"
        if isinstance(value, float):
            if math.isfinite(value):
                return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"
            return self.hoist(f"float({str(value)!r})")
        if isinstance(value, Decimal):
            return self.hoist(f"{self.library('decimals.Decimal')}({str(value)!r})")
        if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
            self.library("temporal.datetime")
            return self.hoist(repr(value).replace("datetime.", "_temporal_datetime."))
        return self.object(value)

    def _call(self, call: Call) -> str:
        if call.function in ("AND", "OR"):
            return self._junction(call)
        if call.function in ("IS NULL", "IS NOT NULL") and not self.may_be_null(call.args[0]):
            return str(call.function == "IS NOT NULL")
        if call.function == "NOT" and not self.may_be_null(call):
            return f"(not {self.value(call.args[0])})"
        function = catalog.scalar_function(call.function)
        template = self._template(function, call)
        if function.nulls in ("own", "never"):
            return self.filled(template, [self.value(arg) for arg in call.args])
        return self._guarded(call.args, template)

    def _template(self, function: Function, call: Call) -> str:
        return function.code(call, self) if callable(function.code) else function.code

    def _guarded(self, args: list[Expr] | tuple[Expr, ...], template: str) -> str:
        tests, codes = self._tested(args, template)
        if "None is None" in tests:
            return "None"
        body = self.filled(template, codes)
        return f"(None if {' or '.join(tests)} else {body})" if tests else body

    def _tested(
        self, args: list[Expr] | tuple[Expr, ...], template: str
    ) -> tuple[list[str], list[str]]:
        """Return the tests for NULL of the arguments, and the code of each after the tests."""
        tests: list[str] = []
        codes: list[str] = []
        uses = [m.group(1) for m in _SLOT.finditer(template)]
        for index, arg in enumerate(args):
            code = self.value(arg)
            again = uses.count(str(index)) > 1
            if self.may_be_null(arg) or (again and not is_simple(code)):
                if is_simple(code):
                    tests.append(f"{code} is None")
                else:
                    name = self.temporary()
                    tests.append(f"({name} := {code}) is None")
                    code = name
            codes.append(code)
        return tests, codes

    def filled(self, template: str, codes: list[str]) -> str:
        """Return a template of a value, filled, in parentheses if it needs them."""
        code = self.fill(template, codes)
        return code if is_simple(code) or _is_enclosed(code) else f"({code})"

    def fill(self, template: str, codes: list[str]) -> str:
        """Return a template with code for its slots and names for its library functions."""

        def fill(match: re.Match[str]) -> str:
            slot, module, name = match.groups()
            if slot is None:
                return self.library(f"{module}.{name}")
            return ", ".join(codes) if slot == "*" else codes[int(slot)]

        return _SLOT.sub(fill, template)

    def _junction(self, call: Call) -> str:
        """AND and OR with three values: each operand is evaluated once and only if needed."""
        operands = flatten(call.function, call)
        if not self.may_be_null(call):
            word = f" {call.function.lower()} "
            return f"({word.join(self.value(operand) for operand in operands)})"
        decisive, unknown = [], []
        is_and = call.function == "AND"
        for operand in operands:
            if not self.may_be_null(operand):
                code = self.value(operand)
                decisive.append(f"not {code}" if is_and else code)
                continue
            name = self.temporary()
            code = f"({name} := {self.value(operand)})"
            decisive.append(f"{code} is False" if is_and else code)
            unknown.append(f"{name} is None")
        sure = f"({not is_and} if {' or '.join(decisive)}"
        return f"{sure} else None if {' or '.join(unknown)} else {is_and})"

    def _case(self, expr: Case, inner: Callable[[Expr], str]) -> str:
        code = inner(expr.default)
        for number, (when, then) in enumerate(reversed(expr.branches), 1):
            code = f"{inner(then)} if {self.truth(when)} else {code}"
            if number % _MAX_BRANCHES == 0:
                code = self._function(code)
        return f"({code})"

    def _in(self, expr: In) -> str:
        constants = [o.value for o in expr.options if isinstance(o, Literal)]
        known = [value for value in constants if value is not None]
        if len(constants) < len(expr.options) or not is_hashable(expr.operand.type):
            return self.value(_as_comparisons(expr))
        members = self.hoist(f"frozenset(({''.join(self.literal(v) + ', ' for v in known)}))")
        word = "not in" if expr.negated else "in"
        if len(known) == len(constants):
            return self._guarded([expr.operand], f"$0 {word} {members}")
        return self._guarded([expr.operand], f"({not expr.negated} if $0 in {members} else None)")

    def _cast(self, expr: Cast) -> str:
        template = casts.template(expr.operand.type, expr.type, self)
        if template == "$0":
            return self.value(expr.operand)
        if not expr.is_try:
            return self._guarded([expr.operand], template)
        body = self.filled(template, ["x"])
        attempt = self.hoist(f"{self.library('casts.attempt')}(lambda x: {body})")
        return self._guarded([expr.operand], f"{attempt}($0)")

    def _udf(self, expr: UdfCall) -> str:
        function = self.object(expr.function)
        args = []
        for arg in expr.args:
            to_user = converts_between(arg.type)
            code = self.value(arg)
            args.append(f"{self.object(to_user.outward)}({code})" if to_user else code)
        call = f"{function}({', '.join(args)})"
        if expr.function.kind == "table":
            # What it emits is many rows; only rows inside their columns are converted.
            columns = expr.function.result_type
            inner = any(converts_between(t) for t in columns.children())
            return f"{self.object(InwardRows(columns))}({call})" if inner else call
        from_user = converts_between(expr.type)
        if from_user is not None:
            return f"{self.object(from_user.inward)}({call})"
        if isinstance(expr.type, BooleanType):
            # Three-valued code asks `is False`, which 0 and numpy's booleans are not.
            return f"{self.library('casts.boolean_or_null')}({call})"
        if isinstance(expr.type, DecimalType):
            quantum, digits = self.quantum(expr.type.scale), expr.type.precision
            return f"{self.library('decimals.of_user')}({call}, {digits}, {quantum})"
        if isinstance(expr.type, FloatType):
            return f"{self.library('numbers.float32_or_null')}({call})"
        return call

    # --- conditions ------------------------------------------------------------------------------

    def _truth(self, expr: Expr, wanted: bool) -> str:
        if expr in self.shared:
            return self._plain_truth(expr, wanted)
        if isinstance(expr, Call):
            if expr.function in ("AND", "OR"):
                word = "and" if (expr.function == "AND") is wanted else "or"
                parts = [self.truth(o, wanted) for o in flatten(expr.function, expr)]
                return "(" + f" {word} ".join(parts) + ")"
            if expr.function == "NOT":
                return self._truth(expr.args[0], not wanted)
            function = catalog.scalar_function(expr.function)
            if function.nulls == "args" and self.may_be_null(expr):
                template = self._template(function, expr)
                tests, codes = self._tested(expr.args, template)
                body = self.filled(template, codes)
                known = [test[: -len("is None")] + "is not None" for test in tests]
                return "(" + " and ".join([*known, body if wanted else f"not {body}"]) + ")"
        if isinstance(expr, Case):
            return self._case(expr, lambda inner: self.truth(inner, wanted))
        return self._plain_truth(expr, wanted)

    def _plain_truth(self, expr: Expr, wanted: bool) -> str:
        code = self.value(expr)
        if wanted:
            return code
        return f"({code} is False)" if self.may_be_null(expr) else f"(not {code})"

    # --- depth -----------------------------------------------------------------------------------

    def _lifted(self, code: str) -> str:
        return self._function(code) if nesting(code) > _MAX_NESTING else code

    def _function(self, code: str) -> str:
        """Move code into a function of its own, and return the call."""
        names = sorted(set(_LOCAL.findall(code)))
        parameters = ", ".join(names)
        name = f"_f{self.tag}{len(self.prelude)}"
        self.prelude.append(f"def {name}({parameters}):\n    return {code}")
        return f"{name}({parameters})"


#: Types of which a value may become NULL of itself.
_OVERFLOWS = (DecimalType, CharacterType)


def _keeps_null(cast: Cast) -> bool:
    """Return whether a cast gives NULL for NULL alone: one that changes no more than the width."""
    source, target = cast.operand.type, cast.type
    return source.nullable() == target.nullable() or (
        isinstance(source, IntegralType) and isinstance(target, IntegralType)
    )


def may_be_null(expr: Expr) -> bool:
    """Return whether a value can be NULL: its type says so, or a DECIMAL in it may overflow."""
    if expr.type.is_nullable:
        return True
    if isinstance(expr, Call):
        nulls = catalog.scalar_function(expr.function).nulls
        if nulls == "loose":
            return isinstance(expr.type, _OVERFLOWS) or _any_null(expr.args)
        return nulls in ("args", "maybe") and _any_null(expr.args)
    if isinstance(expr, Cast):
        return isinstance(expr.type, DecimalType) or may_be_null(expr.operand)
    if isinstance(expr, Case | In):
        return _any_null(expr.children())
    return False


def _any_null(exprs: tuple[Expr, ...]) -> bool:
    return any(may_be_null(expr) for expr in exprs)


def flatten(function: str, expr: Expr) -> list[Expr]:
    """Return the operands of nested ANDs or ORs in one list."""
    if isinstance(expr, Call) and expr.function == function:
        return [operand for arg in expr.args for operand in flatten(function, arg)]
    return [expr]


def is_hashable(t: LogicalType) -> bool:
    """Return whether values of the type can be members of a set as they are."""
    if isinstance(t, ArrayType | MapType | MultisetType):
        return False
    return all(map(is_hashable, t.children())) if isinstance(t, RowType) else True


def _as_comparisons(expr: In) -> Expr:
    nullable = expr.type
    word, operator = ("AND", "<>") if expr.negated else ("OR", "=")
    parts = tuple(
        Call(
            operator,
            (expr.operand, option),
            BooleanType(is_nullable=expr.operand.type.is_nullable or option.type.is_nullable),
        )
        for option in expr.options
    )
    return parts[0] if len(parts) == 1 else Call(word, parts, nullable)
