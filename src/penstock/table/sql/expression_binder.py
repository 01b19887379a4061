"""From a parsed scalar expression to a typed one.

Aggregates, OVER calls and subqueries become placeholders: leaves that the query binder replaces by
columns once it has put the node below that computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlglot import exp

from penstock.core.sql.casts import text_to_date, text_to_time, text_to_timestamp
from penstock.errors import EvaluationError, FunctionError, ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.codegen.casts import can_cast
from penstock.graph.relational.expressions import (
    Expr,
    FieldAccess,
    In,
    Literal,
    case,
    cast,
    symbol,
    try_cast,
)
from penstock.graph.relational.functions import catalog
from penstock.graph.relational.type_rules import common_type
from penstock.table.expression_tree import Bound
from penstock.table.sql.dialect import JsonCall
from penstock.table.sql.intervals import interval_literal
from penstock.table.sql.scope import Scope, place
from penstock.table.sql.type_parser import parse_type

_BINARY: dict[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.DPipe: "||",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "AND", exp.Or: "OR", exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM", exp.Like: "LIKE", exp.SimilarTo: "SIMILAR TO",
}  # fmt: skip
#: Functions whose first arguments are keywords.
_UNIT_FIRST = ("TIMESTAMPADD", "TIMESTAMPDIFF")


@dataclass(frozen=True)
class Subquery(Expr):
    """A subquery as part of an expression. `kind`: scalar, exists, in."""

    query: Any = field(compare=False)  # the tree
    kind: str
    operand: Expr | None = None
    type: t.LogicalType = field(default=t.BooleanType())

    def __str__(self) -> str:
        return f"{self.kind.upper()} subquery"


class ExpressionBinder:
    """Bind the expressions of one SELECT.

    :param functions: gives the user's function of a name, or None.
    :param special: is asked first for every tree; whatever it returns is taken.
    """

    def __init__(
        self,
        scope: Scope,
        functions: Callable[[str], Any],
        special: Callable[[Any, ExpressionBinder], Expr | None] | None = None,
    ) -> None:
        self.scope = scope
        self.functions = functions
        self.special = special

    def bind(self, tree: Any) -> Expr:
        """Return the typed expression of a tree.

        :raises ValidationError: if a name or a type is wrong.
        """
        if self.special is not None and (found := self.special(tree, self)) is not None:
            return found
        operator = _BINARY.get(type(tree))
        if operator is not None:
            return self._binary(operator, tree)
        method = _BINDERS.get(type(tree))
        if method is None:
            raise ValidationError(
                "this expression is not supported",
                where=place(tree),
                got=tree.sql(),
                todo="write it with other functions",
            )
        return method(self, tree)

    def resolve(self, name: str, args: list[Expr], tree: Any = None) -> Expr:
        """Return a call of a built-in function."""
        try:
            return catalog.resolve(name, tuple(args))
        except FunctionError as error:
            error.where = error.where or place(tree)
            raise

    def _binary(self, operator: str, tree: Any) -> Expr:
        left, right = tree.this, tree.expression
        if operator in ("AND", "OR"):
            # Long chains are nested to the left: flat, so that the depth does not grow.
            parts = [right]
            while type(left) is type(tree):
                parts.append(left.expression)
                left = left.this
            return self.resolve(operator, [self.bind(p) for p in [left, *reversed(parts)]], tree)
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(operator, tree)
        if operator == "LIKE" and tree.args.get("negate"):
            operator = "NOT LIKE"
        return self.resolve(operator, [self.bind(left), self.bind(right)], tree)

    def _quantified(self, operator: str, tree: Any) -> Expr:
        some = isinstance(tree.expression, exp.Any)
        if operator == "=" and some:
            query = tree.expression.this
            return Subquery(_query_of(query), "in", self.bind(tree.this))
        raise ValidationError(
            "ALL and SOME work with = SOME only", where=place(tree), got=tree.sql(),
            todo="compare with MIN or MAX of the subquery instead",
        )  # fmt: skip

    # ---- leaves --------------------------------------------------------------------------------

    def column(self, tree: Any) -> Expr:
        parts = [part.name for part in tree.parts]
        return self.scope.find(parts, tree)

    def dot(self, tree: Any) -> Expr:
        parts: list[str] = []
        node = tree
        while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            parts.insert(0, node.expression.name)
            node = node.this
        if isinstance(tree, exp.Dot) and isinstance(tree.expression, exp.Anonymous):
            # catalog.database.function(...)
            return self.call(tree.expression)
        if isinstance(node, exp.Column):
            return self.scope.find([*(part.name for part in node.parts), *parts], tree)
        inner = self.bind(node)
        for name in parts:
            row = inner.type
            index = row.index(name) if isinstance(row, t.RowType) else None
            if index is None:
                raise ValidationError(f"{inner} has no field {name!r}", where=place(tree))
            inner = FieldAccess(inner, index)
        return inner

    def literal(self, tree: Any) -> Expr:
        text = tree.this
        if tree.is_string:
            return Literal(text, t.CharType(max(len(text), 0), is_nullable=False))
        return number_literal(text)

    def bound(self, tree: Any) -> Expr:
        expr: Expr = tree.args["expr"]
        return expr

    def null(self, tree: Any) -> Expr:
        return Literal(None, t.NullType())

    def boolean(self, tree: Any) -> Expr:
        return Literal(bool(tree.this), t.BooleanType(is_nullable=False))

    def hex_string(self, tree: Any) -> Expr:
        data = bytes.fromhex(str(tree.this))
        return Literal(data, t.BinaryType(len(data), is_nullable=False))

    def interval(self, tree: Any) -> Expr:
        return interval_literal(tree.this.name, tree.args["unit"].name)

    # ---- operators -----------------------------------------------------------------------------

    def paren(self, tree: Any) -> Expr:
        return self.bind(tree.this)

    def neg(self, tree: Any) -> Expr:
        if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
            return number_literal("-" + tree.this.this)
        return self.resolve("NEGATE", [self.bind(tree.this)], tree)

    def not_(self, tree: Any) -> Expr:
        inner = tree.this
        while isinstance(inner, exp.Paren) and not isinstance(inner.this, exp.Binary):
            inner = inner.this
        if isinstance(inner, exp.Is):
            return self.is_(inner, negated=True)
        if isinstance(inner, exp.Between):
            return self.between(inner, negated=True)
        if isinstance(inner, exp.In) and inner.args.get("query") is None:
            return self.in_(inner, negated=True)
        if isinstance(inner, exp.Like | exp.SimilarTo):
            word = "NOT LIKE" if isinstance(inner, exp.Like) else "NOT SIMILAR TO"
            return self.resolve(word, [self.bind(inner.this), self.bind(inner.expression)], tree)
        return self.resolve("NOT", [self.bind(inner)], tree)

    def escape(self, tree: Any) -> Expr:
        word = "SIMILAR TO" if isinstance(tree.this, exp.SimilarTo) else "LIKE"
        if tree.this.args.get("negate"):
            word = f"NOT {word}"
        parts = [tree.this.this, tree.this.expression, tree.expression]
        return self.resolve(word, [self.bind(part) for part in parts], tree)

    def is_(self, tree: Any, negated: bool = False) -> Expr:
        right = tree.expression
        word = "NULL"
        if isinstance(right, exp.Boolean):
            word = "TRUE" if right.this else "FALSE"
        elif not isinstance(right, exp.Null):
            return self.is_json(tree, negated)
        operator = f"IS NOT {word}" if negated else f"IS {word}"
        return self.resolve(operator, [self.bind(tree.this)], tree)

    def is_json(self, tree: Any, negated: bool) -> Expr:
        word = "IS NOT JSON" if negated else "IS JSON"
        kind = tree.expression.args.get("this")
        suffix = f" {str(kind).upper()}" if kind else ""
        return self.resolve(word + suffix, [self.bind(tree.this)], tree)

    def between(self, tree: Any, negated: bool = False) -> Expr:
        word = "NOT BETWEEN" if negated else "BETWEEN"
        if tree.args.get("symmetric"):
            word += " SYMMETRIC"
        parts = [tree.this, tree.args["low"], tree.args["high"]]
        return self.resolve(word, [self.bind(part) for part in parts], tree)

    def in_(self, tree: Any, negated: bool = False) -> Expr:
        operand = self.bind(tree.this)
        query = tree.args.get("query")
        if query is not None:
            return Subquery(_query_of(query), "in", operand)
        options = [self.bind(option) for option in tree.expressions]
        shared = common_type([operand.type, *(option.type for option in options)])
        if shared is None:
            return self.resolve("IN", [operand, *options], tree)
        return In(cast(operand, shared), tuple(cast(option, shared) for option in options), negated)

    def exists(self, tree: Any) -> Expr:
        return Subquery(_query_of(tree.this), "exists", None, t.BooleanType(is_nullable=False))

    def subquery(self, tree: Any) -> Expr:
        return Subquery(_query_of(tree), "scalar", None, t.NullType())

    def case_(self, tree: Any) -> Expr:
        branches = []
        subject = self.bind(tree.this) if tree.this is not None else None
        for branch in tree.args["ifs"]:
            when = self.bind(branch.this)
            if subject is not None:
                when = self.resolve("=", [subject, when], tree)
            branches.append((when, self.bind(branch.args["true"])))
        default = tree.args.get("default")
        found = case(branches, None if default is None else self.bind(default))
        if found is None:
            raise ValidationError(
                "the branches of a CASE have no type in common, or a condition is no BOOLEAN",
                where=place(tree),
                got=tree.sql(),
                todo="cast the branches to one type",
            )
        return found

    def cast_(self, tree: Any) -> Expr:
        text = tree.args["to"].this
        operand = tree.this
        if tree.args["to"].args.get("literal"):
            return temporal_literal(text, operand.this, tree)
        inner = self.bind(operand)
        target = parse_type(text)
        if not can_cast(inner.type, target):
            raise ValidationError(
                f"there is no CAST from {inner.type.nullable()} to {target.nullable()}",
                where=place(tree),
                todo="convert it with a function, or by way of another type such as STRING",
            )
        return try_cast(inner, target) if isinstance(tree, exp.TryCast) else cast(inner, target)

    def overlaps(self, tree: Any) -> Expr:
        periods = [*tree.this.expressions, *tree.expression.expressions]
        return self.resolve("OVERLAPS", [self.bind(part) for part in periods], tree)

    def bracket(self, tree: Any) -> Expr:
        args = [self.bind(tree.this), *(self.bind(index) for index in tree.expressions)]
        return self.resolve("ITEM", args, tree)

    def tuple_(self, tree: Any) -> Expr:
        return self.resolve("ROW", [self.bind(item) for item in tree.expressions], tree)

    # ---- calls ---------------------------------------------------------------------------------

    def call(self, tree: Any) -> Expr:
        name = str(tree.this if isinstance(tree.this, str) else tree.this.name)
        function = self.functions(name)
        arguments = tree.expressions
        if function is not None:
            args = tuple(self.bind(argument) for argument in arguments)
            return function.call(args, place(tree)) if hasattr(function, "call") else function(args)
        args_list: list[Expr] = []
        for position, argument in enumerate(arguments):
            if isinstance(argument, exp.Var) or (position == 0 and name.upper() in _UNIT_FIRST):
                args_list.append(symbol(argument.name.upper()))
            else:
                args_list.append(self.bind(argument))
        return self.resolve(name, args_list, tree)

    def json_call(self, tree: Any) -> Expr:
        args = [self.bind(argument) for argument in tree.expressions]
        clauses = " ".join(tree.args.get("clauses") or [])
        if clauses:
            args.append(symbol(clauses))
        return self.resolve(str(tree.this), args, tree)


def number_literal(text: str) -> Literal:
    """Return a number as Flink types it: INT, BIGINT or DECIMAL; DOUBLE with an exponent."""
    if "e" in text.lower():
        return Literal(float(text), t.DoubleType(is_nullable=False))
    if "." in text:
        value = Decimal(text)
        scale = -int(value.as_tuple().exponent)
        digits = max(len(value.as_tuple().digits), scale)
        return Literal(value, t.DecimalType(digits, scale, is_nullable=False))
    number = int(text)
    if -(2**31) <= number < 2**31:
        return Literal(number, t.IntType(is_nullable=False))
    if -(2**63) <= number < 2**63:
        return Literal(number, t.BigIntType(is_nullable=False))
    return Literal(Decimal(number), t.DecimalType(len(str(abs(number))), 0, is_nullable=False))


def temporal_literal(kind: str, text: str, tree: Any = None) -> Literal:
    """Return `DATE '...'`, `TIME '...'` or `TIMESTAMP '...'`."""
    digits = len(text.partition(".")[2])
    try:
        if kind == "DATE":
            return Literal(text_to_date(text), t.DateType(is_nullable=False))
        if kind == "TIME":
            return Literal(text_to_time(text), t.TimeType(digits, is_nullable=False))
        return Literal(text_to_timestamp(text), t.TimestampType(digits, is_nullable=False))
    except EvaluationError:
        raise ValidationError(
            f"this is no {kind}", where=place(tree), got=f"{kind} '{text}'",
            todo="write it as yyyy-MM-dd, HH:mm:ss or yyyy-MM-dd HH:mm:ss[.fraction]",
        ) from None  # fmt: skip


def _query_of(tree: Any) -> Any:
    while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
        tree = tree.this
    return tree


_BINDERS: dict[type, Callable[[ExpressionBinder, Any], Expr]] = {
    exp.Column: ExpressionBinder.column,
    exp.Dot: ExpressionBinder.dot,
    exp.Literal: ExpressionBinder.literal,
    exp.Null: ExpressionBinder.null,
    exp.Boolean: ExpressionBinder.boolean,
    exp.HexString: ExpressionBinder.hex_string,
    exp.Interval: ExpressionBinder.interval,
    exp.Paren: ExpressionBinder.paren,
    exp.Neg: ExpressionBinder.neg,
    exp.Not: ExpressionBinder.not_,
    exp.Escape: ExpressionBinder.escape,
    exp.Is: ExpressionBinder.is_,
    exp.Between: ExpressionBinder.between,
    exp.In: ExpressionBinder.in_,
    exp.Exists: ExpressionBinder.exists,
    exp.Subquery: ExpressionBinder.subquery,
    exp.Case: ExpressionBinder.case_,
    exp.Cast: ExpressionBinder.cast_,
    exp.TryCast: ExpressionBinder.cast_,
    exp.Overlaps: ExpressionBinder.overlaps,
    exp.Bracket: ExpressionBinder.bracket,
    exp.Tuple: ExpressionBinder.tuple_,
    exp.Anonymous: ExpressionBinder.call,
    JsonCall: ExpressionBinder.json_call,
    Bound: ExpressionBinder.bound,
}
