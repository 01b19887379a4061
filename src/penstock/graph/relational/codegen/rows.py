"""Sort keys as generated code."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.graph.relational.codegen.emitter import Emitter
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.expressions import SortKey
from penstock.graph.relational.types import NumericType


def order_program(keys: Sequence[SortKey], zone: str = "UTC") -> Program:
    """Return `order(row)`: what rows are sorted by; NULLs are put where each key says."""
    emitter = Emitter(lambda i: f"row[{i}]", zone)
    parts = []
    for key in keys:
        code = emitter.value(key.operand)
        known = code
        if key.descending:
            numeric = isinstance(key.operand.type, NumericType)
            known = f"(-{code})" if numeric else f"{emitter.library('ordering.Descending')}({code})"
        if not key.operand.type.is_nullable:
            parts.append(known)
            continue
        null, value = ("(0,)", f"(1, {known})") if key.nulls_first else ("(1,)", f"(0, {known})")
        parts.append(f"({null} if {code} is None else {value})")
    lines = ["def order(row):", f"    return ({''.join(part + ', ' for part in parts)})"]
    return Program("\n".join([*emitter.prelude, *lines]), tuple(emitter.objects))
