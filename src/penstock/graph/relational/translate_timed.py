"""Rules for nodes that work on time: sorts, OVER, joins that forget; and for table functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import algebra as a
from penstock.graph.relational import physical as p
from penstock.graph.relational import specs as s
from penstock.graph.relational.changelog import Changes, kinds_of
from penstock.graph.relational.codegen.aggregates import aggregate_program
from penstock.graph.relational.codegen.chunks import calc, condition
from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.codegen.rows import order_program
from penstock.graph.relational.expressions import AggregateCall, Expr, InputRef, OverCall
from penstock.graph.relational.matching import Reading
from penstock.graph.relational.translator import Rule, Translated, Translator
from penstock.graph.relational.types import (
    ArrayType,
    MapType,
    PointInTimeType,
    RawType,
    TimeAttribute,
)
from penstock.graph.transformations import PartitionTransformation


def is_time_order(node: a.Sort) -> bool:
    """Tell whether rows are sorted by an ascending time attribute first."""
    if not node.keys:
        return False
    first = node.keys[0]
    kind = first.operand.type
    return isinstance(kind, PointInTimeType) and kind.is_attribute and not first.descending


def translate_sort(translator: Translator, node: a.Sort, before: bool) -> Translated:
    """Translate ORDER BY time, or LIMIT without an order."""
    source = translator.translate(node.input, True)
    keyed = translator.keyed(source.source, ())
    if is_time_order(node) and source.changes.insert_only:
        first = node.keys[0].operand
        kind = first.type
        assert isinstance(first, InputRef) and isinstance(kind, PointInTimeType)
        rest = node.keys[1:]
        order = order_program(rest, translator.settings.zone) if rest else None
        proctime = kind.attribute is TimeAttribute.PROCTIME
        spec: Any = s.TemporalSortSpec(None if proctime else first.index, order)
        operator = translator.add(node, spec, [keyed], single=True, name="TemporalSort")
        return Translated(operator, Changes(kinds_of(node)))
    if node.keys:
        raise ValidationError(
            "ORDER BY of an unbounded table works on an ascending time attribute, "
            "or together with LIMIT",
            got=node.describe(),
            todo="order by a rowtime or proctime column first, add LIMIT, or use BATCH mode",
        )
    end = node.offset + node.fetch if node.fetch is not None else 1 << 62
    spec = s.LimitSpec(len(node.schema.fields), source.has_kinds, node.offset + 1, end)
    operator = translator.add(node, spec, [keyed], single=True, name="Limit")
    return Translated(operator, Changes(kinds_of(node)))


def translate_over(translator: Translator, node: a.Over, before: bool) -> Translated:
    """Translate aggregates over frames: one operator for each frame."""
    source = translator.translate(node.input)
    kinds_of(node)
    frames: dict[Any, list[int]] = {}
    for number, call in enumerate(node.calls):
        frames.setdefault((call.partition_by, call.order_by, call.frame), []).append(number)
    current = source.source
    width = len(node.input.schema.fields)
    order: list[int] = []
    for numbers in frames.values():
        calls = [node.calls[number] for number in numbers]
        spec, keys = _over_spec(translator, calls, width)
        keyed = translator.keyed(current, keys)
        current = translator.add(node, spec, [keyed], single=not keys)
        order += numbers
    if order != list(range(len(node.calls))):
        places = [width + order.index(i) for i in range(len(node.calls))]
        exprs: list[Expr] = [*node.input.refs()]
        exprs += [InputRef(place, node.schema.fields[place].type) for place in places]
        program = calc(exprs, None, len(node.schema.fields), session=translator.session)
        current = translator.add(node, s.CalcSpec(program), [current], name="Calc")
    return Translated(current, source.changes)


def _over_spec(
    translator: Translator, calls: list[OverCall], width: int
) -> tuple[s.OverSpec, list[int]]:
    first = calls[0]
    keys = [_column(expr) for expr in first.partition_by]
    if len(first.order_by) != 1 or first.order_by[0].descending:
        raise _no_over("an OVER window is ordered by one ascending time attribute", first)
    operand = first.order_by[0].operand
    kind = operand.type
    if not isinstance(kind, PointInTimeType) or not kind.is_attribute:
        raise _no_over("an OVER window of a stream is ordered by a time attribute", first)
    frame = first.frame
    if frame.following != 0:
        raise _no_over("an OVER window ends with the current row", first)
    preceding = frame.preceding
    if preceding is not None and not isinstance(preceding, int):
        preceding = round(preceding.total_seconds() * 1000)
    program = aggregate_program(
        [_in_order(call) for call in calls],
        retract=preceding is not None,
        zone=translator.settings.zone,
    )
    proctime = kind.attribute is TimeAttribute.PROCTIME
    time = None if proctime else _column(operand)
    return s.OverSpec(program, time, frame.unit, preceding), keys


def _in_order(call: OverCall) -> AggregateCall:
    """Return the aggregate of rows in order; ranks are told by what rows are ordered by."""
    aggregate = call.aggregate
    if aggregate.name == "ROW_NUMBER":
        return replace(aggregate, function="COUNT")
    if aggregate.name in ("RANK", "DENSE_RANK"):
        args = (call.order_by[0].operand,)
        return replace(aggregate, function=f"${aggregate.name}", args=args)
    return aggregate


def _column(expr: Expr) -> int:
    if isinstance(expr, InputRef):
        return expr.index
    raise ValidationError(
        "PARTITION BY and ORDER BY of an OVER window name columns",
        got=str(expr),
        todo="compute the column in a subquery first",
    )


def _no_over(what: str, call: OverCall) -> ValidationError:
    return ValidationError(
        what, got=str(call), todo="order by a rowtime or proctime column, up to the CURRENT ROW"
    )


def translate_correlate(translator: Translator, node: a.Correlate, before: bool) -> Translated:
    """Translate a table function, or UNNEST."""
    source = translator.translate(node.input, before)
    width = len(node.input.schema.fields)
    arity = width + source.has_kinds
    added = len(node.schema.fields) - width
    call = node.call
    if isinstance(call, a.Unnest):
        kind = "multiset"
        if isinstance(call.operand.type, ArrayType | MapType):
            kind = "array" if isinstance(call.operand.type, ArrayType) else "map"
        program = calc([call.operand], None, arity, session=translator.session)
        spec = s.CorrelateSpec(
            program, kind, width, added, node.kind == "left", call.ordinality, call.spread
        )
    else:
        # What the function yields is taken apart by the operator.
        program = calc([replace(call, type=RawType())], None, arity, session=translator.session)
        spec = s.CorrelateSpec(program, "function", width, added, node.kind == "left")
    operator = translator.add(node, spec, [source.source], changes=source.has_kinds)
    return Translated(operator, source.changes)


def _strict(
    node: Any, left_keys: tuple[int, ...], right_keys: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the keys of both sides that may be NULL: such a row has no partner."""
    sides = ((node.left.schema, left_keys), (node.right.schema, right_keys))
    return tuple(
        tuple(key for key in keys if schema.fields[key].type.is_nullable) for schema, keys in sides
    )


def _test(translator: Translator, node: Any) -> Program | None:
    if node.condition is None:
        return None
    width = len(node.left.schema.fields)
    return condition(node.condition, width, session=translator.session)


def _keyed_sides(
    translator: Translator, node: Any
) -> tuple[list[PartitionTransformation], tuple[Translated, Translated]]:
    left, right = translator.translate(node.left), translator.translate(node.right)
    inputs = [
        translator.keyed(left.source, node.left_keys),
        translator.keyed(right.source, node.right_keys),
    ]
    return inputs, (left, right)


def translate_interval_join(
    translator: Translator, node: p.IntervalJoin, before: bool
) -> Translated:
    """Translate a join of times within bounds."""
    changes = Changes(kinds_of(node))
    inputs, _ = _keyed_sides(translator, node)
    widths = (len(node.left.schema.fields), len(node.right.schema.fields))
    spec = s.IntervalJoinTableSpec(
        node.kind, widths, (node.left_time, node.right_time), _test(translator, node),
        _strict(node, node.left_keys, node.right_keys), node.lower, node.upper,
        node.domain == "proctime",
    )  # fmt: skip
    return Translated(translator.add(node, spec, inputs, single=not node.left_keys), changes)


def translate_window_join(translator: Translator, node: p.WindowJoin, before: bool) -> Translated:
    """Translate a join of the rows of a window."""
    changes = Changes(kinds_of(node))
    inputs, _ = _keyed_sides(translator, node)
    widths = (len(node.left.schema.fields), len(node.right.schema.fields))
    spec = s.WindowJoinSpec(
        node.kind, widths, (node.left_window_end, node.right_window_end),
        _test(translator, node), _strict(node, node.left_keys, node.right_keys),
    )  # fmt: skip
    return Translated(translator.add(node, spec, inputs, single=not node.left_keys), changes)


def translate_temporal_join(
    translator: Translator, node: p.TemporalJoin, before: bool
) -> Translated:
    """Translate a join with a version, or a look-up."""
    widths = (len(node.left.schema.fields), len(node.right.schema.fields))
    test = _test(translator, node)
    if node.lookup is not None:
        source = translator.translate(node.left, before)
        lookup = node.lookup.lookup.bound(node.right_keys)
        spec: Any = s.LookupJoinSpec(node.kind, widths, node.left_keys, lookup, test)
        operator = translator.add(node, spec, [source.source], changes=source.has_kinds)
        return Translated(operator, source.changes)
    inputs, (left, right) = _keyed_sides(translator, node)
    proctime = node.right_time is None
    spec = s.TemporalJoinSpec(
        node.kind, widths, None if proctime else node.left_time, node.right_time,
        right.has_kinds, test, _strict(node, node.left_keys, node.right_keys),
    )  # fmt: skip
    operator = translator.add(node, spec, inputs, single=not node.left_keys)
    return Translated(operator, left.changes)


def translate_window_rank(translator: Translator, node: p.WindowRank, before: bool) -> Translated:
    """Translate the first rows of each window."""
    changes = Changes(kinds_of(node))
    source = translator.translate(node.input)
    spec = s.WindowRankSpec(
        node.start, node.end, node.with_number, node.window_end,
        order_program(node.keys, translator.settings.zone),
    )  # fmt: skip
    keyed = translator.keyed(source.source, node.partition)
    return Translated(translator.add(node, spec, [keyed]), changes)


def translate_set_operation(
    translator: Translator, node: a.SetOperation, before: bool
) -> Translated:
    """Translate INTERSECT ALL and EXCEPT ALL."""
    left, right = translator.translate(node.left), translator.translate(node.right)
    columns = tuple(range(len(node.schema.fields)))
    inputs = [translator.keyed(left.source, columns), translator.keyed(right.source, columns)]
    spec = s.SetOperationSpec(node.kind, (left.has_kinds, right.has_kinds))
    return Translated(translator.add(node, spec, inputs), Changes(kinds_of(node)))


def translate_table_aggregate(
    translator: Translator, node: a.TableAggregate, before: bool
) -> Translated:
    """Translate flat_aggregate."""
    source = translator.translate(node.input, True)
    width = len(node.input.schema.fields)
    spec = s.TableAggregateSpec(
        node.function, node.keys, width, source.has_kinds, translator.settings.state_ttl
    )
    keyed = translator.keyed(source.source, tuple(range(node.keys)))
    operator = translator.add(node, spec, [keyed], single=not node.keys)
    return Translated(operator, Changes(kinds_of(node)))


def translate_match(translator: Translator, node: a.Match, before: bool) -> Translated:
    """Translate MATCH_RECOGNIZE."""
    source = translator.translate(node.input)
    changes = Changes(kinds_of(node))
    found, width = node.specification, len(node.input.schema.fields)
    session = translator.session
    stages = tuple(
        s.MatchStagePlan(
            stage.name, stage.least, stage.most, stage.greedy,
            None if stage.condition is None else condition(stage.condition, width, session=session),
            _reading(translator, stage.reading),
        )
        for stage in found.stages
    )  # fmt: skip
    keys = [InputRef(i, node.schema.fields[i].type) for i in range(len(found.partition))]
    read = len(found.reading.values) + sum(len(g.calls) for g in found.reading.aggregates)
    spec = s.MatchSpec(
        found.partition,
        found.time if found.is_rowtime else None,
        order_program(found.order, translator.settings.zone) if found.order else None,
        stages, found.skip, found.skip_to, found.within,
        calc([*keys, *found.measures], None, len(keys) + read, session=session),
        _reading(translator, found.reading),
    )  # fmt: skip
    keyed = translator.keyed(source.source, found.partition)
    operator = translator.add(node, spec, [keyed], single=not found.partition)
    return Translated(operator, changes)


def _reading(translator: Translator, reading: Reading) -> s.ReadingPlan:
    zone = translator.settings.zone
    aggregates = tuple(
        (group.variable, aggregate_program(group.calls, retract=False, zone=zone))
        for group in reading.aggregates
    )
    return s.ReadingPlan(reading.values, aggregates)


TIMED_RULES: dict[type, Rule] = {
    a.Sort: translate_sort,
    a.Over: translate_over,
    a.Correlate: translate_correlate,
    p.IntervalJoin: translate_interval_join,
    p.WindowJoin: translate_window_join,
    p.TemporalJoin: translate_temporal_join,
    p.WindowRank: translate_window_rank,
    a.SetOperation: translate_set_operation,
    a.TableAggregate: translate_table_aggregate,
    a.Match: translate_match,
}
