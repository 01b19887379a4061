"""What the planner recognises in a program: nodes that have an operator of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.graph.relational.algebra import (
    Node,
    WindowSpecification,
    show_aggregate,
    show_columns,
)
from penstock.graph.relational.expressions import AggregateCall, Expr, SortKey


@dataclass(frozen=True)
class Rank(Node):
    """The first rows of every partition; their number is the last column if asked for."""

    input: Node
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    start: int
    end: int
    with_number: bool
    function: str = "ROW_NUMBER"

    def describe(self) -> str:
        by = ", ".join(self.input.names()[i] for i in self.partition)
        order = ", ".join(map(str, self.keys))
        number = ", rank number" if self.with_number else ""
        return (
            f"rankType=[{self.function}], rankRange=[{self.start}, {self.end}], "
            f"partitionBy=[{by}], orderBy=[{order}]{number}"
        )


@dataclass(frozen=True)
class Deduplicate(Node):
    """One row a key: the first or the last by a time attribute."""

    input: Node
    keys: tuple[int, ...]
    keep_last: bool
    time: int
    domain: str  # rowtime, proctime

    def describe(self) -> str:
        by = ", ".join(self.input.names()[i] for i in self.keys)
        keep = "LastRow" if self.keep_last else "FirstRow"
        return f"keep=[{keep}], key=[{by}], order=[{self.domain.upper()}]"


@dataclass(frozen=True)
class LocalAggregate(Node):
    """The first phase of an aggregate: accumulators of the rows of one subtask, by group."""

    input: Node
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]

    def title(self) -> str:
        return "LocalGroupAggregate"

    def describe(self) -> str:
        return show_aggregate(self)


@dataclass(frozen=True)
class GlobalAggregate(Node):
    """The second phase: accumulators of a group merged. `calls` are over the first phase's input.

    The first columns of its input are the keys.
    """

    input: LocalAggregate
    calls: tuple[AggregateCall, ...]

    @property
    def keys(self) -> tuple[int, ...]:
        """Positions of the group's columns in the input."""
        return tuple(range(len(self.input.keys)))

    def title(self) -> str:
        return "GlobalGroupAggregate"

    def describe(self) -> str:
        return show_aggregate(self)


@dataclass(frozen=True)
class WindowAggregate(Node):
    """An aggregate whose keys are the bounds of a window, among others: final when it ends.

    `start`, `end` and `time` are positions in the result: of window_start, window_end and
    window_time, which may be missing (-1).
    """

    input: Node
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: WindowSpecification
    start: int
    end: int
    time: int

    def describe(self) -> str:
        return f"{show_aggregate(self)}, window=[{self.window}]"


#: Places of a window's bounds behind the keys of a group, counted from the end.
WINDOW_START, WINDOW_END, WINDOW_TIME = -3, -2, -1


@dataclass(frozen=True)
class SlicedAggregate(Node):
    """An aggregate of windows that overlap: a row is in one slice, which several windows share.

    The input's rows have no bounds of windows. `columns` says what the result begins with:
    positions among the keys, or `WINDOW_START`, `WINDOW_END` and `WINDOW_TIME`.
    """

    input: Node
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: WindowSpecification
    columns: tuple[int, ...]

    def title(self) -> str:
        return "WindowAggregate"

    def describe(self) -> str:
        names = self.names()
        calls = [f"{c} AS {n}" for c, n in zip(self.calls, names[len(self.columns) :], strict=True)]
        by = ", ".join(self.input.names()[key] for key in self.keys)
        select = ", ".join([*names[: len(self.columns)], *calls])
        group = f"groupBy=[{by}], " if by else ""
        return f"{group}select=[{select}], window=[{self.window}], slices=[{self.window.slide} ms]"


@dataclass(frozen=True)
class WindowRank(Node):
    """The first rows of every partition in every window of the input's rows."""

    input: Node
    partition: tuple[int, ...]
    keys: tuple[SortKey, ...]
    start: int
    end: int
    with_number: bool
    window_end: int  # position
    domain: str = "rowtime"

    def describe(self) -> str:
        by = ", ".join(self.input.names()[i] for i in self.partition)
        order = ", ".join(map(str, self.keys))
        return f"rankRange=[{self.start}, {self.end}], partitionBy=[{by}], orderBy=[{order}]"


@dataclass(frozen=True)
class WindowJoin(Node):
    """A join of rows of the same window."""

    left: Node
    right: Node
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expr | None
    left_window_end: int
    right_window_end: int

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"joinType=[{self.kind}], {_show_keys(self)}"


@dataclass(frozen=True)
class IntervalJoin(Node):
    """A join whose condition bounds the time between the rows."""

    left: Node
    right: Node
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expr | None  # what keys and bounds do not say
    left_time: int
    right_time: int
    lower: int  # left time - right time >= lower, in milliseconds
    upper: int
    domain: str = "rowtime"

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return (
            f"joinType=[{self.kind}], leftLowerBound={self.lower}, leftUpperBound={self.upper}, "
            f"{_show_keys(self)}"
        )


@dataclass(frozen=True)
class EquiJoin(Node):
    """A regular join on equal keys, with a condition on the rest."""

    left: Node
    right: Node
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expr | None
    null_aware: bool = False
    #: Positions whose NULLs count as equal (IS NOT DISTINCT FROM).
    null_safe: tuple[bool, ...] = ()

    def title(self) -> str:
        return "Join"

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"joinType=[{self.kind}], {_show_keys(self)}"


@dataclass(frozen=True)
class TemporalJoin(Node):
    """A join with the version of the right row that was valid at the left row's time."""

    left: Node
    right: Node
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expr | None
    left_time: int
    right_time: int | None  # None: processing time, the latest version
    lookup: Any = None  # a table that is asked row by row instead

    def inputs(self) -> tuple[Node, ...]:
        return (self.left,) if self.lookup is not None else (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        right = self.right if self.lookup is not None else inputs[1]
        return replace(self, left=inputs[0], right=right)

    def title(self) -> str:
        return "LookupJoin" if self.lookup is not None else "TemporalJoin"

    def describe(self) -> str:
        return f"joinType=[{self.kind}], {_show_keys(self)}"


@dataclass(frozen=True)
class Calc(Node):
    """Filter and projection in one: what the code generator makes one loop of."""

    input: Node
    condition: Expr | None
    exprs: tuple[Expr, ...]

    def describe(self) -> str:
        text = f"select=[{show_columns(self.exprs, self.names())}]"
        return text if self.condition is None else f"{text}, where=[{self.condition}]"


@dataclass(frozen=True)
class ChangelogNormalize(Node):
    """Upserts of a source as a full changelog: -U before +U, no update that changes nothing."""

    input: Node
    keys: tuple[int, ...]

    def describe(self) -> str:
        return f"key=[{', '.join(self.input.names()[i] for i in self.keys)}]"


def _show_keys(node: WindowJoin | IntervalJoin | EquiJoin | TemporalJoin) -> str:
    """Return the keys of a join as text, with what else is asked of a pair."""
    left, right = node.left.names(), node.right.names()
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    keys = " AND ".join(f"{left[a]} = {right[b]}" for a, b in pairs)
    rest = "" if node.condition is None else f", filter=[{node.condition}]"
    return f"where=[{keys or 'true'}]{rest}"
