"""From an optimised plan to operators and edges: one rule a kind of node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.collection import CollectionSource
from penstock.graph.relational import algebra as a
from penstock.graph.relational import physical as p
from penstock.graph.relational import specs as s
from penstock.graph.relational.changelog import INSERTS, Changes, kinds_of
from penstock.graph.relational.codegen.aggregates import aggregate_program, group_program
from penstock.graph.relational.codegen.bundles import bundle_program, merge_program, partial_program
from penstock.graph.relational.codegen.chunks import calc, condition
from penstock.graph.relational.codegen.rows import order_program
from penstock.graph.relational.expressions import Call, InputRef
from penstock.graph.relational.planner.monotonicity import steady_calls
from penstock.graph.relational.source_watermarks import row_watermarks, split_watermark
from penstock.graph.relational.translate_timed import TIMED_RULES
from penstock.graph.relational.translator import Rule, Translated, TranslationSettings, Translator
from penstock.graph.relational.types import INT
from penstock.graph.specs import SourceSpec
from penstock.graph.transformations import UnionTransformation


def make_translator(settings: TranslationSettings) -> Translator:
    """Return a translator that knows all kinds of nodes."""
    return Translator(settings, RULES)


def translate_scan(translator: Translator, node: a.Scan, before: bool) -> Translated:
    """Read a table."""
    source, changes = node.table.translate(translator, node)
    return Translated(source, changes)


def translate_watermark(translator: Translator, node: a.Watermark, before: bool) -> Translated:
    """Make watermarks from rows: in the source, by split, if it can."""
    if isinstance(node.expr, Call) and node.expr.function == "SOURCE_WATERMARK":
        return translator.translate(node.input, before)
    origin = split_watermark(node)
    if origin is not None:
        scan, expr = origin
        width = len(scan.schema.fields) + (scan.table.kinds != INSERTS)
        program = calc([expr], None, width, session=translator.session)
        translator.strategies[scan] = row_watermarks(program, scan.table.eager_watermarks)
        return translator.translate(node.input, before)
    source = translator.translate(node.input, before)
    width = len(node.input.schema.fields) + source.has_kinds
    program = calc([node.expr], None, width, session=translator.session)
    spec = s.WatermarkSpec(program, node.time)
    operator = translator.add(node, spec, [source.source], changes=source.has_kinds)
    return Translated(operator, source.changes)


def translate_values(translator: Translator, node: a.Values, before: bool) -> Translated:
    """Send the rows of VALUES."""
    program = calc([cell for row in node.rows for cell in row], None, 1, session=translator.session)
    width = len(node.schema.fields)
    cells = program.load()["calc"]([(None,)])[0] if width else ()
    rows = [tuple(cells[i * width : (i + 1) * width]) for i in range(len(node.rows))]
    operator = translator.add(node, SourceSpec(CollectionSource(rows)), [], single=True)
    return Translated(operator, Changes(kinds_of(node)))


def translate_calc(translator: Translator, node: p.Calc, before: bool) -> Translated:
    """Filter and project."""
    # A filter may let an update pass and not the row before it: both must be seen.
    source = translator.translate(node.input, before or node.condition is not None)
    width = len(node.input.schema.fields)
    exprs = list(node.exprs)
    if source.has_kinds:
        exprs.append(InputRef(width, INT, "kind"))
        width += 1
    program = calc(exprs, node.condition, width, session=translator.session)
    spec = s.CalcSpec(program)
    operator = translator.add(node, spec, [source.source], changes=source.has_kinds)
    return Translated(operator, source.changes)


def translate_expand(translator: Translator, node: a.Expand, before: bool) -> Translated:
    """Repeat rows for grouping sets."""
    source = translator.translate(node.input, before)
    convert = ExpandRows(node.sets, node.keys, len(node.input.schema.fields), source.has_kinds)
    spec = s.ConvertSpec(convert)
    operator = translator.add(node, spec, [source.source], changes=source.has_kinds)
    return Translated(operator, source.changes)


def translate_union(translator: Translator, node: a.Union, before: bool) -> Translated:
    """Put inputs together."""
    parts = [translator.translate(source, before) for source in node.sources]
    kinds = kinds_of(node)
    changes = Changes(kinds, any(part.changes.update_before for part in parts))
    aligned = [
        part.source if part.has_kinds or changes.insert_only
        else translator.add(source, s.ConvertSpec(AddKind()), [part.source], name="AddKind")
        for part, source in zip(parts, node.sources, strict=True)
    ]  # fmt: skip
    return Translated(UnionTransformation(aligned), changes)


def translate_aggregate(translator: Translator, node: a.Aggregate, before: bool) -> Translated:
    """Aggregate groups: every row, or every mini-batch, updates the results."""
    source = translator.translate(node.input, True)
    settings = translator.settings
    width, steady = len(node.input.schema.fields), steady_calls(node)
    spec: Any
    if not settings.mini_batch:
        program = group_program(
            len(node.keys), node.calls, width, retract=source.has_kinds, update_before=before,
            always_send=settings.state_ttl > 0, zone=settings.zone, steady=steady,
        )  # fmt: skip
        spec = s.GroupAggregateSpec(program, not node.keys, settings.state_ttl)
    else:
        program = bundle_program(
            len(node.keys), node.calls, width, retract=source.has_kinds, update_before=before,
            zone=settings.zone, steady=steady,
        )  # fmt: skip
        spec = s.BundleAggregateSpec(program, settings.mini_batch, settings.state_ttl)
    keyed = translator.keyed(source.source, node.keys)
    operator = translator.add(node, spec, [keyed], single=not node.keys, name="GroupAggregate")
    return Translated(operator, Changes(kinds_of(node), before))


def translate_local_aggregate(
    translator: Translator, node: p.LocalAggregate, before: bool
) -> Translated:
    """Make accumulators of the rows of each subtask."""
    source = translator.translate(node.input, True)
    settings = translator.settings
    program = partial_program(
        node.keys, node.calls, len(node.input.schema.fields), retract=source.has_kinds,
        zone=settings.zone, steady=steady_calls(node),
    )  # fmt: skip
    spec = s.LocalAggregateSpec(program, settings.mini_batch)
    operator = translator.add(node, spec, [source.source], changes=source.has_kinds)
    return Translated(operator, Changes(kinds_of(node)))


def translate_global_aggregate(
    translator: Translator, node: p.GlobalAggregate, before: bool
) -> Translated:
    """Merge the accumulators of each group."""
    source = translator.translate(node.input)
    settings = translator.settings
    program = merge_program(
        len(node.keys), node.calls, retract=kinds_of(node.input.input) != INSERTS,
        update_before=before, zone=settings.zone, steady=steady_calls(node.input),
    )  # fmt: skip
    spec = s.BundleAggregateSpec(program, settings.mini_batch, settings.state_ttl)
    keyed = translator.keyed(source.source, node.keys)
    operator = translator.add(node, spec, [keyed], single=not node.keys)
    return Translated(operator, Changes(kinds_of(node), before))


def translate_window_table(translator: Translator, node: a.WindowTable, before: bool) -> Translated:
    """Put the bounds of windows behind rows."""
    source = translator.translate(node.input)
    kinds_of(node)
    window = node.window
    zone = translator.zone_of(node.input.schema.fields[window.time].type)
    proctime = window.domain == "proctime"
    if window.kind == "SESSION":
        keyed = translator.keyed(source.source, window.partition)
        session = s.SessionTableSpec(window.time, window.size, proctime, zone)
        operator = translator.add(node, session, [keyed], single=not window.partition)
    else:
        spec = s.WindowTableSpec(
            window.kind, window.time, window.size, window.slide, window.offset, proctime, zone
        )
        operator = translator.add(node, spec, [source.source])
    return Translated(operator, source.changes)


def translate_window_aggregate(
    translator: Translator, node: p.WindowAggregate, before: bool
) -> Translated:
    """Aggregate windows."""
    kinds_of(node)
    source = translator.translate(node.input)
    window_keys = {node.keys[i] for i in (node.start, node.end, node.time) if i >= 0}
    keys = [key for key in node.keys if key not in window_keys]
    program = aggregate_program(node.calls, retract=False, zone=translator.settings.zone)
    zone = _window_zone(translator, node)
    spec = s.WindowAggregateSpec(
        program, node.keys, node.keys[node.end], node.window.domain == "proctime", zone
    )
    keyed = translator.keyed(source.source, keys)
    operator = translator.add(node, spec, [keyed], single=not keys)
    return Translated(operator, Changes(kinds_of(node)))


def translate_sliced_aggregate(
    translator: Translator, node: p.SlicedAggregate, before: bool
) -> Translated:
    """Aggregate windows that share slices."""
    changes = Changes(kinds_of(node))
    source = translator.translate(node.input)
    window = node.window
    zone = translator.zone_of(node.input.schema.fields[window.time].type)
    proctime = window.domain == "proctime"
    width = len(node.input.schema.fields)
    read = {*node.keys, *(i for call in node.calls for i in call.inputs())}
    if window.time == width - 1 and window.time not in read:
        width -= 1  # a time takes much longer to travel than a number does
    slices = s.SliceSpec(window.time, width, window.slide, window.offset, proctime, zone)
    sliced = translator.add(node, slices, [source.source], name="WindowSlices")
    program = aggregate_program(
        node.calls, retract=False, merges=True, zone=translator.settings.zone
    )
    spec = s.SlicedWindowSpec(
        program, window.kind, len(node.keys), node.columns, window.size, window.slide,
        window.offset, proctime, zone,
    )  # fmt: skip
    keyed = translator.keyed(sliced, node.keys, node.input)
    return Translated(translator.add(node, spec, [keyed], single=not node.keys), changes)


def _window_zone(translator: Translator, node: a.Node) -> str | None:
    for below in node.walk():
        if isinstance(below, a.WindowTable | p.SlicedAggregate):
            return translator.zone_of(below.input.schema.fields[below.window.time].type)
    return None


def translate_join(translator: Translator, node: p.EquiJoin, before: bool) -> Translated:
    """Join two inputs."""
    left, right = translator.translate(node.left, True), translator.translate(node.right, True)
    changes = Changes(kinds_of(node), True)
    widths = (len(node.left.schema.fields), len(node.right.schema.fields))
    test = None
    if node.condition is not None:
        test = condition(node.condition, widths[0], session=translator.session)
    safe = node.null_safe or (False,) * len(node.left_keys)
    strict = tuple(
        tuple(key for key, null_safe in zip(keys, safe, strict=True)
              if not null_safe and side.schema.fields[key].type.is_nullable)
        for side, keys in ((node.left, node.left_keys), (node.right, node.right_keys))
    )  # fmt: skip
    spec = s.JoinSpec(
        node.kind, widths, (left.has_kinds, right.has_kinds), not changes.insert_only, test,
        node.null_aware, strict, translator.settings.state_ttl,  # type: ignore[arg-type]
    )  # fmt: skip
    inputs = [
        translator.keyed(left.source, node.left_keys),
        translator.keyed(right.source, node.right_keys),
    ]
    operator = translator.add(node, spec, inputs, single=not node.left_keys)
    return Translated(operator, changes)


def translate_rank(translator: Translator, node: p.Rank, before: bool) -> Translated:
    """Keep the first rows."""
    source = translator.translate(node.input, True)
    spec = s.RankSpec(
        len(node.input.schema.fields), source.has_kinds, node.start, node.end,
        node.with_number, before, order_program(node.keys, translator.settings.zone), node.function,
        translator.settings.state_ttl,
    )  # fmt: skip
    keyed = translator.keyed(source.source, node.partition)
    operator = translator.add(node, spec, [keyed], single=not node.partition)
    return Translated(operator, Changes(kinds_of(node), before))


def translate_deduplicate(translator: Translator, node: p.Deduplicate, before: bool) -> Translated:
    """Keep one row a key."""
    changes = Changes(kinds_of(node), before)
    source = translator.translate(node.input)
    time = None if node.domain == "proctime" else node.time
    settings, width = translator.settings, len(node.schema.fields)
    spec: Any = s.DeduplicateSpec(width, node.keep_last, time, before, settings.state_ttl)
    if time is None and node.keep_last and settings.mini_batch:
        spec = s.BundleDeduplicateSpec(
            width, True, None, before, settings.state_ttl, settings.mini_batch
        )
    if time is not None and not node.keep_last:
        spec = s.FirstRowSpec(time)
    keyed = translator.keyed(source.source, node.keys)
    operator = translator.add(node, spec, [keyed], single=not node.keys)
    return Translated(operator, changes)


def translate_normalize(
    translator: Translator, node: p.ChangelogNormalize, before: bool
) -> Translated:
    """Make upserts a full changelog."""
    source = translator.translate(node.input, False)
    spec = s.NormalizeSpec(len(node.schema.fields), before, translator.settings.state_ttl)
    keyed = translator.keyed(source.source, node.keys)
    return Translated(translator.add(node, spec, [keyed]), Changes(kinds_of(node), before))


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


RULES: dict[type, Rule] = {
    a.Scan: translate_scan,
    a.Values: translate_values,
    a.Watermark: translate_watermark,
    p.Calc: translate_calc,
    a.Expand: translate_expand,
    a.Union: translate_union,
    a.Aggregate: translate_aggregate,
    p.LocalAggregate: translate_local_aggregate,
    p.GlobalAggregate: translate_global_aggregate,
    a.WindowTable: translate_window_table,
    p.WindowAggregate: translate_window_aggregate,
    p.SlicedAggregate: translate_sliced_aggregate,
    p.EquiJoin: translate_join,
    p.Rank: translate_rank,
    p.Deduplicate: translate_deduplicate,
    p.ChangelogNormalize: translate_normalize,
    **TIMED_RULES,
}
