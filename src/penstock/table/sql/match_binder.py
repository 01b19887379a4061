"""MATCH_RECOGNIZE: variables, navigation and aggregates of its conditions and measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Match, Node
from penstock.graph.relational.expressions import AggregateCall, Expr, InputRef, Literal, SortKey
from penstock.graph.relational.matching import (
    MatchSpecification,
    MatchStage,
    Reading,
    RowsAggregate,
    RowValue,
)
from penstock.table.sql.aggregate_calls import bind_aggregate, is_aggregate
from penstock.table.sql.expression_binder import ExpressionBinder
from penstock.table.sql.scope import Scope, nearest, place

_UNSUPPORTED = ("CLASSIFIER", "MATCH_NUMBER", "PREV", "NEXT")


@dataclass(frozen=True)
class MatchColumn(Expr):
    """A column of a row of the match, by the variable that has taken it."""

    value: RowValue
    type: t.LogicalType
    navigated: bool = False
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        if not self.navigated:
            return self.text
        offset = f", {self.value.offset}" if self.value.offset else ""
        return f"{'FIRST' if self.value.first else 'LAST'}({self.text}{offset})"


@dataclass(frozen=True)
class MatchAggregate(Expr):
    """An aggregate over the rows of a variable."""

    variable: str | None
    call: AggregateCall
    type: t.LogicalType
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text


class _MatchScope(Scope):
    """Columns with the name of a variable in front."""

    def __init__(self, node: Node, variables: Sequence[str]) -> None:
        super().__init__(Scope.of(node).relations)
        self._variables = variables

    def find(self, parts: Sequence[str], tree: Any = None) -> Expr:
        variable = None
        if len(parts) > 1 and parts[0] in self._variables:
            variable, parts = parts[0], parts[1:]
        elif len(parts) > 1 and not self._matches((), parts[0]):
            raise ValidationError(
                f"there is no pattern variable {parts[0]!r}",
                where=place(tree),
                got=".".join(parts),
                todo=nearest(parts[0], self._variables)
                or f"variables of the PATTERN are: {', '.join(self._variables)}",
            )

        def change(leaf: Expr) -> Expr | None:
            if not isinstance(leaf, InputRef):
                return None
            kind = leaf.type.nullable()
            if isinstance(kind, t.PointInTimeType):
                kind = kind.as_attribute(t.TimeAttribute.NONE)
            text = leaf.name if variable is None else f"{variable}.{leaf.name}"
            return MatchColumn(RowValue(variable, False, 0, leaf.index), kind, text=text)

        return super().find(parts, tree).transform(change)


class MatchBinder:
    """Bind one MATCH_RECOGNIZE."""

    def __init__(self, node: Node, tree: Any, functions: Callable[[str], Any]) -> None:
        self._node = node
        self._tree = tree
        self._functions = functions
        self._variables = [part.this for part in tree.args["pattern"]]
        self._time = -1
        self._binder = ExpressionBinder(
            _MatchScope(node, self._variables), functions, self._special
        )

    def bind(self) -> Node:
        """Return the node.

        :raises ValidationError: for what is wrong, and for what neither Flink supports.
        """
        tree, node = self._tree, self._node
        if tree.args.get("all_rows"):
            raise self._error("All rows per match mode is not supported yet.",
                              "write ONE ROW PER MATCH, or leave it out")  # fmt: skip
        plain = ExpressionBinder(Scope.of(node), self._functions)
        partition = []
        for item in tree.args.get("partition_by") or ():
            column = plain.bind(item)
            if not isinstance(column, InputRef):
                raise self._error(
                    "PARTITION BY of MATCH_RECOGNIZE names columns",
                    "compute the column in a subquery first", str(column),
                )  # fmt: skip
            partition.append(column.index)
        self._time, is_rowtime, order = self._order(plain)
        stages = self._stages()
        names = [measure.alias for measure in tree.args["measures"]]
        bound = [self._binder.bind(measure.this) for measure in tree.args["measures"]]
        measures, reading = _read(bound, None, len(partition))
        skip, skip_to = self._skip()
        specification = MatchSpecification(
            tuple(partition), self._time, is_rowtime, order, stages, skip, skip_to,
            self._within(), tuple(measures), reading,
        )  # fmt: skip
        fields = [node.schema.fields[i] for i in partition]
        fields += [t.RowField(n, e.type) for n, e in zip(names, bound, strict=True)]
        seen: set[str] = set()
        for each in fields:
            if each.name in seen:
                raise self._error("Columns ambiguously defined", "give each measure its own name",
                                  each.name)  # fmt: skip
            seen.add(each.name)
        return Match(t.RowType(tuple(fields), is_nullable=False), node, specification)

    # ---- clauses -------------------------------------------------------------------------------

    def _order(self, binder: ExpressionBinder) -> tuple[int, bool, tuple[SortKey, ...]]:
        tree = self._tree.args.get("order")
        keys = [
            SortKey(binder.bind(item.this), bool(item.args.get("desc")),
                    bool(item.args.get("nulls_first")))
            for item in (tree.expressions if tree is not None else ())
        ]  # fmt: skip
        first = keys[0].operand if keys else None
        kind = None if first is None else first.type
        if not isinstance(first, InputRef) or not (
            isinstance(kind, t.PointInTimeType) and kind.is_attribute
        ):
            raise self._error(
                "You must specify either rowtime or proctime for order by as the first one.",
                "order by a time attribute first", None if first is None else str(first),
            )  # fmt: skip
        if keys[0].descending:
            raise self._error(
                "Primary sort order of a streaming table must be ascending on time.",
                "leave out DESC", str(keys[0]),
            )  # fmt: skip
        return first.index, kind.attribute is t.TimeAttribute.ROWTIME, tuple(keys[1:])

    def _stages(self) -> tuple[MatchStage, ...]:
        parts = self._tree.args["pattern"]
        self._check(parts)
        conditions = {}
        for item in self._tree.args.get("define") or ():
            name = item.this.name
            if name not in self._variables or name in conditions:
                raise self._error(
                    f"Pattern variable '{name}' has already been defined"
                    if name in conditions
                    else f"Pattern variable '{name}' is defined but not used in the PATTERN",
                    "define each variable of the PATTERN once at most",
                )
            conditions[name] = item.expression
        width = len(self._node.schema.fields)
        stages = []
        for part in parts:
            condition, reading = None, Reading()
            if part.this in conditions:
                bound = self._binder.bind(conditions[part.this])
                if not isinstance(bound.type, t.BooleanType):
                    raise self._error("a condition of DEFINE must be a BOOLEAN",
                                      "compare the value with another", str(bound))  # fmt: skip
                found, reading = _read([bound], part.this, width)
                condition = found[0]
            most = part.args.get("most")
            stages.append(
                MatchStage(part.this, part.args["least"], most, not part.args["reluctant"],
                           condition, reading)
            )  # fmt: skip
        return tuple(stages)

    def _check(self, parts: list[Any]) -> None:
        for i, part in enumerate(parts):
            if part.this in self._variables[:i]:
                raise self._error(f"Pattern variable '{part.this}' is used twice in the PATTERN",
                                  "give the second one another name")  # fmt: skip
            least, most = part.args["least"], part.args.get("most")
            if most is not None and (most < least or most == 0):
                raise self._error(
                    "a quantifier takes at least one row, and its bounds ascend",
                    "write {n}, {n,}, {n,m} or {,m}", f"{{{least},{most}}}",
                )  # fmt: skip
            if part.args["reluctant"] and (least, most) == (0, 1):
                raise self._error("Reluctant optional variables are not supported yet.",
                                  f"write {part.this}?")  # fmt: skip
            if i and (least, most) in ((0, 1), (0, None)) and _is_greedy(parts[i - 1]):
                raise self._error(
                    "Optional pattern cannot be preceded by greedy pattern",
                    f"put a ? behind the quantifier of {parts[i - 1].this}",
                )
        if all(part.args["least"] == 0 for part in parts):
            raise self._error(
                "Patterns that can produce empty matches are not supported. "
                "There must be at least one non-optional state.",
                "let a variable take one row at least",
            )
        last = parts[-1]
        if not last.args["reluctant"] and last.args["least"] != last.args.get("most"):
            raise self._error(
                "Greedy quantifiers are not allowed as the last element of a Pattern yet. "
                "Finish your pattern with either a simple variable or reluctant quantifier.",
                "add a variable behind it, or a ? behind the quantifier",
            )

    def _skip(self) -> tuple[str, str | None]:
        skip, skip_to = self._tree.args.get("skip"), self._tree.args.get("skip_to")
        if skip_to is not None and skip_to not in self._variables:
            raise self._error(
                f"Unknown pattern '{skip_to}'",
                nearest(skip_to, self._variables) or "skip to a variable of the PATTERN",
            )
        return skip or "NEXT ROW", skip_to

    def _within(self) -> int | None:
        tree = self._tree.args.get("within")
        if tree is None:
            return None
        bound = self._binder.bind(tree)
        assert isinstance(bound, Literal)
        if not isinstance(bound.type, t.DayTimeIntervalType):
            raise self._error(
                "Only constant intervals with millisecond resolution are supported as time "
                "constraints of patterns.", "use DAY, HOUR, MINUTE or SECOND", str(bound),
            )  # fmt: skip
        return round(bound.value.total_seconds() * 1000)

    # ---- expressions ---------------------------------------------------------------------------

    def _special(self, tree: Any, binder: ExpressionBinder) -> Expr | None:
        condition = None
        call = tree
        if isinstance(tree, exp.Filter):
            condition, call = tree.expression.this, tree.this
        if not isinstance(call, exp.Anonymous):
            return None
        name = str(call.this).upper()
        if name in _UNSUPPORTED:
            raise self._error(f"{name}() is not supported in MATCH_RECOGNIZE",
                              "use FIRST(...) and LAST(...)")  # fmt: skip
        if name in ("FIRST", "LAST"):
            return self._navigated(name, call)
        if name == "MATCH_ROWTIME":
            return self._rowtime(call)
        if name == "MATCH_PROCTIME":
            return binder.resolve("PROCTIME", [], call)
        user = self._functions(str(call.this))
        if is_aggregate(name) or getattr(user, "kind", None) == "aggregate":
            aggregate = bind_aggregate(str(call.this), call, condition, binder, self._functions)
            return self._aggregate(aggregate)
        return None

    def _navigated(self, name: str, call: Any) -> Expr:
        arguments = call.expressions
        offset = 0
        if len(arguments) == 2:
            bound = self._binder.bind(arguments[1])
            if not isinstance(bound, Literal) or not isinstance(bound.value, int):
                raise self._error(f"the offset of {name} is a constant number",
                                  "write a number, 0 or more", str(bound))  # fmt: skip
            offset = bound.value
        elif len(arguments) != 1:
            raise self._error(
                f"{name} takes a value and, if need be, an offset",
                f"write {name}(A.price) or {name}(A.price, 1)", call.sql(),
            )  # fmt: skip

        def change(leaf: Expr) -> Expr | None:
            if isinstance(leaf, MatchAggregate) or (
                isinstance(leaf, MatchColumn) and leaf.navigated
            ):
                raise self._error(f"{name} cannot stand around another navigation or aggregate",
                                  "take it apart", str(leaf))  # fmt: skip
            if isinstance(leaf, MatchColumn):
                value = replace(leaf.value, first=name == "FIRST", offset=offset)
                return replace(leaf, value=value, navigated=True)
            return None

        return self._binder.bind(arguments[0]).transform(change)

    def _rowtime(self, call: Any) -> Expr:
        kind = self._node.schema.fields[self._time].type
        if not isinstance(kind, t.PointInTimeType) or kind.attribute is not t.TimeAttribute.ROWTIME:
            raise self._error("MATCH_ROWTIME() needs rows that are ordered by a rowtime",
                              "order by a rowtime, or use MATCH_PROCTIME()")  # fmt: skip
        value = RowValue(None, False, 0, self._time)
        return MatchColumn(value, kind, text="MATCH_ROWTIME()")

    def _aggregate(self, call: AggregateCall) -> Expr:
        found: set[str | None] = set()
        text = str(call)

        def change(leaf: Expr) -> Expr | None:
            if isinstance(leaf, MatchAggregate) or (
                isinstance(leaf, MatchColumn) and leaf.navigated
            ):
                raise self._error("an aggregate cannot hold a navigation or another aggregate",
                                  "take it apart", text)  # fmt: skip
            if isinstance(leaf, MatchColumn):
                found.add(leaf.value.variable)
                return InputRef(leaf.value.column, leaf.type, leaf.text)
            return None

        if call.distinct:
            raise self._error("DISTINCT is not supported in aggregates of MATCH_RECOGNIZE",
                              "leave out DISTINCT", text)  # fmt: skip
        plain = call.map(lambda expr: expr.transform(change))
        if len(found) > 1:
            raise self._error(
                "Aggregation must be applied to a single pattern variable",
                "read columns of one variable in it", text,
            )  # fmt: skip
        return MatchAggregate(next(iter(found), None), plain, call.type, text)

    def _error(self, what: str, todo: str, got: str | None = None) -> ValidationError:
        return ValidationError(what, where=place(self._tree), got=got, todo=todo)


def _is_greedy(part: Any) -> bool:
    least, most = part.args["least"], part.args.get("most")
    return not part.args["reluctant"] and least != most and (least, most) != (0, 1)


def _read(exprs: Sequence[Expr], current: str | None, width: int) -> tuple[list[Expr], Reading]:
    """Return expressions over a wider row, and what stands in it.

    :param current: the variable that the row in hand would belong to: its latest row is that one.
        None in measures, which have no row in hand.
    :param width: of the columns in front of what is read.
    """
    values: list[RowValue] = []
    calls: dict[str | None, list[AggregateCall]] = {}
    for leaf in _leaves(exprs):
        if isinstance(leaf, MatchAggregate):
            group = calls.setdefault(leaf.variable, [])
            if leaf.call not in group:
                group.append(leaf.call)
        elif not _is_current(leaf, current) and leaf.value not in values:
            values.append(leaf.value)
    places: dict[tuple[str | None, AggregateCall], int] = {}
    for variable, group in calls.items():
        for call in group:
            places[variable, call] = width + len(values) + len(places)

    def change(leaf: Expr) -> Expr | None:
        if isinstance(leaf, MatchAggregate):
            return InputRef(places[leaf.variable, leaf.call], leaf.type, str(leaf))
        if isinstance(leaf, MatchColumn):
            value = leaf.value
            here = _is_current(leaf, current)
            index = value.column if here else width + values.index(value)
            return InputRef(index, leaf.type, str(leaf))
        return None

    reading = Reading(
        tuple(values), tuple(RowsAggregate(name, tuple(group)) for name, group in calls.items())
    )
    return [expr.transform(change) for expr in exprs], reading


def _leaves(exprs: Iterable[Expr]) -> Iterable[Any]:
    for expr in exprs:
        for node in expr.walk():
            if isinstance(node, MatchColumn | MatchAggregate):
                yield node


def _is_current(leaf: MatchColumn, current: str | None) -> bool:
    value = leaf.value
    if current is None or value.first or value.offset:
        return False
    return value.variable in (None, current)
