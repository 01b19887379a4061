"""`to_changelog` and `from_changelog`: kinds of changes as a column, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import TypeMismatchError, ValidationError, show_value
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Node, Scan
from penstock.graph.relational.changelog import Changes
from penstock.graph.relational.expressions import Literal
from penstock.graph.relational.planner.rules import optimise
from penstock.graph.relational.specs import ConvertSpec
from penstock.graph.relational.translator import Translator
from penstock.graph.transformations import Transformation
from penstock.table.expression_tree import Bound, Modified
from penstock.table.names import hint
from penstock.table.sql.dialect import Descriptor

#: Names of the kinds, in the order of their numbers.
KINDS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")


@dataclass(frozen=True)
class ChangelogArguments:
    """What the calls take: the column of the kind, and other words for kinds."""

    column: str
    words: Mapping[str, str]

    @staticmethod
    def of(trees: Iterable[Any], call: str) -> ChangelogArguments:
        """Return the arguments of a call, each marked by `as_argument(name)`.

        :raises ValidationError: if there is another argument, or one of the wrong form.
        """
        column, words = "op", dict(zip(KINDS, KINDS, strict=True))
        for tree in trees:
            name = _argument_name(tree)
            if name == "op" and isinstance(tree.this, Descriptor):
                column = tree.this.expressions[0].name
            elif name == "op_mapping" and str(tree.this.this).upper() == "MAP":
                words = _pairs(tree.this.expressions, call)
            else:
                raise ValidationError(
                    f"{call} does not take this argument",
                    got=name or "an expression without a name",
                    todo='pass descriptor("column").as_argument("op") or '
                    'map_("INSERT", "I", ...).as_argument("op_mapping")',
                )
        return ChangelogArguments(column, words)


def _argument_name(tree: Any) -> str | None:
    if isinstance(tree, Modified) and tree.args["mark"] == "argument":
        return str(tree.args["values"][0])
    return None


def _pairs(trees: list[Any], call: str) -> dict[str, str]:
    values: list[str] = []
    for tree in trees:
        expr = tree.args.get("expr") if isinstance(tree, Bound) else None
        if not isinstance(expr, Literal) or not isinstance(expr.value, str):
            raise ValidationError(f"the op_mapping of {call} is a map of texts", got=str(tree))
        values.append(expr.value)
    pairs = zip(values[::2], values[1::2], strict=True)
    return {word.strip(): to for words, to in pairs for word in words.split(",")}


def _kind(name: str, call: str) -> int:
    if name not in KINDS:
        raise ValidationError(
            f"the op_mapping of {call} names a kind that is not there",
            got=show_value(name),
            todo=f"use some of: {', '.join(KINDS)}",
        )
    return KINDS.index(name)


def to_changelog(node: Node, arguments: ChangelogArguments) -> Scan:
    """Return the changes of a table as rows that are only added."""
    words = [(_kind(name, "to_changelog()"), word) for name, word in arguments.words.items()]
    fields = (t.RowField(arguments.column, t.STRING), *_plain_fields(node.schema))
    schema = t.RowType(fields, is_nullable=False)
    return Scan(schema, _ToChangelog(node, tuple(sorted(words))))


def from_changelog(node: Node, arguments: ChangelogArguments) -> Scan:
    """Return rows with a column that tells the kind of change as a table that changes."""
    place = node.schema.index(arguments.column)
    if place is None:
        raise ValidationError(
            f"there is no column {arguments.column!r} that tells the kind of change",
            where="from_changelog()",
            todo=f'{hint(arguments.column, node.names())} Name it: descriptor("...")'
            '.as_argument("op")',
        )
    words = tuple((w, _kind(name, "from_changelog()")) for w, name in arguments.words.items())
    fields = tuple(f for i, f in enumerate(_plain_fields(node.schema)) if i != place)
    return Scan(t.RowType(fields, is_nullable=False), _FromChangelog(node, place, words))


def _plain_fields(schema: t.RowType) -> tuple[t.RowField, ...]:
    """Return the columns without time attributes."""
    fields = []
    for column in schema.fields:
        kind = column.type
        if isinstance(kind, t.PointInTimeType):
            kind = kind.as_attribute(t.TimeAttribute.NONE)
        fields.append(t.RowField(column.name, kind))
    return tuple(fields)


class _ToChangelog:
    """The changes of a query as a table of a plan."""

    name = "TO_CHANGELOG"
    kinds = frozenset("I")

    def __init__(self, node: Node, words: tuple[tuple[int, str], ...]) -> None:
        self._node = node
        self._words = words

    def translate(self, translator: Translator, node: Scan) -> tuple[Transformation, Changes]:
        """Return the rows."""
        done = translator.translate(optimise(self._node))
        spec = ConvertSpec(KindsToColumn(self._words, done.has_kinds))
        made = translator.add(node, spec, [done.source], name=self.name, changes=done.has_kinds)
        return made, Changes(self.kinds)


class _FromChangelog:
    """Rows that say what change they are, as a table of a plan."""

    name = "FROM_CHANGELOG"

    def __init__(self, node: Node, place: int, words: tuple[tuple[str, int], ...]) -> None:
        self._node = node
        self._place = place
        self._words = words
        self.kinds = frozenset("IUUD"[kind] for _, kind in words)

    def translate(self, translator: Translator, node: Scan) -> tuple[Transformation, Changes]:
        """Return the rows."""
        done = translator.translate(optimise(self._node))
        if done.has_kinds:
            raise ValidationError(
                "from_changelog() takes a table that is only added to",
                got=f"changes {done.changes}",
            )
        spec = ConvertSpec(ColumnToKinds(self._place, self._words))
        return translator.add(node, spec, [done.source], name=self.name), Changes(self.kinds)


@dataclass(frozen=True)
class KindsToColumn:
    """Put the word for each row's kind in front of it; kinds without a word are left out."""

    words: tuple[tuple[int, str], ...]
    has_kinds: bool

    def __call__(self, rows: Iterable[Any], scope: Any) -> Iterator[tuple[Any, ...]]:
        words = dict(self.words)
        if not self.has_kinds:
            word = words.get(0)
            if word is not None:
                for row in rows:
                    yield (word, *row)
            return
        for row in rows:
            word = words.get(row[-1])
            if word is not None:
                yield (word, *row[:-1])


@dataclass(frozen=True)
class ColumnToKinds:
    """Take the word for each row's kind out of it, and put the kind behind the row."""

    place: int
    words: tuple[tuple[str, int], ...]

    def __call__(self, rows: Iterable[Any], scope: Any) -> Iterator[tuple[Any, ...]]:
        kinds, place = dict(self.words), self.place
        for row in rows:
            kind = kinds.get(row[place])
            if kind is None:
                raise TypeMismatchError(
                    "from_changelog(): no kind of change has this word",
                    got=show_value(row[place]),
                    todo=f"words are: {', '.join(kinds)}; others stand in op_mapping",
                )
            yield (*row[:place], *row[place + 1 :], kind)
