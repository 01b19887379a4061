"""Descriptions of the operators of tables.

Rows are tuples. On an edge that carries changes other than inserts, the kind of change stands
behind the columns as a number: `INSERT`, `UPDATE_BEFORE`, `UPDATE_AFTER` or `DELETE`; odd numbers
take a row back. An edge that carries inserts only has no such column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph.relational.codegen.program import Program
from penstock.graph.relational.matching import RowValue
from penstock.graph.specs import OperatorSpec

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)


@dataclass(frozen=True)
class CalcSpec(OperatorSpec):
    """Rows through one generated loop: `run(rows)`."""

    program: Program


@dataclass(frozen=True)
class GroupAggregateSpec(OperatorSpec):
    """A grouped aggregate: `run(keys, rows, data, changed, thaw, Frozen)`.

    :param is_global: without keys: in BATCH mode it has a result even for no rows.
    """

    program: Program
    is_global: bool = False
    ttl: int = 0  # milliseconds; 0: kept for ever
    keyed = True


@dataclass(frozen=True)
class BundleAggregateSpec(OperatorSpec):
    """A grouped aggregate that sends one change a key and mini-batch.

    `gather(keys, rows, data, before, thaw, Frozen)` and `send(data, changed, before)`.

    :param size: rows of a mini-batch in a subtask, at most; it ends with the batch at the latest.
    """

    program: Program
    size: int
    ttl: int = 0  # milliseconds; 0: kept for ever
    keyed = True


@dataclass(frozen=True)
class LocalAggregateSpec(OperatorSpec):
    """Accumulators by group in front of an exchange: `fold(rows, held)` and `send(held)`."""

    program: Program
    size: int


@dataclass(frozen=True)
class WatermarkSpec(OperatorSpec):
    """Watermarks from rows: `calc(rows)` gives the watermark of each as a timestamp."""

    program: Program
    time: int


@dataclass(frozen=True)
class WindowTableSpec(OperatorSpec):
    """Put the bounds of each window of a row behind its columns."""

    kind: str
    time: int
    size: int
    slide: int
    offset: int
    proctime: bool
    zone: str | None  # of windows on TIMESTAMP_LTZ; None: TIMESTAMP


@dataclass(frozen=True)
class SessionTableSpec(OperatorSpec):
    """The same for sessions: rows wait until their session has ended."""

    time: int
    gap: int
    proctime: bool
    zone: str | None
    keyed = True


@dataclass(frozen=True)
class WindowAggregateSpec(OperatorSpec):
    """An aggregate that is final when the window of its rows ends.

    :param columns: positions of the group's columns in the input, in the order of the result.
    :param end: position of window_end in the input.
    """

    program: Program
    columns: tuple[int, ...]
    end: int
    proctime: bool
    zone: str | None
    keyed = True


@dataclass(frozen=True)
class SliceSpec(OperatorSpec):
    """Put the begin of a row's slice behind its columns, in milliseconds on the wall.

    :param width: how many columns are kept; the time may be one that nobody else reads.
    """

    time: int
    width: int
    step: int
    offset: int
    proctime: bool
    zone: str | None


@dataclass(frozen=True)
class SlicedWindowSpec(OperatorSpec):
    """Aggregates of HOP or CUMULATE windows from slices that the windows share.

    :param keys: how many columns the key has.
    :param columns: what the result begins with: positions in the key, or of a bound from the end.
    :param step: the length of a slice, whose begin is the last column of a row.
    """

    program: Program
    kind: str
    keys: int
    columns: tuple[int, ...]
    size: int
    step: int
    offset: int
    proctime: bool
    zone: str | None
    keyed = True


@dataclass(frozen=True)
class JoinSpec(OperatorSpec):
    """A regular join of two keyed inputs.

    :param condition: `test(left, right)`, or None.
    :param changes: whether each side carries kinds of changes.
    """

    kind: str
    widths: tuple[int, int]
    changes: tuple[bool, bool]
    emits_kinds: bool
    condition: Program | None
    null_aware: bool = False
    #: Positions of the keys of which none may be NULL for a match, by side.
    strict_keys: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    ttl: int = 0
    keyed = True


@dataclass(frozen=True)
class RankSpec(OperatorSpec):
    """The first rows of each partition. `order` gives what a row is sorted by."""

    width: int
    changes: bool
    start: int
    end: int
    with_number: bool
    update_before: bool
    order: Program
    function: str = "ROW_NUMBER"
    ttl: int = 0
    keyed = True


@dataclass(frozen=True)
class DeduplicateSpec(OperatorSpec):
    """One row a key: the first or the last."""

    width: int
    keep_last: bool
    time: int | None  # None: processing time, the order of arrival
    update_before: bool
    ttl: int = 0
    keyed = True


@dataclass(frozen=True)
class BundleDeduplicateSpec(DeduplicateSpec):
    """The last row a key by arrival, told once a mini-batch of `size` rows."""

    size: int = 1


@dataclass(frozen=True)
class LimitSpec(OperatorSpec):
    """Some rows of all, in no order."""

    width: int
    changes: bool
    start: int
    end: int
    keyed = True


@dataclass(frozen=True)
class MaterializeSpec(OperatorSpec):
    """BATCH mode: the table that a changelog describes, as inserts when the input has ended."""

    width: int
    changes: bool
    order: Program | None = None
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True)
class NormalizeSpec(OperatorSpec):
    """Upserts as a full changelog, by key."""

    width: int
    update_before: bool
    ttl: int = 0
    keyed = True


@dataclass(frozen=True)
class ConvertSpec(OperatorSpec):
    """Records of a stream to rows of a table, or back: `run(records, scope)`.

    :param convert: a callable over an iterable and a scope that has the record's `timestamp`.
    """

    convert: Any


@dataclass(frozen=True)
class FirstRowSpec(OperatorSpec):
    """The first row of each key by a rowtime."""

    time: int
    keyed = True


@dataclass(frozen=True)
class TemporalSortSpec(OperatorSpec):
    """Rows in the order of a time attribute. `order`: among rows of the same time."""

    time: int | None
    order: Program | None
    keyed = True


@dataclass(frozen=True)
class OverSpec(OperatorSpec):
    """Aggregates over a frame of rows in front of each row; they stand behind its columns.

    :param preceding: rows or milliseconds of the frame; None: all.
    :param time: position of the rowtime; None: processing time.
    """

    program: Program
    time: int | None
    unit: str
    preceding: int | None
    keyed = True


@dataclass(frozen=True)
class CorrelateSpec(OperatorSpec):
    """Rows with what is made of them: `calc(rows)` gives a collection for each.

    :param kind: array, multiset, map or function.
    :param added: number of columns that come behind the row's.
    """

    program: Program
    kind: str
    width: int
    added: int
    outer: bool
    ordinality: bool = False
    spread: bool = False


@dataclass(frozen=True)
class WindowJoinSpec(OperatorSpec):
    """Pairs of the same window; `times` are the positions of window_end."""

    kind: str
    widths: tuple[int, int]
    times: tuple[int, int]
    condition: Program | None
    strict_keys: tuple[tuple[int, ...], ...] = ((), ())
    keyed = True


@dataclass(frozen=True)
class IntervalJoinTableSpec(WindowJoinSpec):
    """Pairs by `times`, with lower <= left time - right time <= upper, in milliseconds."""

    lower: int = 0
    upper: int = 0
    proctime: bool = False


@dataclass(frozen=True)
class TemporalJoinSpec(OperatorSpec):
    """Left rows with the version of the right row that their time asks for.

    :param time: position of the left time; None: processing time.
    :param right_time: position of the versions' time; None: only the latest counts.
    """

    kind: str
    widths: tuple[int, int]
    time: int | None
    right_time: int | None
    right_changes: bool
    condition: Program | None
    strict_keys: tuple[tuple[int, ...], ...] = ((), ())
    keyed = True


@dataclass(frozen=True)
class LookupJoinSpec(OperatorSpec):
    """Left rows with rows that are looked up: `lookup.rows(key, now)`."""

    kind: str
    widths: tuple[int, int]
    keys: tuple[int, ...]
    lookup: Any
    condition: Program | None


@dataclass(frozen=True)
class WindowRankSpec(OperatorSpec):
    """The first rows of each partition in each window."""

    start: int
    end: int
    with_number: bool
    window_end: int
    order: Program
    keyed = True


@dataclass(frozen=True)
class SetOperationSpec(OperatorSpec):
    """INTERSECT ALL or EXCEPT ALL of two inputs, keyed by the whole row."""

    kind: str
    changes: tuple[bool, bool]
    keyed = True


@dataclass(frozen=True)
class TableAggregateSpec(OperatorSpec):
    """Any number of rows a group, from a function of the user.

    :param keys: how many columns are the group's; the others are the function's arguments.
    """

    function: Any
    keys: int
    width: int
    changes: bool
    ttl: int = 0
    keyed = True


@dataclass(frozen=True)
class ReadingPlan:
    """What an expression reads of a match: values, then aggregates a variable."""

    values: tuple[RowValue, ...]
    aggregates: tuple[tuple[str | None, Program], ...]

    def __bool__(self) -> bool:
        return bool(self.values or self.aggregates)


@dataclass(frozen=True)
class MatchStagePlan:
    """A variable of MATCH_RECOGNIZE; its condition is `matches(row, what is read)`."""

    name: str
    least: int
    most: int | None
    greedy: bool
    condition: Program | None
    reading: ReadingPlan


@dataclass(frozen=True)
class MatchSpec(OperatorSpec):
    """MATCH_RECOGNIZE, keyed by the partition's columns.

    :param time: position of the rowtime; None: processing time.
    :param order: `order(row)`, for rows of the same time; None: as they come.
    :param measures: `calc` over the partition's columns and what is read.
    """

    partition: tuple[int, ...]
    time: int | None
    order: Program | None
    stages: tuple[MatchStagePlan, ...]
    skip: str
    skip_to: str | None
    within: int | None
    measures: Program
    reading: ReadingPlan
    keyed = True
    state_layout = "cep"
