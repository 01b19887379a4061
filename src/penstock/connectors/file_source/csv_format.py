"""CSV files as rows, parsed by pyarrow."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv as pa_csv

from penstock.common.typeinfo import ListTypeInfo, TypeInformation
from penstock.common.types import Row
from penstock.connectors.arrow_types import arrow_type
from penstock.connectors.csv_schema import CsvColumn, CsvSchema
from penstock.connectors.file_source.csv_comments import WithoutComments
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.opening import UpTo, is_compressed, reading, sample
from penstock.connectors.file_source.records import Convert, converter, rows, values_of
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.connectors.file_source.text_lines import line_blocks, line_number
from penstock.errors import SourceError

_BLOCK = 1 << 20
#: Read as text, since Arrow's own types for them have a fixed number of digits.
_EXACT: dict[str, Convert] = {"BigDecimal": Decimal, "BigInteger": int}
_ELEMENTS: dict[str, Convert] = {
    "Boolean": lambda text: text.strip().lower() == "true",
    "Float": float,
    "Double": float,
    **dict.fromkeys(("Byte", "Short", "Integer", "Long"), int),
    **_EXACT,
}


class CsvReaderFormat(StreamFormat):
    """Read CSV files; the records are rows with the names of the schema's columns.

    Columns are told by their place; a header is only compared, and that if the schema says so. A
    value that cannot be read as the column's type, or a line with another number of values than
    there are columns, fails the job with the file and the place. Unless the schema sets what
    stands for None, a value of no characters is None in a column of numbers or truth values.
    Blank lines are left out. Files are in UTF-8.

    A quoted value may hold line ends, so a file is read by one subtask in one batch; if the schema
    has no quote character, a large file is read in parallel.
    """

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema
        self._names = [column.name for column in schema.columns]
        self._types = {column.name: _read_as(column) for column in schema.columns}
        self.produced_type = schema.row_type

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return the format of files with such columns."""
        return CsvReaderFormat(schema)

    def is_divisible(self, path: str) -> bool:
        settings = self._schema.settings
        return not (settings.quote_char or settings.escape_char or is_compressed(path))

    def record_bytes(self, path: str, size: int) -> float:
        text, length = sample(path, size)
        return max(length / max(text.count(b"\n"), 1), 0.01)

    def read(self, piece: FilePiece) -> Iterator[list[Row]]:
        self._check_header(piece)
        if not self.is_divisible(piece.path):
            with reading(piece) as file:
                # Nobody knows where to stop in a compressed file.
                packed = is_compressed(piece.path)
                whole = file if packed else io.BufferedReader(UpTo(file, piece.size), _BLOCK)
                yield from self._rows(piece, whole, self._lines_to_skip())
            return
        for block in line_blocks(piece):
            skip = self._lines_to_skip() if block.at == 0 else 0
            try:
                yield from self._rows(piece, io.BytesIO(block.data), skip)
            except SourceError as error:
                line = line_number(piece, block.at)
                error.where = f"{piece.path}, rows counted from line {line} on"
                raise

    def _rows(self, piece: FilePiece, file: IO[bytes], skip: int) -> Iterator[list[Row]]:
        source: Any = file
        settings = self._schema.settings
        if settings.allow_comments:
            source = WithoutComments(file, settings.quote_char)
        converters = [_from_text(column) for column in self._schema.columns]
        try:
            for batch in _batches(source, *self._options(skip)):
                columns = zip(batch.columns, converters, strict=True)
                yield rows(self._names, [values_of(column, each) for column, each in columns])
        except (pa.ArrowInvalid, ValueError, ArithmeticError) as error:
            raise SourceError(
                "a CSV file does not fit its schema",
                where=piece.path,
                got=str(error),
                todo="correct the file, or the columns and settings of the CsvSchema",
            ) from None

    def _options(self, skip: int) -> tuple[Any, Any, Any]:
        settings = self._schema.settings
        null = settings.null_value
        return (
            pa_csv.ReadOptions(
                use_threads=False, block_size=_BLOCK, column_names=self._names, skip_rows=skip
            ),
            pa_csv.ParseOptions(
                delimiter=settings.column_separator,
                quote_char=settings.quote_char or False,
                escape_char=settings.escape_char or False,
                newlines_in_values=not self.is_divisible(""),
            ),
            pa_csv.ConvertOptions(
                column_types=self._types,
                null_values=[""] if null is None else [null],
                strings_can_be_null=null is not None,
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )

    def _lines_to_skip(self) -> int:
        settings = self._schema.settings
        return int(settings.use_header) + int(settings.skip_first_data_row)

    def _check_header(self, piece: FilePiece) -> None:
        settings = self._schema.settings
        if not settings.use_header or not settings.strict_headers:
            return
        with reading(piece) as file:
            line = file.readline().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        options: dict[str, Any] = {"delimiter": settings.column_separator}
        if settings.quote_char is None:
            options["quoting"] = csv.QUOTE_NONE
        else:
            options["quotechar"] = settings.quote_char
        found = next(csv.reader([line], **options), [])
        if found != self._names:
            raise SourceError(
                "the header of a CSV file does not have the columns of its schema",
                where=piece.path,
                got=", ".join(found),
                todo=f"the columns must be {', '.join(self._names)}, or set_strict_headers(False)",
            )


def _batches(source: Any, read: Any, parse: Any, convert: Any) -> Iterator[pa.RecordBatch]:
    try:
        reader = pa_csv.open_csv(source, read, parse, convert)
    except pa.ArrowInvalid as error:
        # A file that ends with its header, or holds nothing but comments, has no rows.
        if re.search("Empty CSV file", str(error)):
            return
        raise
    yield from reader


def _read_as(column: CsvColumn) -> pa.DataType:
    as_text = isinstance(column.type_info, ListTypeInfo) or str(column.type_info) in _EXACT
    return pa.string() if as_text else arrow_type(column.type_info)


def _from_text(column: CsvColumn) -> Convert | None:
    kind: TypeInformation = column.type_info
    if not isinstance(kind, ListTypeInfo):
        return _EXACT.get(str(kind)) or converter(kind)
    element = _ELEMENTS.get(str(kind.elem_type), str)
    separator = column.separator
    if not separator:
        return lambda text: [element(text)] if text else []
    return lambda text: [element(part) for part in text.split(separator)] if text else []
