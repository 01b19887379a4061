"""Code of aggregates: from the templates of the catalog to functions over accumulators.

The accumulator of a group is a tuple of all slots of all its aggregates. Code unpacks it into local
names, works on those, and packs a new one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.errors import ValidationError
from penstock.graph.relational.codegen.emitter import Emitter, is_hashable, is_simple
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.expressions import AggregateCall
from penstock.graph.relational.functions import catalog
from penstock.graph.relational.functions.aggregate_function import Accumulator
from penstock.graph.relational.values import converts_between

#: Functions that Flink computes from sums: their result counts as changed when a sum has.
FROM_SUMS = frozenset(("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"))
_SLOT = re.compile(r"%(\d+)|&(\d+)|\$(\d+|\*)|@(\w+)\.(\w+)")


@dataclass
class _Part:
    """One aggregate: its code and the names of its slots."""

    call: AggregateCall
    code: Accumulator
    nulls: str
    slots: list[str]
    #: Name of the slot that counts the values of a DISTINCT aggregate.
    seen: str | None = None
    retracts_order: bool = field(default=False)


class AggregateCode:
    """Code for a list of aggregate calls over rows.

    :param retract: whether rows may be taken back.
    :param row: how generated code names the row.
    :param partial: whether the accumulators are only there to be merged into others: what is taken
        back may then stand elsewhere, and which values are distinct is not known yet.
    """

    def __init__(
        self, calls: Sequence[AggregateCall], *, retract: bool, row: str = "r", zone: str = "UTC",
        counted: bool = False, steady: frozenset[int] = frozenset(), partial: bool = False,
    ) -> None:  # fmt: skip
        self.emitter = Emitter(lambda i: f"{row}[{i}]", zone)
        self.retract = retract
        self.partial = partial
        self.counted = counted
        self._temporaries = 0
        self.names: list[str] = ["n"] if counted else []
        self.initials: list[str] = ["0"] if counted else []
        self.parts = [self._part(call, i in steady) for i, call in enumerate(calls)]

    def _part(self, call: AggregateCall, steady: bool) -> _Part:
        code, nulls = self._accumulator(call, steady)
        slots = []
        for initial in code.slots:
            slots.append(self._slot(self._fill(initial, [], [], [])))
        seen = self._slot("{}") if call.distinct else None
        return _Part(call, code, nulls, slots, seen)

    def _slot(self, initial: str) -> str:
        name = f"a{len(self.names)}"
        self.names.append(name)
        self.initials.append(initial)
        return name

    def _accumulator(self, call: AggregateCall, steady: bool) -> tuple[Accumulator, str]:
        if not isinstance(call.function, str):
            return self._user_accumulator(call), "own"
        function = catalog.AGGREGATES[call.function]
        if steady:
            code = function.accumulator(call, False)
            assert code is not None
            return replace(code, retract="pass"), function.nulls
        code = function.accumulator(call, self.retract)
        if code is None:
            raise ValidationError(
                f"{call.name}() is not computed on a stream",
                got=str(call),
                todo="use ROW_NUMBER, RANK, DENSE_RANK or an aggregate OVER rows ordered by time",
            )
        if self.retract and code.retract is None:
            raise ValidationError(
                f"{call.name} cannot take rows back",
                got=f"{call} over an input that updates",
                todo="aggregate an append-only table, or use another function",
            )
        return code, function.nulls

    def _user_accumulator(self, call: AggregateCall) -> Accumulator:
        assert not isinstance(call.function, str)
        function = self.emitter.object(call.function)
        if call.function.vectorized:
            # It is called with whole columns, so the rows' values are what is kept.
            kinds = self.emitter.object(tuple(arg.type for arg in call.args))
            return Accumulator(
                slots=("[]",),
                accumulate="%0.append(($*,))",
                retract="@bags.take_out(%0, ($*,))",
                merge="%0.extend(&0)",
                value=f"@vectors.fold({function}, %0, {kinds})",
            )
        args = "".join(f", ${i}" for i in range(len(call.args)))
        value = f"{function}.get_value(%0)"
        conversion = converts_between(call.type)
        if conversion is not None:
            value = f"{self.emitter.object(conversion.inward)}({value})"
        return Accumulator(
            slots=(f"{function}.create_accumulator()",),
            accumulate=f"{function}.accumulate(%0{args})",
            retract=f"{function}.retract(%0{args})",
            merge=f"{function}.merge(%0, [&0])",
            value=value,
        )

    # ---- pieces --------------------------------------------------------------------------------

    def pack(self) -> str:
        """Return the accumulator made from the local names."""
        return f"({', '.join(self.names)},)" if self.names else "()"

    def unpack(self, source: str) -> list[str]:
        """Return the statement that sets the local names."""
        return [f"{', '.join(self.names)}, = {source}"] if self.names else []

    def fresh(self) -> list[str]:
        """Return statements that set the local names to an empty accumulator."""
        return [f"{n} = {v}" for n, v in zip(self.names, self.initials, strict=True)]

    def values(self) -> list[str]:
        """Return the code of the results, from the local names."""
        return [f"({self._fill(part.code.value, [], part.slots, [])})" for part in self.parts]

    def accumulate(self) -> list[str]:
        """Return statements that add the row."""
        lines = ["n += 1"] if self.counted else []
        for part in self.parts:
            lines += self._change(part, part.code.accumulate, adds=True)
        return lines

    def retract_row(self) -> list[str]:
        """Return statements that take the row back."""
        lines = ["n -= 1"] if self.counted else []
        for part in self.parts:
            assert part.code.retract is not None
            lines += self._change(part, part.code.retract, adds=False)
        return lines

    def merge(self, other: str, skip: int = 0) -> list[str]:
        """Return statements that add another accumulator to the local names.

        :param skip: how many columns stand in front of the other accumulator.
        """
        lines = []
        theirs = [f"b{i}" for i in range(len(self.names))]
        if theirs:
            lines.append(f"{', '.join(['_'] * skip + theirs)}, = {other}")
        offset = 0
        if self.counted:
            lines.append("n += b0")
            offset = 1
        for part in self.parts:
            own = theirs[offset : offset + len(part.slots)]
            offset += len(part.slots)
            if part.seen is not None:
                lines += self._merge_distinct(part, theirs[offset])
                offset += 1
                continue
            if part.code.merge is None:
                raise ValidationError(
                    f"{part.call.name} cannot be computed in a window that merges others",
                    todo="use a tumbling window, or another function",
                )
            lines.append(self._fill(part.code.merge, [], part.slots, own))
        return lines

    def _merge_distinct(self, part: _Part, other: str) -> list[str]:
        """Add the values that come to be there with the other side, and take back those that go."""
        single = len(part.call.args) == 1
        names = ["x"] if single else [f"x[{i}]" for i in range(len(part.call.args))]
        lines = [
            f"for x, c in {other}.items():",
            f"    d = {part.seen}.get(x, 0)",
            "    c += d",
            f"    if c: {part.seen}[x] = c",
            f"    elif d: del {part.seen}[x]",
            "    if d <= 0 < c:",
            f"        {self._fill(part.code.accumulate, names, part.slots, [])}",
        ]
        if self.retract:
            assert part.code.retract is not None
            lines.append("    elif c <= 0 < d:")
            lines.append(f"        {self._fill(part.code.retract, names, part.slots, [])}")
        return lines

    def _change(self, part: _Part, template: str, *, adds: bool) -> list[str]:
        lines: list[str] = []
        indent = ""
        if part.call.filter is not None:
            lines.append(f"if {self.emitter.truth(part.call.filter)}:")
            indent = "    "
        args, tests = [], []
        for arg in part.call.args:
            code = self.emitter.value(arg)
            if not is_simple(code):
                self._temporaries += 1
                name = f"x{self._temporaries}"
                lines.append(f"{indent}{name} = {code}")
                code = name
            args.append(code)
            if arg.type.is_nullable and part.nulls != "own":
                tests.append(f"{code} is not None")
        if tests:
            lines.append(f"{indent}if {' and '.join(tests)}:")
            indent += "    "
        body = self._fill(template, args, part.slots, [])
        if part.seen is None:
            lines.append(f"{indent}{body}")
        else:
            value = args[0] if len(args) == 1 else f"({', '.join(args)})"
            if not all(is_hashable(arg.type) for arg in part.call.args):
                value = f"{self.emitter.library('arrays.frozen')}({value})"
            if self.partial:
                lines.append(f"{indent}c = {value}")
                step = f"{part.seen}.get(c, 0) {'+' if adds else '-'} 1"
                lines.append(f"{indent}{part.seen}[c] = {step}")
            else:
                lines += [indent + line for line in _distinct(part.seen, value, body, adds)]
        return lines

    def _fill(
        self, template: str, args: Sequence[str], slots: Sequence[str], others: Sequence[str]
    ) -> str:
        def fill(match: re.Match[str]) -> str:
            slot, other, arg, module, name = match.groups()
            if slot is not None:
                return slots[int(slot)]
            if other is not None:
                return others[int(other)]
            if arg is not None:
                return ", ".join(args) if arg == "*" else args[int(arg)]
            return self.emitter.library(f"{module}.{name}")

        return _SLOT.sub(fill, template)

    # ---- whole functions -----------------------------------------------------------------------

    def functions(self, *, merges: bool = False) -> str:
        """Return `create`, `accumulate`, `retract`, `merge` and `result` as source."""
        results = "".join(f"{value}, " for value in self.values())
        parts = [
            function_source("create", "", [*self.fresh(), f"return {self.pack()}"]),
            function_source("accumulate", "acc, r",
                      [*self.unpack("acc"), *self.accumulate(), f"return {self.pack()}"]),
            function_source("result", "acc",
                      [*self.unpack("acc"), f"return ({results})"]),
        ]  # fmt: skip
        if self.retract:
            lines = [*self.unpack("acc"), *self.retract_row(), f"return {self.pack()}"]
            parts.append(function_source("retract", "acc, r", lines))
        if merges:
            lines = [*self.unpack("acc"), *self.merge("other"), f"return {self.pack()}"]
            parts.append(function_source("merge", "acc, other", lines))
        return "\n".join(parts)

    def program(self, body: str) -> Program:
        """Return source and objects, with the prelude in front."""
        return Program("\n".join([*self.emitter.prelude, body]), tuple(self.emitter.objects))


def _distinct(seen: str, value: str, body: str, adds: bool) -> list[str]:
    if adds:
        return [
            f"c = {seen}.get({value}, 0)",
            f"{seen}[{value}] = c + 1",
            "if not c:",
            f"    {body}",
        ]
    return [
        f"c = {seen}.get({value}, 0)",
        "if c == 1:",
        f"    del {seen}[{value}]",
        f"    {body}",
        "elif c:",
        f"    {seen}[{value}] = c - 1",
    ]


def function_source(name: str, parameters: str, lines: Sequence[str]) -> str:
    """Return the source of a function."""
    return "\n".join([f"def {name}({parameters}):", *(f"    {line}" for line in lines)])


def aggregate_program(
    calls: Sequence[AggregateCall], *, retract: bool, merges: bool = False, zone: str = "UTC",
    counted: bool = False,
) -> Program:  # fmt: skip
    """Return the functions of a list of aggregates, for operators that call them row by row."""
    code = AggregateCode(calls, retract=retract, zone=zone, counted=counted)
    return code.program(code.functions(merges=merges))


def group_program(
    keys: int,
    calls: Sequence[AggregateCall],
    width: int,
    *,
    retract: bool,
    update_before: bool,
    always_send: bool,
    zone: str = "UTC",
    steady: frozenset[int] = frozenset(),
) -> Program:
    """Return the loop of a grouped aggregate: `run(keys, rows, data, changed, thaw, Frozen)`.

    It yields the changes of the results, each with its kind behind the columns.

    :param width: number of columns of an input row; its kind stands behind them if `retract`.
    :param always_send: send a result that has not changed as well (state that expires).
    :param steady: numbers of the calls whose result no row that is taken back can change.
    """
    code = AggregateCode(calls, retract=retract, zone=zone, counted=retract, steady=steady)
    loop = _GroupLoop(code, keys, f"r[{width}] & 1", update_before, always_send)
    lines = [
        "get = data.get",
        "for key, r in zip(keys, rows):",
        "    held = get(key)",
        "    if held is None:",
        *(f"        {line}" for line in loop.first()),
        "    else:",
        *(f"        {line}" for line in loop.later()),
    ]
    body = function_source("run", "keys, rows, data, changed, thaw, Frozen", lines)
    return code.program(f"{body}\n{code.functions()}")


class _GroupLoop:
    """What the loop of a grouped aggregate does with a row, as lines of code."""

    def __init__(
        self, code: AggregateCode, keys: int, takes_back: str, update_before: bool, always: bool
    ) -> None:
        self._code = code
        self._takes_back = takes_back
        self._update_before = update_before
        self._always = always
        self._keys = ["key"] if keys == 1 else [f"key[{i}]" for i in range(keys)]
        self._values = code.values()
        self._news = [f"v{i}" for i in range(len(self._values))]
        self._olds = [f"o{i}" for i in range(len(self._values))]

    def first(self) -> list[str]:
        """Return what the first row of a group does; one that is taken back does nothing."""
        code = self._code
        guard = [f"if {self._takes_back}: continue"] if code.retract else []
        return [
            *guard, *code.fresh(), *code.accumulate(), *self._stored(), *self._assigned(self._news),
            f"yield {self._row(self._news, 0)}",
        ]  # fmt: skip

    def later(self) -> list[str]:
        """Return what any other row does: the result before it, and the one after."""
        code = self._code
        lines = ["if type(held) is Frozen: held = thaw(key)", *code.unpack("held")]
        lines += self._assigned(self._olds)
        if code.retract:
            lines += [
                f"if {self._takes_back}:",
                *(f"    {line}" for line in code.retract_row()),
                "    if n == 0:",
                "        del data[key]; changed[key] = None",
                f"        yield {self._row(self._olds, 3)}",
                "        continue",
                "else:",
                *(f"    {line}" for line in code.accumulate()),
            ]
        else:
            lines += code.accumulate()
        return [*lines, *self._stored(), *self._assigned(self._news), *self._update()]

    def _update(self) -> list[str]:
        changes = " or ".join(self._tests()) or "False"
        before = [f"    yield {self._row(self._olds, 1)}"] if self._update_before else []
        test = "True" if self._always else changes
        return [f"if {test}:", *before, f"    yield {self._row(self._news, 2)}"]

    def _tests(self) -> list[str]:
        """Return tests for a change. Flink computes some functions from sums: any change counts."""
        tests = []
        names = self._code.names
        for part, old, new in zip(self._code.parts, self._olds, self._news, strict=True):
            if part.call.name in FROM_SUMS:
                places = [names.index(slot) for slot in part.slots]
                tests += [f"held[{place}] != {names[place]}" for place in places]
            else:
                tests.append(f"{old} != {new}")
        return tests

    def _stored(self) -> list[str]:
        return [f"data[key] = {self._code.pack()}", "changed[key] = None"]

    def _row(self, names: Sequence[str], kind: int) -> str:
        return f"({', '.join([*self._keys, *names, str(kind)])},)"

    def _assigned(self, names: Sequence[str]) -> list[str]:
        return [f"{name} = {value}" for name, value in zip(names, self._values, strict=True)]
