"""What the catalog knows of an aggregate function: arguments, result, and its accumulator's code.

The accumulators of all aggregates of a group are one flat list of plain values, so that state is
small and picklable and a loop over rows needs no call. An aggregate has some **slots** in it. Its
code are templates of statements over

* `$0`, `$1` ...: the arguments; not NULL unless `nulls` is `own`,
* `%0`, `%1` ...: its slots,
* `@module.name`: the library of values, as in scalar code.

`value` is an expression over slots. `retract` takes back one accumulated row; where it is None the
aggregate cannot. A function whose plain form keeps less than retraction needs (MIN keeps one value)
has a second form, `retractable`, for inputs that update.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.graph.relational.expressions import AggregateCall, Expr
from penstock.graph.relational.functions.function import ResultRule, Signature
from penstock.graph.relational.types import LogicalType


@dataclass(frozen=True)
class Accumulator:
    """The code of an aggregate in one form.

    :param slots: code of the initial value of each slot.
    :param merge: statements over `%n` and the other accumulator's slots `&n`.
    :param owes: whether a value may be taken back before it comes, in another accumulator that is
        merged with this one.
    """

    slots: tuple[str, ...]
    accumulate: str
    value: str
    retract: str | None = None
    merge: str | None = None
    owes: bool = False


AccumulatorRule = Accumulator | Callable[[AggregateCall], Accumulator]


@dataclass(frozen=True)
class Aggregate:
    """A built-in aggregate function.

    :param nullable: whether the result may be NULL though the arguments are not (no rows).
    :param over_only: whether it has a meaning only over ordered rows (`ROW_NUMBER`, `LAG`).
    """

    name: str
    signatures: tuple[Signature, ...]
    result: ResultRule
    plain: AccumulatorRule | None
    doc: str
    retractable: AccumulatorRule | None = None
    nulls: str = "skip"
    nullable: bool = True
    aliases: tuple[str, ...] = ()
    over_only: bool = False

    def resolve(
        self, args: Sequence[Expr], distinct: bool, kept: Expr | None
    ) -> AggregateCall | None:
        """Return the call with these arguments, or None if no signature takes them."""
        for signature in self.signatures:
            accepted = signature.accept(args)
            if accepted is None:
                continue
            result = self.result(accepted) if callable(self.result) else self.result
            if result is not None:
                typed: LogicalType = result.with_nullability(self.nullable)
                return AggregateCall(self.name, accepted, typed, distinct, kept)
        return None

    def accumulator(self, call: AggregateCall, retract: bool) -> Accumulator | None:
        """Return the code for a call, on inputs that update or do not."""
        rule = self.plain if self.retractable is None or not retract else self.retractable
        return rule(call) if callable(rule) else rule

    def shown_signatures(self) -> list[str]:
        """Return the forms in which it can be called, for error messages."""
        return [f"{self.name}({signature.text.upper()})" for signature in self.signatures]


def aggregate(
    name: str,
    signatures: str | Sequence[str],
    result: ResultRule,
    plain: AccumulatorRule | None,
    doc: str,
    **options: Any,
) -> Aggregate:
    """Describe an aggregate function. The parameters are those of `Aggregate`."""
    forms = [signatures] if isinstance(signatures, str) else signatures
    parsed = tuple(Signature.parse(form) for form in forms)
    return Aggregate(name, parsed, result, plain, doc, **options)


def with_value(accumulator: Accumulator, value: str) -> Accumulator:
    """Return the same accumulator with another final expression."""
    return replace(accumulator, value=value)
