"""Calls of functions over whole columns, as pandas series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas

from penstock.errors import TypeMismatchError


def call(function: Any, columns: Sequence[list[Any]], types: Any, count: int) -> list[Any]:
    """Call a function with a series for each column; return its result as values of ours.

    :param types: the columns' types, by which integers without NULL keep their width.
    :raises TypeMismatchError: if the result has another length.
    """
    series = [_series(column, t) for column, t in zip(columns, types, strict=True)]
    result = function(*series)
    if not hasattr(result, "__len__") or isinstance(result, str | bytes):
        result = [result] * count
    if len(result) != count:
        raise TypeMismatchError(
            "a function over columns returned another number of values than it was given",
            got=f"{len(result)} values for {count} rows",
            todo="return a pandas.Series with one value for each row",
        )
    if isinstance(result, pandas.DataFrame):
        return [tuple(map(_plain, row)) for row in result.itertuples(index=False, name=None)]
    return [_plain(value) for value in result]


_WIDTHS = {
    "TINYINT": "int8", "SMALLINT": "int16", "INT": "int32", "BIGINT": "int64", "FLOAT": "float32",
    "DOUBLE": "float64",
}  # fmt: skip


def _series(column: list[Any], t: Any) -> pandas.Series | pandas.DataFrame:
    """Return a column of values; one of rows is a frame with a column for each field."""
    names = getattr(t, "names", None)
    if names is not None:
        parts = list(zip(*column, strict=True)) if column else [() for _ in names()]
        fields = zip(names(), parts, t.children(), strict=True)
        return pandas.DataFrame({name: _series(list(part), k) for name, part, k in fields})
    dtype = _WIDTHS.get(t.name())
    if dtype is None:
        return pandas.Series(column, dtype=None if column else "object")
    if dtype.startswith("int") and None in column:
        # Whole numbers with gaps are floats, as Arrow hands them to PyFlink's functions.
        dtype = "float64"
    return pandas.Series(column, dtype=dtype)


def _plain(value: Any) -> Any:
    if value is None or value is pandas.NaT or value is pandas.NA:
        return None
    if isinstance(value, pandas.Timestamp):
        return value.to_pydatetime()
    item = getattr(value, "item", None)
    if item is not None:
        value = item()
    return value


def fold(function: Any, rows: list[tuple[Any, ...]], types: Any) -> Any:
    """Call an aggregate over columns with all rows of a group; return its one value."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in types]
    series = [_series(column, t) for column, t in zip(columns, types, strict=True)]
    return _plain(function.compute(*series))
