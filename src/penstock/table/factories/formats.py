"""Formats of rows in files and messages: csv and json."""

from __future__ import annotations

import base64
import csv
import datetime
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from penstock.errors import SourceError, ValidationError, show_value
from penstock.graph.relational import types as t
from penstock.table.factories.base import TableContext
from penstock.table.result_text import _float


class RowFormat:
    """How rows are written as bytes, and read again. Pickled with the source and the sink."""

    #: Whether a line is a record, so that files can be read line by line.
    lines = True

    def decode(self, data: str) -> list[tuple[Any, ...]]:
        """Return the rows of a line or message; the kind stands behind if the format has kinds."""
        raise TypeError("abstract")

    def encode(self, row: Sequence[Any]) -> str:
        """Return a row as a line or message, without the end of the line."""
        raise TypeError("abstract")


def find_format(context: TableContext, key: str = "format") -> RowFormat:
    """Return the format that a table names."""
    name = context.required(key)
    maker = FORMATS.get(name)
    if maker is None:
        raise ValidationError(
            f"there is no format {name!r}",
            where=f"table {context.name}",
            todo=f"use one of: {', '.join(sorted(FORMATS))}",
        )
    prefix = f"{name}."
    options = {
        k.removeprefix(prefix): v for k, v in context.options.items() if k.startswith(prefix)
    }
    return maker(context.schema, options)


@dataclass
class CsvFormat(RowFormat):
    """Values parted by commas."""

    schema: t.RowType
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        delimiter = self.options.get("field-delimiter", ",")
        self._delimiter = delimiter.encode().decode("unicode_escape")
        self._quote = self.options.get("quote-character", '"')
        self._null = self.options.get("null-literal")
        self._quiet = self.options.get("ignore-parse-errors", "false") == "true"
        self._comments = self.options.get("allow-comments", "false") == "true"
        self._readers = [text_reader(column.type) for column in self.schema.fields]
        self._plain = self.options.get("disable-quote-character", "false") == "true"

    def __getstate__(self) -> dict[str, Any]:
        return {"schema": self.schema, "options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def decode(self, data: str) -> list[tuple[Any, ...]]:
        if not data.strip() or (self._comments and data.startswith("#")):
            return []
        try:
            cells = next(csv.reader(
                [data], delimiter=self._delimiter, quotechar=self._quote,
                quoting=csv.QUOTE_NONE if self._plain else csv.QUOTE_MINIMAL,
            ))  # fmt: skip
            if len(cells) != len(self._readers):
                raise ValueError(f"{len(cells)} values for {len(self._readers)} columns")
            return [tuple(
                None if cell == self._null or (cell == "" and read is not str) else read(cell)
                for cell, read in zip(cells, self._readers, strict=True)
            )]  # fmt: skip
        except Exception as error:
            if self._quiet:
                return []
            raise _unreadable("csv", data, error) from None

    def encode(self, row: Sequence[Any]) -> str:
        kinds = self.schema.children()
        cells = [
            (self._null or "") if v is None else text_of(v, k)
            for v, k in zip(row, kinds, strict=True)
        ]
        out = io.StringIO()
        csv.writer(
            out, delimiter=self._delimiter, quotechar=self._quote, lineterminator="",
            quoting=csv.QUOTE_NONE if self._plain else csv.QUOTE_MINIMAL, escapechar="\\"
            if self._plain else None,
        ).writerow(cells)  # fmt: skip
        return out.getvalue()


@dataclass
class JsonFormat(RowFormat):
    """A JSON object a row, by the names of the columns."""

    schema: t.RowType
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._quiet = self.options.get("ignore-parse-errors", "false") == "true"
        self._strict = self.options.get("fail-on-missing-field", "false") == "true"
        self._iso = self.options.get("timestamp-format.standard", "SQL").upper() == "ISO-8601"

    def __getstate__(self) -> dict[str, Any]:
        return {"schema": self.schema, "options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def decode(self, data: str) -> list[tuple[Any, ...]]:
        if not data.strip():
            return []
        try:
            value = json.loads(data, parse_float=_number)
            row = self.row(value)
        except Exception as error:
            if self._quiet:
                return []
            raise _unreadable("json", data, error) from None
        return [row]

    def row(self, value: Any) -> tuple[Any, ...]:
        """Return the row of a parsed object."""
        return tuple(self._read_field(value, column) for column in self.schema.fields)

    def _read_field(self, value: Any, column: t.RowField) -> Any:
        if self._strict and column.name not in value:
            raise ValueError(f"there is no field {column.name!r}")
        return from_json(value.get(column.name), column.type)

    def encode(self, row: Sequence[Any]) -> str:
        columns = self.schema.fields
        value = {c.name: to_json(v, c.type, self._iso) for c, v in zip(columns, row, strict=True)}
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _number(text: str) -> Any:
    return float(text)


def from_json(value: Any, kind: t.LogicalType) -> Any:
    """Return a value of JSON as one of a type."""
    if value is None:
        return None
    if isinstance(kind, t.RowType):
        return tuple(from_json(value.get(f.name), f.type) for f in kind.fields)
    if isinstance(kind, t.ArrayType):
        return [from_json(item, kind.element) for item in value]
    if isinstance(kind, t.MapType):
        return {text_reader(kind.key)(k): from_json(v, kind.value) for k, v in value.items()}
    if isinstance(kind, t.MultisetType):
        return {text_reader(kind.element)(k): int(v) for k, v in value.items()}
    if isinstance(kind, t.CharacterType):
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if isinstance(kind, t.BooleanType):
        return value if isinstance(value, bool) else str(value).strip().lower() == "true"
    if isinstance(kind, t.BinaryStringType):
        return base64.b64decode(value)
    if isinstance(kind, t.IntegralType):
        return int(value)
    if isinstance(kind, t.ApproximateType):
        return float(value)
    return text_reader(kind)(str(value))


def to_json(value: Any, kind: t.LogicalType, iso: bool) -> Any:
    """Return a value of a type as one of JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(kind, t.RowType):
        return {f.name: to_json(v, f.type, iso) for f, v in zip(kind.fields, value, strict=True)}
    if isinstance(kind, t.ArrayType):
        return [to_json(item, kind.element, iso) for item in value]
    if isinstance(kind, t.MapType):
        return {text_of(k, kind.key): to_json(v, kind.value, iso) for k, v in value.items()}
    if isinstance(kind, t.MultisetType):
        return {text_of(k, kind.element): n for k, n in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value
    text = text_of(value, kind)
    return text.replace(" ", "T") if iso else text


def text_of(value: Any, kind: t.LogicalType) -> str:
    """Return a value as text that `text_reader` reads again."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        text = value.strftime("%Y-%m-%d %H:%M:%S")
        if value.microsecond:
            text += f".{value.microsecond:06d}".rstrip("0")
        return f"{text}Z" if isinstance(kind, t.LocalZonedTimestampType) else text
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def text_reader(kind: t.LogicalType) -> Callable[[str], Any]:
    """Return how a text becomes a value of a type."""
    if isinstance(kind, t.CharacterType):
        return str
    if isinstance(kind, t.IntegralType):
        return int
    if isinstance(kind, t.ApproximateType):
        return float
    if isinstance(kind, t.BooleanType):
        return lambda text: text.strip().lower() == "true"
    if isinstance(kind, t.DecimalType):
        unit = Decimal(1).scaleb(-kind.scale)
        return lambda text: Decimal(text.strip()).quantize(unit, ROUND_HALF_UP)
    if isinstance(kind, t.DateType):
        return lambda text: datetime.date.fromisoformat(text.strip())
    if isinstance(kind, t.TimeType):
        return lambda text: datetime.time.fromisoformat(_six_digits(text.strip().rstrip("Z")))
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda text: _timestamp(text).replace(tzinfo=datetime.timezone.utc)
    if isinstance(kind, t.TimestampType):
        return _timestamp
    if isinstance(kind, t.BinaryStringType):
        return base64.b64decode
    raise ValidationError(
        f"a text cannot hold a value of type {kind.as_summary_string()}",
        todo="use the json format",
    )


def _timestamp(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(_six_digits(text.strip().rstrip("Z").replace("T", " ")))


def _six_digits(text: str) -> str:
    head, dot, fraction = text.partition(".")
    return f"{head}.{fraction[:6]:0<6}" if dot else head


def _unreadable(name: str, data: str, error: Exception) -> SourceError:
    return SourceError(
        f"this is no row in the format {name}: {error}",
        got=show_value(data),
        todo=f"correct the data or the table's columns, or set '{name}.ignore-parse-errors' = "
        "'true'",
    )


FORMATS: dict[str, Callable[[t.RowType, dict[str, str]], RowFormat]] = {
    "csv": CsvFormat,
    "json": JsonFormat,
}
