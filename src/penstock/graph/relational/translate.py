"""From an optimised plan to operators and edges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from penstock.connectors.collection import CollectionSource
from penstock.errors import ValidationError
from penstock.graph.relational import algebra as a
from penstock.graph.relational import physical as p
from penstock.graph.relational import specs as s
from penstock.graph.relational.changelog import Changes, kinds_of
from penstock.graph.relational.codegen.aggregates import aggregate_program, group_program
from penstock.graph.relational.codegen.chunks import Session, calc, condition
from penstock.graph.relational.codegen.rows import order_program
from penstock.graph.relational.expressions import Call, InputRef
from penstock.graph.relational.planner.monotonicity import steady_calls
from penstock.graph.relational.types import INT, LocalZonedTimestampType, LogicalType
from penstock.graph.specs import Hash, OperatorSpec, SourceSpec
from penstock.graph.transformations import (
    OperatorTransformation,
    PartitionTransformation,
    Transformation,
    UnionTransformation,
)


class OneKey:
    """The key of rows that all belong together."""

    def get_key(self, row: Any) -> tuple[()]:
        """Return the same for every row."""
        return ()


@dataclass
class TranslationSettings:
    """What the environment says about a job's tables."""

    parallelism: int = 1
    zone: str = "UTC"
    batch: bool = False
    state_ttl: int = 0  # milliseconds; 0: state is kept for ever
    add_operator: Callable[[OperatorTransformation], None] = lambda operator: None


@dataclass(frozen=True)
class Translated:
    """The output of a node: where its rows come from, and what changes they carry."""

    source: Transformation
    changes: Changes

    @property
    def has_kinds(self) -> bool:
        """Whether a kind stands behind the columns of each row."""
        return not self.changes.insert_only


class Translator:
    """Translate the plans of one job; what they share is made once."""

    def __init__(self, settings: TranslationSettings) -> None:
        self.settings = settings
        self.session = Session(settings.zone)
        self._done: dict[tuple[a.Node, bool], Translated] = {}
        self._uids: dict[str, int] = {}
        self.added: list[OperatorTransformation] = []
        #: Filled while translating, for `explain`.
        self.changes: dict[int, Changes] = {}

    def translate(self, node: a.Node, update_before: bool = True) -> Translated:
        """Return the operators of a plan.

        :param update_before: whether the consumer needs the row before each update.
        """
        key = (node, update_before)
        if key not in self._done:
            rule = _RULES.get(type(node))
            if rule is None:
                raise ValidationError(
                    f"{node.title()} cannot be executed", got=node.describe(),
                    todo="write the query in another way",
                )  # fmt: skip
            self._done[key] = rule(self, node, update_before)
        done = self._done[key]
        self.changes[id(node)] = done.changes
        return done

    # ---- building blocks -----------------------------------------------------------------------

    def add(
        self, node: a.Node, spec: OperatorSpec, inputs: Sequence[Transformation], *,
        single: bool = False, name: str | None = None,
    ) -> OperatorTransformation:  # fmt: skip
        """Add an operator for a node; its uid follows from what the node does."""
        title = name or node.title()
        operator = OperatorTransformation(title, spec, inputs, self.settings.parallelism)
        operator.description = f"{title}({node.describe()})"
        operator.uid = self._uid(title, node)
        if single:
            operator.force_non_parallel()
        self.settings.add_operator(operator)
        self.added.append(operator)
        return operator

    def _uid(self, title: str, node: a.Node) -> str:
        """Name an operator by what it does and by the tables it reads, not by its place."""
        tables = sorted({scan.table.name for scan in node.walk() if isinstance(scan, a.Scan)})
        text = "\n".join([title, node.describe(), *tables])
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        count = self._uids[digest] = self._uids.get(digest, 0) + 1
        return f"sql-{title}-{digest}" + (f"-{count}" if count > 1 else "")

    def keyed(self, source: Transformation, columns: Sequence[int]) -> PartitionTransformation:
        """Return the rows parted by some columns."""
        selector: Any = itemgetter(*columns) if columns else OneKey()
        return PartitionTransformation(source, Hash(selector))

    # ---- rules ---------------------------------------------------------------------------------

    def scan(self, node: a.Scan, before: bool) -> Translated:
        source, changes = node.table.translate(self, node)
        return Translated(source, changes)

    def watermark(self, node: a.Watermark, before: bool) -> Translated:
        source = self.translate(node.input, before)
        if isinstance(node.expr, Call) and node.expr.function == "SOURCE_WATERMARK":
            return source
        width = len(node.input.schema.fields) + source.has_kinds
        program = calc([node.expr], None, width, session=self.session)
        operator = self.add(node, s.WatermarkSpec(program, node.time), [source.source])
        return Translated(operator, source.changes)

    def values(self, node: a.Values, before: bool) -> Translated:
        program = calc([cell for row in node.rows for cell in row], None, 1, session=self.session)
        width = len(node.schema.fields)
        cells = program.load()["calc"]([(None,)])[0] if width else ()
        rows = [tuple(cells[i * width : (i + 1) * width]) for i in range(len(node.rows))]
        operator = self.add(node, SourceSpec(CollectionSource(rows)), [], single=True)
        return Translated(operator, Changes(kinds_of(node)))

    def calc(self, node: p.Calc, before: bool) -> Translated:
        # A filter may let an update pass and not the row before it: both must be seen.
        source = self.translate(node.input, before or node.condition is not None)
        width = len(node.input.schema.fields)
        exprs = list(node.exprs)
        if source.has_kinds:
            exprs.append(InputRef(width, INT, "kind"))
            width += 1
        program = calc(exprs, node.condition, width, session=self.session)
        return Translated(self.add(node, s.CalcSpec(program), [source.source]), source.changes)

    def expand(self, node: a.Expand, before: bool) -> Translated:
        source = self.translate(node.input, before)
        convert = ExpandRows(node.sets, node.keys, len(node.input.schema.fields), source.has_kinds)
        return Translated(self.add(node, s.ConvertSpec(convert), [source.source]), source.changes)

    def union(self, node: a.Union, before: bool) -> Translated:
        parts = [self.translate(source, before) for source in node.sources]
        kinds = kinds_of(node)
        changes = Changes(kinds, any(part.changes.update_before for part in parts))
        aligned = [
            part.source if part.has_kinds or changes.insert_only
            else self.add(source, s.ConvertSpec(AddKind()), [part.source], name="AddKind")
            for part, source in zip(parts, node.sources, strict=True)
        ]  # fmt: skip
        return Translated(UnionTransformation(aligned), changes)

    def aggregate(self, node: a.Aggregate, before: bool) -> Translated:
        source = self.translate(node.input, True)
        program = group_program(
            len(node.keys), node.calls, len(node.input.schema.fields),
            retract=source.has_kinds, update_before=before,
            always_send=self.settings.state_ttl > 0, zone=self.settings.zone,
            steady=steady_calls(node),
        )  # fmt: skip
        spec = s.GroupAggregateSpec(program, is_global=not node.keys)
        keyed = self.keyed(source.source, node.keys)
        operator = self.add(node, spec, [keyed], single=not node.keys, name="GroupAggregate")
        return Translated(operator, Changes(kinds_of(node), before))

    def window_table(self, node: a.WindowTable, before: bool) -> Translated:
        source = self.translate(node.input)
        kinds_of(node)
        window = node.window
        zone = self._zone(node.input.schema.fields[window.time].type)
        proctime = window.domain == "proctime"
        if window.kind == "SESSION":
            keyed = self.keyed(source.source, window.partition)
            session = s.SessionTableSpec(window.time, window.size, proctime, zone)
            operator = self.add(node, session, [keyed], single=not window.partition)
        else:
            spec = s.WindowTableSpec(
                window.kind, window.time, window.size, window.slide, window.offset, proctime, zone
            )
            operator = self.add(node, spec, [source.source])
        return Translated(operator, source.changes)

    def _zone(self, kind: LogicalType) -> str | None:
        return self.settings.zone if isinstance(kind, LocalZonedTimestampType) else None

    def window_aggregate(self, node: p.WindowAggregate, before: bool) -> Translated:
        kinds_of(node)
        source = self.translate(node.input)
        window_keys = {node.keys[i] for i in (node.start, node.end, node.time) if i >= 0}
        keys = [key for key in node.keys if key not in window_keys]
        program = aggregate_program(node.calls, retract=False, zone=self.settings.zone)
        zone = self._window_zone(node)
        spec = s.WindowAggregateSpec(
            program, node.keys, node.keys[node.end], node.window.domain == "proctime", zone
        )
        keyed = self.keyed(source.source, keys)
        operator = self.add(node, spec, [keyed], single=not keys)
        return Translated(operator, Changes(kinds_of(node)))

    def _window_zone(self, node: a.Node) -> str | None:
        for below in node.walk():
            if isinstance(below, a.WindowTable):
                return self._zone(below.input.schema.fields[below.window.time].type)
        return None

    def join(self, node: p.EquiJoin, before: bool) -> Translated:
        left, right = self.translate(node.left, True), self.translate(node.right, True)
        changes = Changes(kinds_of(node), True)
        widths = (len(node.left.schema.fields), len(node.right.schema.fields))
        test = None
        if node.condition is not None:
            test = condition(node.condition, widths[0], session=self.session)
        safe = node.null_safe or (False,) * len(node.left_keys)
        strict = tuple(
            tuple(key for key, null_safe in zip(keys, safe, strict=True)
                  if not null_safe and side.schema.fields[key].type.is_nullable)
            for side, keys in ((node.left, node.left_keys), (node.right, node.right_keys))
        )  # fmt: skip
        spec = s.JoinSpec(
            node.kind, widths, (left.has_kinds, right.has_kinds), not changes.insert_only, test,
            node.null_aware, strict,  # type: ignore[arg-type]
        )  # fmt: skip
        inputs = [
            self.keyed(left.source, node.left_keys), self.keyed(right.source, node.right_keys)
        ]  # fmt: skip
        operator = self.add(node, spec, inputs, single=not node.left_keys)
        return Translated(operator, changes)

    def rank(self, node: p.Rank, before: bool) -> Translated:
        source = self.translate(node.input, True)
        spec = s.RankSpec(
            len(node.input.schema.fields), source.has_kinds, node.start, node.end,
            node.with_number, before, order_program(node.keys, self.settings.zone), node.function,
        )  # fmt: skip
        keyed = self.keyed(source.source, node.partition)
        operator = self.add(node, spec, [keyed], single=not node.partition)
        return Translated(operator, Changes(kinds_of(node), before))

    def deduplicate(self, node: p.Deduplicate, before: bool) -> Translated:
        changes = Changes(kinds_of(node), before)
        source = self.translate(node.input)
        time = None if node.domain == "proctime" else node.time
        spec = s.DeduplicateSpec(len(node.schema.fields), node.keep_last, time, before)
        keyed = self.keyed(source.source, node.keys)
        operator = self.add(node, spec, [keyed], single=not node.keys)
        return Translated(operator, changes)

    def sort(self, node: a.Sort, before: bool) -> Translated:
        source = self.translate(node.input, True)
        if node.keys:
            raise ValidationError(
                "ORDER BY of an unbounded table works on an ascending time attribute, "
                "or together with LIMIT",
                got=node.describe(),
                todo="order by a rowtime or proctime column first, add LIMIT, or use BATCH mode",
            )
        end = node.offset + node.fetch if node.fetch is not None else 1 << 62
        spec = s.LimitSpec(len(node.schema.fields), source.has_kinds, node.offset + 1, end)
        keyed = self.keyed(source.source, ())
        operator = self.add(node, spec, [keyed], single=True, name="Limit")
        return Translated(operator, Changes(kinds_of(node)))

    def normalize(self, node: p.ChangelogNormalize, before: bool) -> Translated:
        source = self.translate(node.input, False)
        spec = s.NormalizeSpec(len(node.schema.fields), before)
        keyed = self.keyed(source.source, node.keys)
        return Translated(self.add(node, spec, [keyed]), Changes(kinds_of(node), before))


@dataclass(frozen=True)
class ExpandRows:
    """Each row once for every grouping set."""

    sets: tuple[tuple[int, ...], ...]
    keys: tuple[int, ...]
    width: int
    changes: bool

    def __call__(self, rows: Any, scope: Any) -> Any:
        width, tail = self.width, self.changes
        masks = [
            (number, [key for key in self.keys if key not in one])
            for number, one in enumerate(self.sets)
        ]
        for row in rows:
            for number, missing in masks:
                copy = list(row[:width])
                for key in missing:
                    copy[key] = None
                copy.append(number)
                if tail:
                    copy.append(row[width])
                yield tuple(copy)


@dataclass(frozen=True)
class AddKind:
    """Rows of an insert-only edge where a changelog is expected."""

    kind: int = field(default=s.INSERT)

    def __call__(self, rows: Any, scope: Any) -> Any:
        kind = self.kind
        for row in rows:
            yield (*row, kind)


_RULES: dict[type, Callable[..., Translated]] = {
    a.Scan: Translator.scan,
    a.Values: Translator.values,
    a.Watermark: Translator.watermark,
    p.Calc: Translator.calc,
    a.Expand: Translator.expand,
    a.Union: Translator.union,
    a.Aggregate: Translator.aggregate,
    a.WindowTable: Translator.window_table,
    p.WindowAggregate: Translator.window_aggregate,
    p.EquiJoin: Translator.join,
    p.Rank: Translator.rank,
    p.Deduplicate: Translator.deduplicate,
    a.Sort: Translator.sort,
    p.ChangelogNormalize: Translator.normalize,
}
