"""Functions over chunks of rows, generated for one query: calc, keys, join conditions.

* `calc(projection, condition, arity)`: `calc(rows)` filters and projects.
* `keys(exprs, arity)`: `keys(rows)` gives a key for each row.
* `condition(expr, left_arity)`: `matches(left, right)` tests a pair of rows,
  `matching(left, rights)` gives those that fit.
* `fold(expr)`: the constant that an expression without columns is.

Each gives a `Program`; `load(context)` it once in the worker.

>>> from penstock.graph.relational.expressions import InputRef
>>> from penstock.graph.relational.functions.catalog import resolve
>>> from penstock.graph.relational.types import INT
>>> a, b = InputRef(0, INT, "a"), InputRef(1, INT.not_null(), "b")
>>> program = calc([resolve("+", (a, b))], resolve("=", (b, b)), arity=2)
>>> program.load()["calc"]([(1, 2), (None, 3)])
[(3,), (None,)]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from penstock.graph.relational.codegen.emitter import Emitter, is_hashable
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.codegen.vectorized import Stage, stages
from penstock.graph.relational.expressions import (
    Call,
    Case,
    Cast,
    Expr,
    InputRef,
    Literal,
    UdfCall,
)
from penstock.graph.relational.functions.catalog import SCALARS


def allow_depth() -> None:
    """Let code be generated for deeply nested expressions: a level takes some five calls."""
    if sys.getrecursionlimit() < _DEPTH:
        sys.setrecursionlimit(_DEPTH)


_DEPTH = 10_000


@dataclass(frozen=True)
class Session:
    """What code takes from the session when it is generated."""

    zone: str = "UTC"
    database: str = "default_database"


@dataclass
class Loop:
    """The body of a loop over rows, under construction."""

    arity: int
    session: Session
    used: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    indent: str = "        "

    def __post_init__(self) -> None:
        self.emitter = Emitter(self._column, self.session.zone, self.session.database)

    def _column(self, index: int) -> str:
        self.used.add(index)
        return f"c{index}"

    def add(self, line: str) -> None:
        """Append a line of the body."""
        self.lines.append(self.indent + line)

    def share(self, exprs: Sequence[Expr], later: Sequence[Expr] = ()) -> None:
        """Compute what occurs more than once among the expressions, and give it a name.

        :param later: expressions that are computed for some of the rows only.
        """
        for expr in common_subexpressions(exprs, later):
            if expr not in self.emitter.shared:
                code = self.emitter.value(expr)
                name = f"s{len(self.emitter.shared)}"
                self.add(f"{name} = {code}")
                self.emitter.shared[expr] = name

    def head(self, source: str = "rows", keep_row: bool = False) -> list[str]:
        """Return the lines that begin the loop: columns are unpacked, or read by position."""
        if not keep_row and self.arity and len(self.used) * 2 >= self.arity:
            names = [f"c{i}" if i in self.used else "_" for i in range(self.arity)]
            return [f"    for {', '.join(names)}, in {source}:"]
        reads = [f"        c{i} = row[{i}]" for i in sorted(self.used)]
        return [f"    for row in {source}:", *reads]

    def needs(self) -> list[str]:
        """Return the lines that ask the context, once for a chunk."""
        return [f"    {name} = _context.{name}()" for name in sorted(self.emitter.needs)]


def common_subexpressions(exprs: Sequence[Expr], later: Sequence[Expr] = ()) -> list[Expr]:
    """Return what is worth computing once: it occurs twice, and is computed for every row.

    What only occurs behind a condition is left where it is: it might fail for other rows.
    """
    seen: Counter[Expr] = Counter()
    certain: set[Expr] = set()
    order: list[Expr] = []

    def visit(expr: Expr, conditional: bool) -> None:
        if isinstance(expr, InputRef | Literal):
            return
        seen[expr] += 1
        if not conditional:
            certain.add(expr)
        if seen[expr] > 1:
            return
        for child, hidden in _children(expr):
            visit(child, conditional or hidden)
        order.append(expr)

    for expr in exprs:
        visit(expr, False)
    for expr in later:
        visit(expr, True)
    return [e for e in order if seen[e] > 1 and e in certain and is_deterministic(e)]


def _children(expr: Expr) -> Iterator[tuple[Expr, bool]]:
    """Iterate over children, and whether each is evaluated only in some cases."""
    lazy = isinstance(expr, Case) or (
        isinstance(expr, Call) and expr.function in ("AND", "OR", "COALESCE")
    )
    for number, child in enumerate(expr.children()):
        yield child, lazy and number > 0


def is_deterministic(expr: Expr) -> bool:
    """Return whether an expression gives the same value for the same row every time."""
    for node in expr.walk():
        if isinstance(node, Call) and not SCALARS[node.function].deterministic:
            return False
        if isinstance(node, UdfCall) and not node.function.deterministic:
            return False
    return True


def calc(
    projection: Sequence[Expr] | None,
    condition: Expr | None,
    arity: int,
    *,
    carried: int = 0,
    session: Session | None = None,
) -> Program:
    """Generate `calc(rows)`: the projection of the rows for which the condition is TRUE.

    :param projection: None keeps the rows as they are.
    :param arity: how many columns the input has.
    :param carried: how many lists travel beside the rows (kinds, timestamps). Then it is
        `calc(rows, list, ...)`, and gives a tuple of the new rows and lists.
    """
    settings = session or Session()
    allow_depth()
    steps = list(stages(projection, condition, arity))
    sources: list[str] = []
    objects: list[object] = []
    for number, stage in enumerate(steps):
        name = "calc" if len(steps) == 1 else f"_stage{number}"
        source, found = _stage(stage, name, carried, settings, len(objects))
        sources.append(source)
        objects += found
    if len(steps) > 1:
        sources.append(_chain(len(steps), carried))
    return Program("\n\n".join(sources) + "\n", tuple(objects))


def _chain(count: int, carried: int) -> str:
    lists = [f"x{i}" for i in range(carried)]
    names = ", ".join(["rows", *lists])
    lines = [f"def calc({names}):"]
    lines += [f"    {names} = _stage{number}({names})" for number in range(count)]
    return "\n".join([*lines, f"    return {names}"])


def _stage(
    stage: Stage, name: str, carried: int, session: Session, first_object: int
) -> tuple[str, list[object]]:
    lists = [f"x{i}" for i in range(carried)]
    loop = Loop(stage.arity, session)
    loop.emitter.first_object = first_object
    # Stages stand in one module: their names must not meet.
    loop.emitter.tag = "" if name == "calc" else name.removeprefix("_stage") + "_"
    if stage.vectorized is not None:
        return _vector_stage(stage, name, lists, loop)
    filtered = stage.condition is not None
    keep = stage.projection is None
    _add_body(loop, stage, carried)
    result = "out"
    if filtered:
        result = ", ".join(["out", *(f"o{i}" for i in range(carried))])
    elif carried:
        result = ", ".join(["out", *lists])
    lines = [f"def {name}({', '.join(['rows', *lists])}):", *loop.needs(), "    out = []"]
    lines.append("    append = out.append")
    source = "rows"
    if filtered and carried:
        for i in range(carried):
            lines += [f"    o{i} = []", f"    a{i} = o{i}.append"]
        names = ", ".join(["row", *(f"y{i}" for i in range(carried))])
        lines.append(f"    for {names} in zip(rows, {', '.join(lists)}):")
        lines += [f"        c{i} = row[{i}]" for i in sorted(loop.used)]
    else:
        lines += loop.head(source, keep)
    body = [*lines, *loop.lines, f"    return {result}"]
    return "\n".join([*loop.emitter.prelude, *body]), list(loop.emitter.objects)


def _add_body(loop: Loop, stage: Stage, carried: int) -> None:
    """Add what is done to a row; if it pays, a second time for rows without NULLs, without tests.

    Most rows have no NULLs, and columns are tested once in place of once for each use.
    """
    general = _body(loop, stage, carried)
    parts = [*(stage.projection or ()), *([stage.condition] if stage.condition else [])]
    nullable = _nullable_columns(parts)
    loop.lines = general
    if not nullable or not all(map(is_deterministic, parts)):
        return
    loop.emitter.sure = frozenset(nullable)
    quick = _body(loop, stage, carried)
    loop.emitter.sure = frozenset()
    if _tests(general) - _tests(quick) <= len(nullable):
        loop.lines = general
        return
    tests = " or ".join(f"{loop.emitter.value(column)} is None" for column in nullable.values())
    loop.lines = [f"{loop.indent}if {tests}:", *(f"    {line}" for line in general)]
    loop.lines += [f"{loop.indent}else:", *(f"    {line}" for line in quick)]


def _body(loop: Loop, stage: Stage, carried: int) -> list[str]:
    indent, loop.lines, loop.emitter.shared = loop.indent, [], {}
    if stage.condition is not None:
        loop.share([stage.condition], stage.projection or ())
        test = loop.emitter.truth(stage.condition)
        loop.add(f"if {test}:")
        loop.indent += "    "
    item = "row"
    if stage.projection is not None:
        loop.share(stage.projection)
        item = _tuple([loop.emitter.value(expr) for expr in stage.projection])
    loop.add(f"append({item})")
    if stage.condition is not None:
        for i in range(carried):
            loop.add(f"a{i}(y{i})")
    loop.indent = indent
    return loop.lines


def _nullable_columns(exprs: Sequence[Expr]) -> dict[int, InputRef]:
    """Return the columns that expressions compute with and that may be NULL, by position."""
    return {
        node.index: node
        for expr in exprs
        if not isinstance(expr, InputRef)
        for node in expr.walk()
        if isinstance(node, InputRef) and node.type.is_nullable
    }


def _tests(lines: list[str]) -> int:
    return sum(line.count(" is None") + line.count(" is not None") for line in lines)


def _vector_stage(
    stage: Stage, name: str, lists: list[str], loop: Loop
) -> tuple[str, list[object]]:
    """Generate a stage that appends a column: the result of a function over whole columns."""
    call = stage.vectorized
    assert call is not None
    columns = []
    for number, arg in enumerate(call.args):
        columns.append(f"    v{number} = []")
        loop.add(f"v{number}.append({loop.emitter.value(arg)})")
    if not call.args:
        loop.add("pass")
    function = loop.emitter.object(call.function)
    kinds = loop.emitter.object(tuple(arg.type for arg in call.args))
    runner = loop.emitter.library("vectors.call")
    if call.function.asynchronous:
        runner = loop.emitter.library("coroutines.call")
    args = "".join(f"v{number}, " for number in range(len(call.args)))
    lines = [
        f"def {name}({', '.join(['rows', *lists])}):",
        *loop.needs(),
        *columns,
        *loop.head(),
        *loop.lines,
        f"    column = {runner}({function}, ({args}), {kinds}, len(rows))",
        "    out = [row + (value,) for row, value in zip(rows, column)]",
        f"    return {', '.join(['out', *lists])}",
    ]
    return "\n".join([*loop.emitter.prelude, *lines]), list(loop.emitter.objects)


def _tuple(codes: list[str]) -> str:
    return f"({codes[0]},)" if len(codes) == 1 else f"({', '.join(codes)})"


def keys(
    exprs: Sequence[Expr], arity: int, *, session: Session | None = None, bare: bool = False
) -> Program:
    """Generate `keys(rows)`: a list of tuples, or of plain values if `bare` and there is one.

    Keys can be hashed: arrays are tuples in them.
    """
    loop = Loop(arity, session or Session())
    loop.share(exprs)
    codes = []
    for expr in exprs:
        code = loop.emitter.value(expr)
        if not is_hashable(expr.type):
            code = f"{loop.emitter.library('arrays.frozen')}({code})"
        codes.append(code)
    loop.add(f"append({codes[0] if bare and len(codes) == 1 else _tuple(codes)})")
    lines = ["def keys(rows):", *loop.needs(), "    out = []", "    append = out.append"]
    source = [*loop.emitter.prelude, *lines, *loop.head(), *loop.lines, "    return out"]
    return Program("\n".join(source) + "\n", tuple(loop.emitter.objects))


def condition(expr: Expr, left_arity: int, *, session: Session | None = None) -> Program:
    """Generate `matches(left, right)` and `matching(left, rights)` for a join's condition.

    The expression's columns are those of the left row, then those of the right.
    """

    def column(index: int) -> str:
        return f"left[{index}]" if index < left_arity else f"right[{index - left_arity}]"

    settings = session or Session()
    emitter = Emitter(column, settings.zone, settings.database)
    test = emitter.truth(expr)
    needs = [f"    {name} = _context.{name}()" for name in sorted(emitter.needs)]
    lines = [
        *emitter.prelude,
        "def matches(left, right):",
        *needs,
        f"    return True if {test} else False",
        "def matching(left, rights):",
        *needs,
        f"    return [right for right in rights if {test}]",
    ]
    return Program("\n".join(lines) + "\n", tuple(emitter.objects))


def fold(expr: Expr, session: Session | None = None) -> Expr:
    """Return an expression with its constant parts computed.

    What fails is left for the run, which may never reach it.
    """

    def change(node: Expr) -> Expr | None:
        if isinstance(node, Literal | InputRef) or not isinstance(node, Call | Case | Cast):
            return None
        if not all(isinstance(child, Literal) for child in node.children()):
            return None
        if not is_deterministic(node) or not is_hashable(node.type):
            return None
        try:
            value = calc([node], None, 1, session=session).load()["calc"]([(None,)])[0][0]
        except Exception:
            # Any failure is the row's, should one come to it.
            return None
        return Literal(value, node.type)

    return expr.transform(change)
