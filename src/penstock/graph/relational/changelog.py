"""Which kinds of changes each edge of a plan carries.

Kinds are found from the sources up: I inserts, U updates, D deletes. Whether an update tells the
row before it (-U) is decided from the sinks down: an upsert sink does without, most operators do
not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import algebra as a
from penstock.graph.relational import physical as p

INSERTS = frozenset("I")
ALL = frozenset("IUD")


@dataclass(frozen=True)
class Changes:
    """What an edge carries."""

    kinds: frozenset[str]
    update_before: bool = True

    @property
    def insert_only(self) -> bool:
        """Whether rows are only ever added: no kind travels with them."""
        return self.kinds == INSERTS

    def __str__(self) -> str:
        parts = ["I"] if "I" in self.kinds else []
        if "U" in self.kinds:
            parts += ["UB", "UA"] if self.update_before else ["UA"]
        if "D" in self.kinds:
            parts.append("D")
        return f"[{','.join(parts)}]"


def kinds_of(node: a.Node) -> frozenset[str]:
    """Return the kinds of changes that a node's output has."""
    below = [kinds_of(source) for source in node.inputs()]
    if isinstance(node, a.Scan):
        return frozenset(getattr(node.table, "kinds", INSERTS))
    if isinstance(node, a.Aggregate):
        return frozenset("IU") if below[0] == INSERTS else ALL
    if isinstance(node, p.LocalAggregate):
        return INSERTS
    if isinstance(node, p.GlobalAggregate):
        return frozenset("IU") if kinds_of(node.input.input) == INSERTS else ALL
    if isinstance(node, p.Rank | a.SetOperation | p.ChangelogNormalize):
        return ALL
    if isinstance(node, p.Deduplicate):
        _require_inserts(node, below)
        return frozenset("IU") if node.keep_last else INSERTS
    if isinstance(node, p.EquiJoin):
        if node.kind in ("inner", "semi"):
            return below[0] | below[1]
        return ALL
    if isinstance(node, a.TableAggregate):
        return frozenset("ID")
    if isinstance(node, a.Sort):
        if node.keys:
            return INSERTS
        return INSERTS if below[0] == INSERTS else ALL
    if isinstance(node, p.TemporalJoin):
        return below[0]
    if isinstance(node, _INSERT_ONLY):
        _require_inserts(node, below)
        return INSERTS
    return frozenset().union(*below) if below else INSERTS


_INSERT_ONLY: tuple[Any, ...] = (
    p.WindowAggregate,
    p.SlicedAggregate,
    a.WindowTable,
    p.WindowRank,
    p.WindowJoin,
    p.IntervalJoin,
    a.Over,
    a.Match,
)


def _require_inserts(node: a.Node, below: list[frozenset[str]]) -> None:
    for kinds in below:
        if kinds != INSERTS:
            raise ValidationError(
                f"{node.title()} does not take an input that updates or deletes rows",
                got=f"changes {Changes(kinds)} from {node.inputs()[0].title()}",
                todo="use it on an append-only table: in front of aggregates without windows, "
                "outer joins and Top-N",
            )
