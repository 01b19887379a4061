"""Write records with fields to CSV files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import Any

from penstock.common.types import Row
from penstock.connectors.text_sink import TextSink, WriteMode
from penstock.errors import SinkError, show_value


def csv_sink(
    path: str | os.PathLike[str],
    write_mode: WriteMode | str | None = None,
    row_delimiter: str = "\n",
    field_delimiter: str = ",",
) -> TextSink:
    """Return a sink for tuples, lists, rows and dataclasses: their fields, joined.

    As Flink's `writeAsCsv`, it quotes nothing; None is written as an empty field.

    >>> sink = csv_sink("out/counts.csv", "OVERWRITE", field_delimiter=";")
    """
    return TextSink(path, write_mode, CsvLine(field_delimiter), row_delimiter)


class CsvLine:
    """Turn a record into a line.

    >>> CsvLine(",")(("a", None, 1.5))
    'a,,1.5'
    """

    def __init__(self, field_delimiter: str) -> None:
        self._delimiter = field_delimiter

    def __call__(self, value: Any) -> str:
        fields = ("" if field is None else str(field) for field in _fields(value))
        return self._delimiter.join(fields)


def _fields(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple | list | Row):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    raise SinkError(
        "a record without fields cannot be written as CSV",
        got=show_value(value),
        todo="map the stream to tuples before write_as_csv, or use write_as_text",
    )
