"""Between streams and tables: records become rows, rows become records."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from penstock.common import Row, RowKind
from penstock.common.flink_text import to_flink_text
from penstock.errors import MissingTimestampError, TypeMismatchError, show_value
from penstock.graph.relational import types as t
from penstock.graph.relational.algebra import Scan
from penstock.graph.relational.changelog import Changes
from penstock.graph.relational.specs import ConvertSpec
from penstock.graph.relational.translator import Translator
from penstock.graph.relational.values import from_user, to_user
from penstock.graph.transformations import Transformation
from penstock.table.result_rows import is_converted, result_row, to_result

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)
_KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)

#: Where a column comes from: a position or name of the record, the record's time, or the clock.
ROWTIME, PROCTIME, WHOLE = "\0rowtime", "\0proctime", "\0whole"


@dataclass(frozen=True)
class RecordsToRows:
    """Records as rows.

    :param origins: for every column its origin: a position, a name, ROWTIME, PROCTIME, WHOLE.
    :param changes: whether the records are `Row`s with a kind that is kept.
    """

    schema: t.RowType
    origins: tuple[Any, ...]
    changes: bool = False

    def __call__(self, records: Iterable[Any], scope: Any) -> Iterator[tuple[Any, ...]]:
        kinds = [column.type for column in self.schema.fields]
        convert = [
            from_user if isinstance(k, t.RowType) or k.children() else _adapter(k) for k in kinds
        ]
        plain = all(isinstance(origin, int) for origin in self.origins) and not any(convert)
        positions = list(self.origins)
        changes = self.changes
        simple = plain and not changes and positions == list(range(len(positions)))
        for record in records:
            if simple and type(record) is tuple and len(record) == len(positions):
                yield record
                continue
            row = [self._value(record, origin, kind, scope)
                   for origin, kind in zip(self.origins, kinds, strict=True)]  # fmt: skip
            for i, change in enumerate(convert):
                if change is not None and row[i] is not None:
                    row[i] = change(row[i], kinds[i])
            if changes:
                kind = record.get_row_kind() if isinstance(record, Row) else RowKind.INSERT
                row.append(kind.value)
            yield tuple(row)

    def _value(self, record: Any, origin: Any, kind: t.LogicalType, scope: Any) -> Any:
        if origin == WHOLE:
            return record
        if origin == ROWTIME:
            if scope.timestamp is None:
                raise MissingTimestampError(
                    "record has no event timestamp, and the table has a rowtime column",
                    got=show_value(record),
                    todo="call assign_timestamps_and_watermarks(...) on the stream before "
                    "making a table of it",
                )
            return from_ms(scope.timestamp, kind)
        if origin == PROCTIME:
            return from_ms(scope.time, kind)
        try:
            return _field(record, origin)
        except (KeyError, IndexError, AttributeError, ValueError, TypeError):
            raise TypeMismatchError(
                f"the record has no field {origin!r}",
                got=f"{type(record).__name__} {show_value(record)}",
                todo="name fields that every record of the stream has",
            ) from None


def _field(record: Any, origin: Any) -> Any:
    if isinstance(record, tuple | list | Row):
        if isinstance(origin, int):
            return record[origin]
        if isinstance(record, Row):
            return record[origin]
        return getattr(record, origin)
    if isinstance(record, dict):
        return record[origin] if origin in record else list(record.values())[origin]
    if isinstance(origin, int):
        return list(vars(record).values())[origin]
    return getattr(record, origin)


def _adapter(kind: t.LogicalType) -> Callable[[Any, t.LogicalType], Any] | None:
    """Return what makes a value of the user's one of the type, where the two may differ."""
    if isinstance(kind, t.LocalZonedTimestampType):
        return _zoned
    if isinstance(kind, t.TimestampType):
        return _unzoned
    if isinstance(kind, t.DecimalType):
        return _decimal
    if isinstance(kind, t.DoubleType | t.FloatType):
        return _float
    return None


def _zoned(value: Any, kind: t.LogicalType) -> Any:
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return value.replace(tzinfo=datetime.timezone.utc)
        return value.astimezone(datetime.timezone.utc)
    return from_ms(value, kind) if isinstance(value, int) else value


def _unzoned(value: Any, kind: t.LogicalType) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return value


def _decimal(value: Any, kind: t.LogicalType) -> Any:
    assert isinstance(kind, t.DecimalType)
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    return number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)


def _float(value: Any, kind: t.LogicalType) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def from_ms(ms: int, kind: t.LogicalType) -> datetime.datetime:
    """Return milliseconds as a value of a timestamp type."""
    if isinstance(kind, t.LocalZonedTimestampType):
        return _UTC_EPOCH + ms * _MS
    return _EPOCH + ms * _MS


def to_ms(value: datetime.datetime) -> int:
    """Return a timestamp as milliseconds of the epoch."""
    return (value - (_EPOCH if value.tzinfo is None else _UTC_EPOCH)) // _MS


class TableRow(Row):
    """A row of a table as a record; it prints as Flink prints it: `+I[a, 1]`."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.get_row_kind()}[{', '.join(map(_text, self))}]"

    def __reduce__(self) -> Any:
        return _table_row, (self.get_field_names(), tuple(self), self.get_row_kind())


def _text(value: Any) -> str:
    return java_time(value) if isinstance(value, datetime.datetime) else to_flink_text(value)


def java_time(value: datetime.datetime) -> str:
    """Return a timestamp as Java shows it: no seconds if there are none.

    >>> java_time(datetime.datetime(2020, 1, 1, 8, 30))
    '2020-01-01T08:30'
    """
    text = value.replace(tzinfo=None).isoformat()
    if value.microsecond:
        text = text.rstrip("0")
    elif value.second == 0:
        text = text[:-3]
    return text if value.tzinfo is None else f"{text}Z"


def _table_row(names: list[str], values: tuple[Any, ...], kind: RowKind) -> TableRow:
    row = TableRow(*values)
    row.set_field_names(names)
    row.set_row_kind(kind)
    return row


@dataclass(frozen=True)
class RowsToRecords:
    """Rows as `Row`s with names, each with its kind.

    :param time: position of the rowtime column, whose value becomes the record's timestamp.
    :param flag: give `(True, row)` for what is added and `(False, row)` for what is taken back.
    :param collected: give rows as `TableResult.collect` does.
    """

    schema: t.RowType
    changes: bool
    time: int | None = None
    flag: bool = False
    collected: bool = False

    def __call__(self, rows: Iterable[Any], scope: Any) -> Iterator[Any]:
        if self.collected:
            yield from self._results(rows)
            return
        names = self.schema.names()
        kinds = [column.type for column in self.schema.fields]
        nested = [i for i, kind in enumerate(kinds) if kind.children()]
        changes, time, flag = self.changes, self.time, self.flag
        for row in rows:
            kind = row[-1] if changes else 0
            values = list(row[:-1] if changes else row)
            if time is not None and values[time] is not None:
                scope.timestamp = to_ms(values[time])
            for i in nested:
                values[i] = to_user(values[i], kinds[i])
            record = TableRow(*values)
            record.set_field_names(names)
            if flag:
                yield (not kind & 1, record)
                continue
            if kind:
                record.set_row_kind(_KINDS[kind])
            yield record

    def _results(self, rows: Iterable[Any]) -> Iterator[Any]:
        names = self.schema.names()
        kinds = [column.type for column in self.schema.fields]
        converted = [i for i, kind in enumerate(kinds) if is_converted(kind)]
        changes = self.changes
        for row in rows:
            values = list(row[:-1] if changes else row)
            for i in converted:
                values[i] = to_result(values[i], kinds[i])
            yield result_row(values, names, _KINDS[row[-1] if changes else 0])


class StreamTable:
    """A stream as a table of a plan."""

    def __init__(
        self, name: str, transformation: Transformation, rows: RecordsToRows,
        kinds: frozenset[str] = frozenset("I"), keys: tuple[int, ...] = (),
        update_before: bool = True,
    ) -> None:  # fmt: skip
        self.name = name
        self.kinds = kinds
        self.keys = keys
        self._transformation = transformation
        self._rows = rows
        self._update_before = update_before

    @property
    def schema(self) -> t.RowType:
        """The columns."""
        return self._rows.schema

    def translate(self, translator: Translator, node: Scan) -> tuple[Transformation, Changes]:
        """Return the rows of the stream."""
        spec = ConvertSpec(self._rows)
        operator = translator.add(node, spec, [self._transformation], name="StreamToTable")
        return operator, Changes(self.kinds, self._update_before)
