"""Relational nodes: what SQL and the Table API both build, and the planner rewrites.

Nodes are frozen trees. Columns are positions (`InputRef`); names live in each node's `schema`.
These nodes are what a program says; `physical` has those that the planner recognises in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.graph.relational.expressions import (
    AggregateCall,
    Call,
    Expr,
    InputRef,
    OverCall,
    SortKey,
    UdfCall,
)
from penstock.graph.relational.matching import MatchSpecification
from penstock.graph.relational.types import (
    LogicalType,
    PointInTimeType,
    RowField,
    RowType,
    TimeAttribute,
)


@dataclass(frozen=True)
class Node:
    """Base of all nodes."""

    schema: RowType

    def inputs(self) -> tuple[Node, ...]:
        """Return the nodes that this one reads."""
        node = getattr(self, "input", None)
        return () if node is None else (node,)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """Return the same node over other inputs."""
        return replace(self, input=inputs[0]) if inputs else self  # type: ignore[call-arg]

    def transform(self, change: Callable[[Node], Node | None]) -> Node:
        """Return the tree with `change` applied from the leaves up; None leaves a node alone."""
        before = self.inputs()
        after = [node.transform(change) for node in before]
        node = (
            self
            if all(a is b for a, b in zip(before, after, strict=True))
            else (self.with_inputs(after))
        )
        changed = change(node)
        return node if changed is None else changed

    def walk(self) -> Iterator[Node]:
        """Iterate over this node and all below."""
        yield self
        for node in self.inputs():
            yield from node.walk()

    def names(self) -> list[str]:
        """Return the names of the columns."""
        return self.schema.names()

    def ref(self, index: int) -> InputRef:
        """Return a reference to one of this node's columns, for whoever reads it."""
        column = self.schema.fields[index]
        return InputRef(index, column.type, column.name)

    def refs(self) -> list[InputRef]:
        """Return references to all columns."""
        return [self.ref(i) for i in range(len(self.schema.fields))]

    def describe(self) -> str:
        """Return the node's own parameters as text, for plans."""
        return ""

    def found(self) -> str:
        """Return what planning has found out, as text: shown, and no part of what the node is."""
        return ""

    def title(self) -> str:
        """Return the node's name in plans."""
        return type(self).__name__


@dataclass(frozen=True)
class Scan(Node):
    """A table of a catalog or a stream of the program."""

    #: What reads it: has `name`, `changelog`, `keys`; the API's translator knows its kinds.
    table: Any

    def describe(self) -> str:
        return f"table=[{self.table.name}], fields=[{', '.join(self.names())}]"

    def found(self) -> str:
        chosen = getattr(self.table, "chosen", None)
        if chosen is None:
            return ""
        return f"partitions=[{', '.join('/'.join(map(str, values)) for values in chosen)}]"


@dataclass(frozen=True)
class Watermark(Node):
    """Rows whose times make watermarks: the value of an expression, behind each row."""

    input: Node
    time: int
    expr: Expr

    def title(self) -> str:
        return "WatermarkAssigner"

    def describe(self) -> str:
        return f"rowtime=[{self.names()[self.time]}], watermark=[{self.expr}]"


@dataclass(frozen=True)
class Values(Node):
    """Rows that are written in the query."""

    rows: tuple[tuple[Expr, ...], ...]

    def describe(self) -> str:
        rows = ", ".join(f"({', '.join(map(str, row))})" for row in self.rows)
        return f"tuples=[{rows}]"


@dataclass(frozen=True)
class Project(Node):
    """Compute columns."""

    input: Node
    exprs: tuple[Expr, ...]

    def describe(self) -> str:
        return f"select=[{show_columns(self.exprs, self.names())}]"


@dataclass(frozen=True)
class Filter(Node):
    """Keep the rows for which the condition is TRUE."""

    input: Node
    condition: Expr

    def describe(self) -> str:
        return f"where=[{self.condition}]"


@dataclass(frozen=True)
class Aggregate(Node):
    """One row a group: the keys, then the results. No keys: one row in all."""

    input: Node
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]

    def describe(self) -> str:
        return show_aggregate(self)


@dataclass(frozen=True)
class Expand(Node):
    """Each row once for every grouping set, with the keys that are not in the set as NULL.

    The number of the set is the last column; the others are the input's.
    """

    input: Node
    sets: tuple[tuple[int, ...], ...]
    keys: tuple[int, ...]

    def describe(self) -> str:
        return f"sets=[{', '.join(str(list(one)) for one in self.sets)}]"


@dataclass(frozen=True)
class WindowSpecification:
    """A time window: TUMBLE, HOP, CUMULATE or SESSION; all lengths in milliseconds."""

    kind: str
    time: int  # position of the time attribute
    size: int
    slide: int = 0  # of HOP; the step of CUMULATE
    offset: int = 0
    partition: tuple[int, ...] = ()  # of SESSION
    #: "rowtime" or "proctime"
    domain: str = "rowtime"

    def __str__(self) -> str:
        parts = [f"size={self.size} ms"] if self.kind != "SESSION" else [f"gap={self.size} ms"]
        if self.kind == "CUMULATE":
            parts = [f"max_size={self.size} ms", f"step={self.slide} ms"]
        elif self.slide:
            parts.append(f"slide={self.slide} ms")
        if self.offset:
            parts.append(f"offset={self.offset} ms")
        return f"{self.kind}(time=[{self.domain}], {', '.join(parts)})"


@dataclass(frozen=True)
class WindowTable(Node):
    """A window table function: the input's columns, window_start, window_end, window_time."""

    input: Node
    window: WindowSpecification

    def title(self) -> str:
        return "WindowTableFunction"

    def describe(self) -> str:
        return f"window=[{self.window}]"


@dataclass(frozen=True)
class GroupWindowAggregate(Node):
    """GROUP BY with a group window: keys, results, then the window properties asked for."""

    input: Node
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: WindowSpecification
    properties: tuple[str, ...] = ()  # start, end, rowtime, proctime

    def describe(self) -> str:
        return f"{show_aggregate(self)}, window=[{self.window}]"


@dataclass(frozen=True)
class Join(Node):
    """Pairs of rows. `kind`: inner, left, right, full, semi, anti."""

    left: Node
    right: Node
    kind: str
    condition: Expr | None
    #: anti: NOT IN, which NULLs on either side make UNKNOWN.
    null_aware: bool = False

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"joinType=[{self.kind}], where=[{self.condition}]"


@dataclass(frozen=True)
class SystemTimeJoin(Node):
    """A join with the version of the right table at a time of the left row (FOR SYSTEM_TIME)."""

    left: Node
    right: Node
    kind: str  # inner, left
    condition: Expr | None
    period: Expr  # over the left row

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"joinType=[{self.kind}], where=[{self.condition}], period=[{self.period}]"


@dataclass(frozen=True)
class Correlate(Node):
    """Each row with the rows that a table function makes of it. `kind`: inner, left."""

    input: Node
    call: UdfCall | Unnest
    kind: str = "inner"
    condition: Expr | None = None

    def describe(self) -> str:
        return f"invocation=[{self.call}], joinType=[{self.kind}]"


@dataclass(frozen=True)
class Unnest:
    """The elements of an ARRAY, MULTISET or MAP as rows."""

    operand: Expr
    ordinality: bool = False
    #: Whether an element is a ROW whose fields become columns.
    spread: bool = False

    def __str__(self) -> str:
        return f"UNNEST({self.operand})"


@dataclass(frozen=True)
class Union(Node):
    """All rows of all inputs."""

    sources: tuple[Node, ...]

    def inputs(self) -> tuple[Node, ...]:
        return self.sources

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, sources=tuple(inputs))

    def describe(self) -> str:
        return f"all=[true], union=[{', '.join(self.names())}]"


@dataclass(frozen=True)
class SetOperation(Node):
    """INTERSECT or EXCEPT of two inputs; `all` keeps duplicates."""

    left: Node
    right: Node
    kind: str  # intersect, except
    all: bool = False

    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"kind=[{self.kind}], all=[{str(self.all).lower()}]"


@dataclass(frozen=True)
class Sort(Node):
    """Rows in an order, from the offset on, at most `fetch` of them."""

    input: Node
    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None

    def describe(self) -> str:
        parts = []
        if self.keys:
            parts.append(f"orderBy=[{', '.join(map(str, self.keys))}]")
        if self.offset:
            parts.append(f"offset=[{self.offset}]")
        if self.fetch is not None:
            parts.append(f"fetch=[{self.fetch}]")
        return ", ".join(parts)


@dataclass(frozen=True)
class Over(Node):
    """The input's columns and, behind them, aggregates over the rows around each row."""

    input: Node
    calls: tuple[OverCall, ...]

    def title(self) -> str:
        return "OverAggregate"

    def describe(self) -> str:
        return f"select=[{', '.join(map(str, self.calls))}]"


@dataclass(frozen=True)
class TableAggregate(Node):
    """Any number of rows a group: the keys, then what a function of the user emits.

    The input's first columns are the keys, the others the function's arguments.
    """

    input: Node
    keys: int
    function: Any  # UserFunction

    def describe(self) -> str:
        names = self.input.names()
        args = ", ".join(names[self.keys :])
        return f"groupBy=[{', '.join(names[: self.keys])}], select=[{self.function.name}({args})]"


@dataclass(frozen=True)
class Match(Node):
    """MATCH_RECOGNIZE."""

    input: Node
    specification: MatchSpecification

    def describe(self) -> str:
        measured = self.names()[len(self.specification.partition) :]
        return self.specification.describe(self.input.names(), measured)


@dataclass(frozen=True)
class SinkNode(Node):
    """Rows go into a table or to the program."""

    input: Node
    table: Any

    def title(self) -> str:
        return "Sink"

    def describe(self) -> str:
        return f"table=[{self.table.name}], fields=[{', '.join(self.names())}]"


# ---- makers


def project(node: Node, exprs: Sequence[Expr], names: Sequence[str]) -> Node:
    """Return a projection; the input itself if it would change nothing."""
    same = len(exprs) == len(node.schema.fields) and all(
        isinstance(e, InputRef) and e.index == i for i, e in enumerate(exprs)
    )
    if same and list(names) == node.names():
        return node
    schema = RowType(
        tuple(RowField(n, _column_type(e)) for n, e in zip(names, exprs, strict=True)),
        is_nullable=False,
    )
    return Project(schema, node, tuple(exprs))


def _column_type(expr: Expr) -> LogicalType:
    """Return the type of a column: what is computed from a time attribute is a plain value."""
    kind = expr.type
    if isinstance(kind, PointInTimeType) and kind.is_attribute and not isinstance(expr, InputRef):
        is_clock = isinstance(expr, Call) and expr.function == "PROCTIME"
        return kind if is_clock else kind.as_attribute(TimeAttribute.NONE)
    return kind


def show_columns(exprs: Sequence[Expr], names: Sequence[str]) -> str:
    """Return columns as `expression AS name`."""
    return ", ".join(
        text if (text := str(expr)) == name else f"{text} AS {name}"
        for expr, name in zip(exprs, names, strict=True)
    )


def show_aggregate(node: Any) -> str:
    """Return the keys and results of an aggregate as text."""
    names = node.input.names()
    keys = [names[i] for i in node.keys]
    results = node.names()[len(keys) : len(keys) + len(node.calls)]
    columns = [
        *keys,
        *(f"{call} AS {name}" for call, name in zip(node.calls, results, strict=True)),
    ]
    by = f"groupBy=[{', '.join(keys)}], " if keys else ""
    return f"{by}select=[{', '.join(columns)}]"
