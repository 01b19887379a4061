"""Rows: records with positions, names if wanted, and a kind of change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any


class RowKind(Enum):
    """What a row says about a table."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT[self]


_SHORT = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}


def _create_row(
    fields: list[str] | None, values: Iterable[Any], row_kind: RowKind | None = None
) -> Row:
    row = Row(*values)
    object.__setattr__(row, "_fields", fields)
    if row_kind is not None:
        object.__setattr__(row, "_row_kind", row_kind)
    return row


class Row:
    """A record of fields that are reached by position, and by name if they have names.

    >>> row = Row(name="Alice", age=11)
    >>> row
    Row(name='Alice', age=11)
    >>> row.name, row["age"], row[0]
    ('Alice', 11, 'Alice')
    >>> "name" in row
    True

    A row of names makes rows that have these names:

    >>> Person = Row("name", "age")
    >>> Person("Alice", 11)
    Row(name='Alice', age=11)
    """

    __slots__ = ("_fields", "_row_kind", "_values")
    _fields: list[str] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Can not use both args and kwargs to create Row")
        set_slot = object.__setattr__
        set_slot(self, "_fields", list(kwargs) if kwargs else None)
        set_slot(self, "_values", list(kwargs.values()) if kwargs else list(args))
        set_slot(self, "_row_kind", RowKind.INSERT)

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Return a row of the given kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return the fields by name.

        :param recursive: turn rows inside (also in lists and dicts) into dicts too.
        :raises TypeError: if the fields have no names.
        """
        if self._fields is None:
            raise TypeError("Cannot convert a Row class into dict")
        values = map(_as_plain, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Return what the row says about a table."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set what the row says about a table."""
        object.__setattr__(self, "_row_kind", row_kind)

    def set_field_names(self, field_names: list[str]) -> None:
        """Give the fields names, in order of position."""
        object.__setattr__(self, "_fields", list(field_names))

    def get_field_names(self) -> list[str] | None:
        """Return the names in order of position, or None if there are none."""
        return None if self._fields is None else list(self._fields)

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """Return the values of the named fields, in the order of `names`.

        A row without names answers with its values in order of position.
        """
        if self._fields is None or self._fields == names:
            return list(self._values)
        return [self[name] for name in names]

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        if len(args) > len(self):
            raise ValueError(
                f"Can not create Row with fields {self!r}, expected {len(self)} values "
                f"but got {args}"
            )
        return _create_row(list(self._values), args, self._row_kind)

    def _position(self, name: Any) -> int:
        if self._fields is None:
            raise KeyError(name)
        return self._fields.index(name)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._position(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        position = key if isinstance(key, (int, slice)) else self._position(key)
        self._values[position] = value

    def __getattr__(self, name: str) -> Any:
        # Called only when normal look-up fails; names with an underscore are never fields, and
        # copy and pickle ask for some of them before the slots are filled.
        if not name.startswith("_") and self._fields is not None and name in self._fields:
            return self._values[self._fields.index(name)]
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._fields is None or name not in self._fields:
            raise AttributeError(name)
        self._values[self._fields.index(name)] = value

    def __reduce__(self) -> Any:
        return _create_row, (self._fields, tuple(self._values), self._row_kind)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None:
            return False
        # The order of names does not count, as in PyFlink.
        return self.as_dict() == other.as_dict() and len(self) == len(other)

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


def _as_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_as_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_plain(item) for key, item in value.items()}
    return value
