"""Names in a query: which column a name means, and the error if it means none or several."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from penstock.errors import ValidationError
from penstock.graph.relational.algebra import Node
from penstock.graph.relational.expressions import Expr, FieldAccess, InputRef
from penstock.graph.relational.types import LogicalType, RowType


@dataclass(frozen=True)
class OuterRef(Expr):
    """A column of the query around a subquery."""

    index: int
    type: LogicalType
    name: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"outer.{self.name}"


@dataclass(frozen=True)
class Relation:
    """One table of a FROM clause: its name there, and where its columns begin."""

    alias: str | None
    schema: RowType
    offset: int
    #: Columns that NATURAL JOIN and USING have merged into another's: left out of `*`.
    hidden: frozenset[int] = frozenset()


class Scope:
    """The columns that an expression may name."""

    def __init__(self, relations: Sequence[Relation], parent: Scope | None = None) -> None:
        self.relations = list(relations)
        self.parent = parent

    @staticmethod
    def of(node: Node, alias: str | None = None, parent: Scope | None = None) -> Scope:
        """Return the scope of one table."""
        return Scope([Relation(alias, node.schema, 0)], parent)

    def width(self) -> int:
        """Return the number of columns."""
        return sum(len(relation.schema.fields) for relation in self.relations)

    def joined(self, other: Scope) -> Scope:
        """Return the scope of the columns of both, this one's first."""
        shift = self.width()
        moved = [Relation(r.alias, r.schema, r.offset + shift, r.hidden) for r in other.relations]
        return Scope([*self.relations, *moved], self.parent)

    def find(self, parts: Sequence[str], tree: Any = None) -> Expr:
        """Return the column that a dotted name means; fields of rows may follow.

        :raises ValidationError: if there is none, or more than one.
        """
        found = self._find(parts, tree)
        if found is not None:
            return found
        if self.parent is not None:
            outer = self.parent._find(parts, tree)
            if outer is not None:
                return _outward(outer)
        raise self._unknown(parts, tree)

    def _find(self, parts: Sequence[str], tree: Any) -> Expr | None:
        for used in range(min(len(parts), 4), 0, -1):
            qualifier, name, path = parts[: used - 1], parts[used - 1], parts[used:]
            hits = self._matches(qualifier, name)
            if len(hits) > 1:
                raise ValidationError(
                    f"column {name!r} is ambiguous",
                    where=place(tree),
                    got=f"it is a column of {' and of '.join(hit[0] for hit in hits)}",
                    todo="write the table's name in front: "
                    + " or ".join(f"{hit[0]}.{name}" for hit in hits),
                )
            if hits:
                return _with_path(hits[0][1], path, tree)
        return None

    def _matches(self, qualifier: Sequence[str], name: str) -> list[tuple[str, InputRef]]:
        hits = []
        for relation in self.relations:
            if qualifier and (relation.alias is None or relation.alias != qualifier[-1]):
                continue
            for i, column in enumerate(relation.schema.fields):
                if column.name == name and (qualifier or i not in relation.hidden):
                    ref = InputRef(relation.offset + i, column.type, column.name)
                    hits.append((relation.alias or "a table without a name", ref))
        return hits

    def star(self, table: str | None = None, tree: Any = None) -> list[InputRef]:
        """Return the columns that `*` or `table.*` stands for."""
        refs = []
        known = [relation for relation in self.relations if table in (None, relation.alias)]
        if not known:
            names = [relation.alias for relation in self.relations if relation.alias]
            raise ValidationError(
                f"there is no table {table!r} in this query",
                where=place(tree),
                todo=nearest(table or "", names) or "name a table of the FROM clause",
            )
        for relation in known:
            for i, column in enumerate(relation.schema.fields):
                if i not in relation.hidden or table is not None:
                    refs.append(InputRef(relation.offset + i, column.type, column.name))
        return refs

    def _unknown(self, parts: Sequence[str], tree: Any) -> ValidationError:
        names = [c.name for relation in self.relations for c in relation.schema.fields]
        text = ".".join(parts)
        wanted = parts[-1]
        aliases = [relation.alias for relation in self.relations if relation.alias]
        if len(parts) > 1 and parts[0] not in aliases and parts[0] not in names:
            return ValidationError(
                f"there is no table {parts[0]!r} in this query",
                where=place(tree),
                got=text,
                todo=nearest(parts[0], aliases) or f"tables here are: {', '.join(aliases)}",
            )
        return ValidationError(
            f"there is no column {text!r}",
            where=place(tree),
            todo=nearest(wanted, names) or f"columns here are: {', '.join(names)}",
        )


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return a hint at names that look like this one, if there are any."""
    by_fold = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), list(by_fold), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(by_fold[n] for n in near)}?" if near else None


def place(tree: Any) -> str | None:
    """Return line and column of a part of the query, if they are known."""
    if tree is None:
        return None
    for node in tree.walk():
        if (line := node.meta.get("line")) is not None:
            length = len(str(node.name)) or 1
            if isinstance(node, exp.Literal) and node.is_string:
                length += 2  # its quotes
            return f"line {line}, column {max(int(node.meta.get('col', 1)) - length + 1, 1)}"
    return None


def _outward(expr: Expr) -> Expr:
    if isinstance(expr, InputRef):
        return OuterRef(expr.index, expr.type, expr.name)
    return expr.with_children([_outward(child) for child in expr.children()])


def _with_path(expr: Expr, path: Sequence[str], tree: Any) -> Expr:
    for name in path:
        row = expr.type
        index = row.index(name) if isinstance(row, RowType) else None
        if index is None:
            known = row.names() if isinstance(row, RowType) else []
            raise ValidationError(
                f"{expr} has no field {name!r}",
                where=place(tree),
                got=f"type {row.as_summary_string()}",
                todo=nearest(name, known) or "name a field of a ROW",
            )
        expr = FieldAccess(expr, index)
    return expr
