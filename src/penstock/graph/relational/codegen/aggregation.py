"""Generated code for aggregates: accumulators of a group are one list of plain values.

`aggregation(calls, arity, retract=...)` gives a `Program` with

* `create()`: a new accumulator list; it is picklable and holds values only,
* `accumulate(acc, rows)` and `retract(acc, rows)`: a loop over rows of one group,
* `accumulate_row(acc, row)` and `retract_row(acc, row)`: the same for one row,
* `accumulate_groups(groups, keys, rows)`: adds rows to the group of each key, in a dict,
* `apply_groups(groups, keys, rows, kinds)`: the same with rows that are added (kind 0 and 2 of
  `RowKind`) or taken back (1 and 3),
* `merge(acc, other)`: adds what another accumulator holds,
* `value(acc)`: the results as a tuple, in the order of the calls.

The functions that take rows back are there only if `retract` is asked for: functions such as MIN
keep more then. DISTINCT keeps a bag of values; FILTER tests each row.

>>> from penstock.graph.relational.expressions import InputRef
>>> from penstock.graph.relational.functions.catalog import resolve_aggregate
>>> from penstock.graph.relational.types import INT
>>> x = InputRef(0, INT, "x")
>>> made = aggregation([resolve_aggregate("COUNT", ()), resolve_aggregate("SUM", (x,))], arity=1)
>>> f = made.load()
>>> acc = f["create"]()
>>> f["accumulate"](acc, [(1,), (None,), (5,)])
>>> f["value"](acc)
(3, 6)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import FunctionError
from penstock.graph.relational.codegen.chunks import Loop, Session
from penstock.graph.relational.codegen.emitter import is_hashable, is_simple
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.expressions import AggregateCall
from penstock.graph.relational.functions.aggregate_function import Accumulator
from penstock.graph.relational.functions.catalog import AGGREGATES
from penstock.graph.relational.user_functions import UserFunction
from penstock.graph.relational.values import converts_between

_SLOT = re.compile(r"([%&])(\d+)")


@dataclass(frozen=True)
class _Placed:
    """An aggregate with its place in the accumulator list.

    :param bag: the slot of the values that DISTINCT has seen.
    """

    call: AggregateCall
    code: Accumulator
    first: int
    bag: int | None
    skips_nulls: bool


class _Writer:
    """Writes the functions of one list of aggregates into one module."""

    def __init__(self, calls: Sequence[AggregateCall], arity: int, retract: bool, s: Session):
        self.arity, self.retract, self.session = arity, retract, s
        self.shared = Loop(arity, s)
        self.width = 0
        self.placed = [self._place(call) for call in calls]

    def _place(self, call: AggregateCall) -> _Placed:
        code, skips = self._code_of(call)
        bag = None
        if call.distinct:
            bag, self.width = self.width, self.width + 1
        first = self.width
        self.width += len(code.slots)
        return _Placed(call, code, first, bag, skips)

    def _code_of(self, call: AggregateCall) -> tuple[Accumulator, bool]:
        if isinstance(call.function, UserFunction):
            return self._user_code(call, call.function), False
        function = AGGREGATES[call.function]
        code = function.accumulator(call, self.retract)
        if code is None:
            raise FunctionError(
                f"{call.name} needs rows in an order",
                todo=f"write {call.name}() OVER (PARTITION BY ... ORDER BY ...)",
            )
        if self.retract and code.retract is None:
            raise FunctionError(
                f"{call.name} cannot take rows back, and its input updates",
                todo="use another function, or an input that only grows",
            )
        return code, function.nulls == "skip"

    def _user_code(self, call: AggregateCall, function: UserFunction) -> Accumulator:
        name = self.shared.emitter.object(function)
        value = f"{name}.get_value(%0)"
        conversion = converts_between(call.type)
        if conversion is not None:
            value = f"{self.shared.emitter.object(conversion.inward)}({value})"
        if function.vectorized:
            kinds = self.shared.emitter.object(tuple(arg.type for arg in call.args))
            return Accumulator(
                slots=("[]",),
                accumulate="%0.append(($*,))",
                retract="@bags.take_out(%0, ($*,))",
                merge="%0.extend(&0)",
                value=f"@vectors.fold({name}, %0, {kinds})",
            )
        return Accumulator(
            slots=(f"{name}.create_accumulator()",),
            accumulate=f"{name}.accumulate(%0, $*)",
            retract=f"{name}.retract(%0, $*)",
            merge=f"{name}.merge(%0, [&0])",
            value=value,
        )

    # --- pieces ----------------------------------------------------------------------------------

    def _filled(self, template: str, placed: _Placed, codes: list[str], form: str) -> str:
        def slot(match: re.Match[str]) -> str:
            index = placed.first + int(match[2])
            if match[1] == "&":
                return f"other[{index}]"
            return form.format(index)

        return self.shared.emitter.fill(_SLOT.sub(slot, template), codes)

    def body(self, loop: Loop, form: str, taking_back: bool) -> None:
        """Write the statements that add a row's values, or take them back."""
        for number, placed in enumerate(self.placed):
            self._statement(loop, number, placed, form, taking_back)

    def _statement(
        self, loop: Loop, number: int, placed: _Placed, form: str, taking_back: bool
    ) -> None:
        indent = loop.indent
        call = placed.call
        if call.filter is not None:
            loop.add(f"if {loop.emitter.truth(call.filter)}:")
            loop.indent += "    "
        codes = []
        for i, arg in enumerate(call.args):
            code = loop.emitter.value(arg)
            if not is_simple(code):
                loop.add(f"a{number}_{i} = {code}")
                code = f"a{number}_{i}"
            codes.append(code)
        pairs = zip(codes, call.args, strict=True)
        nullable = [f"{code} is not None" for code, arg in pairs if arg.type.is_nullable]
        if placed.skips_nulls and nullable:
            loop.add(f"if {' and '.join(nullable)}:")
            loop.indent += "    "
        if placed.bag is not None:
            self._distinct(loop, placed, codes, form, taking_back)
        template = placed.code.retract if taking_back else placed.code.accumulate
        assert template is not None
        loop.add(self._filled(template, placed, codes, form))
        loop.indent = indent

    def _distinct(
        self, loop: Loop, placed: _Placed, codes: list[str], form: str, taking_back: bool
    ) -> None:
        value = codes[0] if len(codes) == 1 else f"({', '.join(codes)},)"
        if not all(is_hashable(arg.type) for arg in placed.call.args):
            value = f"{self.shared.emitter.library('arrays.frozen')}({value})"
        word = self.shared.emitter.library("bags.remove" if taking_back else "bags.add")
        assert placed.bag is not None
        loop.add(f"if {word}({form.format(placed.bag)}, {value}):")
        loop.indent += "    "

    def loop(self) -> Loop:
        """Return a loop that shares library, constants and objects with the others."""
        made = Loop(self.arity, self.session)
        made.emitter.prelude = self.shared.emitter.prelude
        made.emitter.share_names(self.shared.emitter)
        return made

    # --- functions -------------------------------------------------------------------------------

    def create(self) -> list[str]:
        """Write `create`."""
        slots: list[str] = []
        for placed in self.placed:
            slots += ["{}"] if placed.bag is not None else []
            slots += [self.shared.emitter.fill(slot, []) for slot in placed.code.slots]
        return ["def create():", f"    return [{', '.join(slots)}]"]

    def rows(self, name: str, taking_back: bool) -> list[str]:
        """Write a loop over rows of one group, with the slots in local names."""
        loop = self.loop()
        self.body(loop, "a{}", taking_back)
        names = "".join(f"a{i}, " for i in range(self.width))
        head = [f"def {name}(acc, rows):", *loop.needs()]
        if not self.width:
            return [*head, "    pass"]
        return [
            *head,
            f"    {names}= acc",
            *loop.head(),
            *(loop.lines or ["        pass"]),
            f"    acc[:] = ({names})",
        ]

    def row(self, name: str, taking_back: bool) -> list[str]:
        """Write the function for one row."""
        loop = self.loop()
        loop.indent = "    "
        self.body(loop, "acc[{}]", taking_back)
        reads = [f"    c{i} = row[{i}]" for i in sorted(loop.used)]
        lines = loop.lines or ["    pass"]
        return [f"def {name}(acc, row):", *loop.needs(), *reads, *lines]

    def groups(self, with_kinds: bool) -> list[str]:
        """Write the loop over rows of many groups."""
        loop = self.loop()
        if with_kinds:
            loop.add("if kind == 0 or kind == 2:")
            loop.indent += "    "
        before = len(loop.lines)
        self.body(loop, "acc[{}]", False)
        if len(loop.lines) == before:
            loop.add("pass")
        if with_kinds:
            loop.indent = loop.indent[:-4]
            loop.add("else:")
            loop.indent += "    "
            before = len(loop.lines)
            self.body(loop, "acc[{}]", True)
            if len(loop.lines) == before:
                loop.add("pass")
        name, extra = ("apply_groups", ", kinds") if with_kinds else ("accumulate_groups", "")
        item = "key, row, kind" if with_kinds else "key, row"
        return [
            f"def {name}(groups, keys, rows{extra}):",
            *loop.needs(),
            "    get = groups.get",
            f"    for {item} in zip(keys, rows{extra}):",
            "        acc = get(key)",
            "        if acc is None:",
            "            acc = groups[key] = create()",
            *(f"        c{i} = row[{i}]" for i in sorted(loop.used)),
            *loop.lines,
        ]

    def merge(self) -> list[str]:
        """Write `merge`; a DISTINCT aggregate is merged value by value."""
        lines = ["def merge(acc, other):"]
        for placed in self.placed:
            if placed.bag is not None:
                lines += self._merge_distinct(placed)
            elif placed.code.merge is not None:
                lines.append("    " + self._filled(placed.code.merge, placed, [], "acc[{}]"))
        return lines if len(lines) > 1 else [*lines, "    pass"]

    def _merge_distinct(self, placed: _Placed) -> list[str]:
        add = self.shared.emitter.library("bags.add")
        count = len(placed.call.args)
        codes = ["item"] if count == 1 else [f"item[{i}]" for i in range(count)]
        statement = self._filled(placed.code.accumulate, placed, codes, "acc[{}]")
        return [
            f"    for item, count in other[{placed.bag}].items():",
            f"        if {add}(acc[{placed.bag}], item, count):",
            f"            {statement}",
        ]

    def value(self) -> list[str]:
        """Write `value`."""
        codes = [self._filled(p.code.value, p, [], "acc[{}]") for p in self.placed]
        return ["def value(acc):", f"    return ({''.join(f'({code}), ' for code in codes)})"]


def aggregation(
    calls: Sequence[AggregateCall],
    arity: int,
    *,
    retract: bool = False,
    session: Session | None = None,
) -> Program:
    """Generate the functions of a list of aggregates over rows of so many columns.

    :param retract: whether rows may be taken back.
    :raises FunctionError: for a function that cannot take back, or needs an order.
    """
    writer = _Writer(calls, arity, retract, session or Session())
    parts = [
        writer.create(),
        writer.rows("accumulate", False),
        writer.row("accumulate_row", False),
        writer.groups(with_kinds=False),
        writer.merge(),
        writer.value(),
    ]
    if retract:
        parts += [writer.rows("retract", True), writer.row("retract_row", True)]
        parts.append(writer.groups(with_kinds=True))
    lines = [*writer.shared.emitter.prelude, *(line for part in parts for line in part)]
    return Program("\n".join(lines) + "\n", tuple(writer.shared.emitter.objects))
