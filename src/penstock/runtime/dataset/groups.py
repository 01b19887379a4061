"""Records by key: grouped where they are, sent as groups, and put together where they arrive.

Most records are plain tuples whose key is one of their fields. The groups of such records travel
and wait as columns without the key, which cost a fraction of the memory and of the time of
pickling. The tuples are made again when a group is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from operator import countOf, itemgetter
from typing import Any

from penstock.graph.dataset.keys import Key
from penstock.runtime.dataset.carrier import COLUMNS, GROUPED
from penstock.runtime.dataset.sending import SendByKey

#: Records that are looked at together.
_BLOCK = 1 << 12
#: What is grouped before it is sent: records, of about so many bytes, but some at first.
_MOST = 1 << 17
_BYTES = 1 << 22
_FIRST = 1 << 10
#: Equal keys of these types are the same in every respect. 1 and True, 0.0 and -0.0 are not.
_EXACT = (int, str, bytes)
#: Tuples with more fields are pickled as they are: a column costs a step for each record.
_WIDEST = 4

#: Number of fields, and type of the key, of plain tuples that are alike; None: records of any kind.
Shape = tuple[int, type] | None


class SendGroups(SendByKey):
    """Send records where their keys belong, grouped as far as they are together.

    A key then travels and is hashed once for many records. If keys hardly ever come twice, records
    are sent as they are.
    """

    def run(self, subtask: int, values: Iterator[Any]) -> Iterator[Any]:
        key: Key = self._key.unpack()
        blocks = _Blocks(values, key)
        enough, useful = _FIRST, True
        while useful and (gathered := blocks.gather(enough)).held:
            # Not judged by the first few, of which there may be less than keys.
            useful = gathered.is_worth_it() or gathered.held < enough or enough == _FIRST
            size = 0
            for target, chunk in self._chunks(gathered):
                size += self._tools.size(chunk)
                yield target, chunk
            enough = min(max(gathered.held * _BYTES // size, 1), _MOST) if size else _MOST
        yield from self.send(blocks.rest(), lambda records: self._route(key.of_all(records)))

    def _chunks(self, gathered: _Gathered) -> Iterator[Any]:
        """Yield `(target, chunk)`."""
        names = list(gathered.tables[0])
        mine: list[list[Any]] = [[] for _ in range(self._count)]
        for name, target in zip(names, self._route(names), strict=True):
            mine[target].append(name)
        for target, groups in enumerate(mine):
            if not groups:
                continue
            parts = [list(map(table.__getitem__, groups)) for table in gathered.tables]
            if gathered.shape is None:
                yield target, self._tools.pack(GROUPED, (groups, parts[0]))
            else:
                yield target, self._tools.pack(COLUMNS, (groups, parts))


class _Gathered:
    """Groups of records of one shape: a table of lists of records, or one for each column."""

    def __init__(self, shape: Shape, key: Key) -> None:
        self.shape = shape
        self.held = 0
        self._fields = [] if shape is None else _without(range(shape[0]), key.position)
        self.tables: list[defaultdict[Any, list[Any]]] = [
            defaultdict(list) for _ in range(len(self._fields) or 1)
        ]

    def add(self, records: list[Any], keys: list[Any]) -> None:
        """Add records of the shape."""
        self.held += len(records)
        if self.shape is None:
            _append(self.tables[0], keys, records)
        for field, table in zip(self._fields, self.tables, strict=False):
            _append(table, keys, map(itemgetter(field), records))

    def is_worth_it(self) -> bool:
        """Tell whether there are much fewer keys than records."""
        return len(self.tables[0]) * 2 < self.held


class _Blocks:
    """Records, some at a time."""

    def __init__(self, values: Iterator[Any], key: Key) -> None:
        self._values = values
        self._key = key
        #: A block that was looked at and is still to be taken.
        self._waiting: list[Any] = []

    def gather(self, enough: int) -> _Gathered:
        """Group records of one shape, until there are enough."""
        key = self._key
        gathered: _Gathered | None = None
        while gathered is None or gathered.held < enough:
            records = self._waiting or list(islice(self._values, min(_BLOCK, enough)))
            self._waiting = []
            if not records:
                break
            keys = key.of_all(records)
            shape = _shape_of(records, keys, key)
            if gathered is None:
                gathered = _Gathered(shape, key)
            elif shape != gathered.shape:
                self._waiting = records
                break
            gathered.add(records, keys)
        return gathered or _Gathered(None, key)

    def rest(self) -> Iterator[Any]:
        """Return the records that were not gathered."""
        return chain(self._waiting, self._values)


def _shape_of(records: list[Any], keys: list[Any], key: Key) -> Shape:
    """Return what the records have in common, None if they are not alike."""
    many, kind = len(records), type(keys[0])
    if key.position is None or kind not in _EXACT or type(records[0]) is not tuple:
        return None
    fields = len(records[0])
    alike = (
        1 < fields <= _WIDEST
        and countOf(map(type, records), tuple) == many
        and countOf(map(len, records), fields) == many
        and countOf(map(type, keys), kind) == many
    )
    return (fields, kind) if alike else None


def _append(groups: defaultdict[Any, list[Any]], keys: list[Any], values: Iterable[Any]) -> None:
    for group, value in zip(keys, values, strict=True):
        groups[group].append(value)


def _without(fields: range, one: int | None) -> list[int]:
    return [field for field in fields if field != one]


class GroupTable:
    """Groups in memory, filled from chunks."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._groups: defaultdict[Any, list[Any]] = defaultdict(list)
        #: Columns of groups, without that of the key.
        self._columns: dict[Any, list[list[Any]]] = {}

    def add(self, tag: int, content: Any) -> None:
        """Add what a chunk holds."""
        if tag == COLUMNS:
            self._add_columns(*content)
        elif tag == GROUPED:
            for group, records in zip(*content, strict=True):
                self._groups[group] += records
        else:
            _append(self._groups, self._key.of_all(content), content)

    def take(self) -> Iterator[tuple[Any, list[Any]]]:
        """Yield `(key, records)`; the table is empty afterwards."""
        groups, columns = self._groups, self._columns
        for group in list(columns):
            records = self._tuples(group, columns.pop(group))
            yield group, records + groups.pop(group, [])
        for group in list(groups):
            yield group, groups.pop(group)

    def _add_columns(self, groups: list[Any], tables: list[list[list[Any]]]) -> None:
        table = self._columns
        for group, *columns in zip(groups, *tables, strict=True):
            held = table.get(group)
            if held is None:
                table[group] = columns
            elif len(held) == len(columns):
                for column, more in zip(held, columns, strict=True):
                    column += more
            else:  # another sender has tuples of another length
                self._groups[group] += self._tuples(group, columns)

    def _tuples(self, group: Any, columns: list[list[Any]]) -> list[Any]:
        parts: list[Any] = list(columns)
        parts.insert(self._key.position, repeat(group))  # type: ignore[arg-type]
        return list(zip(*parts))  # noqa: B905 - the key is repeated without end
