"""Loops of grouped aggregates with mini-batches: rows change accumulators at once, results wait.

A **bundle** is what came since results were sent last. `before` has an entry for each of its keys:
the result that was sent last, or None if there was none.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.graph.relational.codegen.aggregates import (
    FROM_SUMS,
    AggregateCode,
    function_source,
)
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.expressions import AggregateCall


def bundle_program(
    keys: int,
    calls: Sequence[AggregateCall],
    width: int,
    *,
    retract: bool,
    update_before: bool,
    zone: str = "UTC",
    steady: frozenset[int] = frozenset(),
) -> Program:
    """Return `gather(keys, rows, data, before, thaw, Frozen)` and `send(data, changed, before)`.

    :param width: number of columns of an input row; its kind stands behind them if `retract`.
    """
    code = AggregateCode(calls, retract=retract, zone=zone, counted=retract, steady=steady)
    change = code.accumulate()
    first: list[str] = []
    if retract:
        takes_back = f"r[{width}] & 1"
        change = [
            f"if {takes_back}:", *_indented(code.retract_row()), "else:", *_indented(change),
        ]  # fmt: skip
        # Nothing is there to be taken from: the row's insert was forgotten (state TTL).
        first = [f"if {takes_back}: continue"]
    return _program(code, keys, first, change, update_before)


def merge_program(
    keys: int,
    calls: Sequence[AggregateCall],
    *,
    retract: bool,
    update_before: bool,
    zone: str = "UTC",
    steady: frozenset[int] = frozenset(),
) -> Program:
    """Return the same functions for rows of `partial_program`: keys and an accumulator."""
    code = AggregateCode(calls, retract=retract, zone=zone, counted=retract, steady=steady)
    return _program(code, keys, [], code.merge("r", skip=keys), update_before)


def partial_program(
    columns: Sequence[int],
    calls: Sequence[AggregateCall],
    width: int,
    *,
    retract: bool,
    zone: str = "UTC",
    steady: frozenset[int] = frozenset(),
) -> Program:
    """Return `fold(rows, held)`, which fills accumulators by key, and `send(held)`.

    :param columns: positions of the key in a row.
    """
    code = AggregateCode(
        calls, retract=retract, zone=zone, counted=retract, steady=steady, partial=True
    )
    change = code.accumulate()
    if retract:
        change = [
            f"if r[{width}] & 1:", *_indented(code.retract_row()), "else:", *_indented(change),
        ]  # fmt: skip
    key = f"r[{columns[0]}]" if len(columns) == 1 else f"({''.join(f'r[{i}], ' for i in columns)})"
    fold = [
        "get = held.get",
        "for r in rows:",
        f"    key = {key}",
        "    acc = get(key)",
        "    if acc is None:",
        *_indented(code.fresh() or ["pass"], 2),
        "    else:",
        *_indented(code.unpack("acc") or ["pass"], 2),
        *_indented(change),
        f"    held[key] = {code.pack()}",
    ]
    head = "(key,)" if len(columns) == 1 else "key"
    send = [f"return [{head} + acc for key, acc in held.items()]"]
    sources = [function_source("fold", "rows, held", fold), function_source("send", "held", send)]
    return code.program("\n".join(sources))


def _program(
    code: AggregateCode, keys: int, first: list[str], change: list[str], update_before: bool
) -> Program:
    gather = [
        "get = data.get",
        "for key, r in zip(keys, rows):",
        "    held = get(key)",
        "    if held is None:",
        *_indented([*first, *code.fresh(), "before[key] = None"], 2),
        "    else:",
        "        if type(held) is Frozen: held = thaw(key)",
        *_indented(code.unpack("held"), 2),
        f"        if key not in before: before[key] = {_kept(code)}",
        *_indented(change),
        f"    data[key] = {code.pack()}",
    ]
    sources = [
        function_source("gather", "keys, rows, data, before, thaw, Frozen", gather),
        function_source("send", "data, changed, before", _send(code, keys, update_before)),
    ]
    return code.program("\n".join(sources))


def _send(code: AggregateCode, keys: int, update_before: bool) -> list[str]:
    columns = ["key"] if keys == 1 else [f"key[{i}]" for i in range(keys)]
    olds = [f"o{i}" for i in range(len(code.parts))]
    news = [f"v{i}" for i in range(len(code.parts))]
    sums = [f"s{i}" for i in range(len(_sum_slots(code)))]

    def row(names: list[str], kind: int) -> str:
        return f"({', '.join([*columns, *names, str(kind)])},)"

    lines = ["for key, old in before.items():", "    changed[key] = None"]
    lines += _indented(code.unpack("data[key]"))
    if code.retract:
        gone = ["if old is not None:"]
        gone += _indented(_unpacked([*olds, *sums]))
        gone.append(f"    yield {row(olds, 3)}")
        lines += ["    if n == 0:", "        del data[key]", *_indented([*gone, "continue"], 2)]
    lines += [f"    {name} = {value}" for name, value in zip(news, code.values(), strict=True)]
    lines += ["    if old is None:", f"        yield {row(news, 0)}", "        continue"]
    lines += _indented(_unpacked([*olds, *sums]))
    tests = [
        f"{old} != {new}"
        for part, old, new in zip(code.parts, olds, news, strict=True)
        if part.call.name not in FROM_SUMS
    ]
    tests += [f"{a} != {b}" for a, b in zip(sums, _sum_slots(code), strict=True)]
    lines.append(f"    if {' or '.join(tests) or 'False'}:")
    if update_before:
        lines.append(f"        yield {row(olds, 1)}")
    lines.append(f"        yield {row(news, 2)}")
    return lines


def _kept(code: AggregateCode) -> str:
    """Return what is kept of a key before its bundle: results, and what they are compared by."""
    return f"({''.join(f'{each}, ' for each in [*code.values(), *_sum_slots(code)])})"


def _unpacked(names: Sequence[str]) -> list[str]:
    return [f"{', '.join(names)}, = old"] if names else []


def _sum_slots(code: AggregateCode) -> list[str]:
    """Return the slots of results that Flink computes from sums: any change of these counts."""
    return [slot for part in code.parts if part.call.name in FROM_SUMS for slot in part.slots]


def _indented(lines: Sequence[str], depth: int = 1) -> list[str]:
    return ["    " * depth + line for line in lines]
