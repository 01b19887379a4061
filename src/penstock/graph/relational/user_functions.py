"""A function of the user as a node of a plan: what it is called, what it takes and gives."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import FunctionError
from penstock.graph.relational.expressions import AggregateCall, Expr, UdfCall, cast
from penstock.graph.relational.type_rules import can_cast_implicitly
from penstock.graph.relational.types import LogicalType


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of the user, with its declaration. Two are the same if they are one object.

    :param name: the name that plans show.
    :param kind: `scalar`, `table`, `aggregate` or `table_aggregate`.
    :param function: the instance (`core.functions.user_defined`), opened in the worker.
    :param result_type: of a table function: a ROW of what it emits.
    :param input_types: as declared, or None: then it takes whatever it is given.
    :param deterministic: whether calls with equal arguments may be made once.
    :param vectorized: whether it is called with pandas series, once for a chunk or a group.
    :param asynchronous: whether `eval` is a coroutine; then a chunk's calls wait together.
    :param site: file and line at which it was declared.
    """

    name: str
    kind: str
    function: Any
    result_type: LogicalType
    input_types: tuple[LogicalType, ...] | None = None
    accumulator_type: LogicalType | None = None
    deterministic: bool = True
    vectorized: bool = False
    asynchronous: bool = False
    site: str | None = None

    @property
    def works_on_chunks(self) -> bool:
        """Whether it is called for a whole chunk and not within a row's expression."""
        return self.vectorized or self.asynchronous

    def renamed(self, name: str) -> UserFunction:
        """Return the function under the name that it is registered by."""
        return self if name == self.name else replace(self, name=name)

    def checked(self, args: Sequence[Expr], where: str | None = None) -> tuple[Expr, ...]:
        """Return the arguments, cast to the declared types.

        :raises FunctionError: if the number or a type of them is wrong.
        """
        if self.input_types is None:
            self._check_signature(args, where)
            return tuple(args)
        fits = len(args) == len(self.input_types) and all(
            can_cast_implicitly(arg.type, t) for arg, t in zip(args, self.input_types, strict=True)
        )
        if not fits:
            given = ", ".join(arg.type.as_summary_string() for arg in args)
            taken = ", ".join(t.as_summary_string() for t in self.input_types)
            raise FunctionError(
                f"{self.name} does not take these arguments",
                where=where,
                got=f"{self.name}({given})",
                todo=f"call it as {self.name}({taken})",
            )
        return tuple(cast(arg, t) for arg, t in zip(args, self.input_types, strict=True))

    def _check_signature(self, args: Sequence[Expr], where: str | None) -> None:
        """Compare the number of arguments with what the Python function takes."""
        method, first = self.function, []
        if self.kind in ("scalar", "table"):
            method = self.function.eval
        elif self.vectorized:
            method = self.function.compute
        else:
            method, first = self.function.accumulate, [None]
        try:
            signature = inspect.signature(method)
        except (TypeError, ValueError):
            return  # written in C, without a signature
        try:
            signature.bind(*first, *args)
        except TypeError as error:
            given = ", ".join(arg.type.as_summary_string() for arg in args)
            raise FunctionError(
                f"{self.name} does not take these arguments: {error}",
                where=where,
                got=f"{self.name}({given})",
                todo=f"call it as {self.name}{signature}",
            ) from None

    def call(self, args: Sequence[Expr], where: str | None = None) -> UdfCall:
        """Return the call of a scalar function.

        :raises FunctionError: if it is of another kind, or does not take the arguments.
        """
        if self.kind != "scalar":
            raise FunctionError(
                f"{self.name} is no scalar function",
                where=where,
                got=f"a function of kind {self.kind}",
                todo=_HINTS[self.kind].format(self.name),
            )
        return UdfCall(self, self.checked(args, where), self.result_type)

    def aggregate(
        self,
        args: Sequence[Expr],
        distinct: bool = False,
        filter: Expr | None = None,
        where: str | None = None,
    ) -> AggregateCall:
        """Return the call of an aggregate function.

        :raises FunctionError: if it does not take the arguments.
        """
        return AggregateCall(
            self, self.checked(args, where), self.result_type.nullable(), distinct, filter
        )


_HINTS = {
    "table": "write LATERAL TABLE({}(...)), or use join_lateral or flat_map",
    "aggregate": "call {} where rows are grouped, or OVER a window",
    "table_aggregate": "use {} in flat_aggregate",
}
