"""CSV, JSON lines, Parquet and Avro, whole and in pieces."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.common import Row, Types
from penstock.common.type_information import declared_type
from penstock.connectors.file_source import text_lines
from penstock.connectors.file_source.file_format import FileFormat, FilePiece
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.datastream.formats.avro import AvroSchema
from penstock.datastream.formats.csv import CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from penstock.datastream.formats.json import JsonLinesFormat
from penstock.datastream.formats.parquet import AvroParquetReaders, ParquetColumnarRowInputFormat
from penstock.errors import ConfigurationError, SourceError
from penstock.table import DataTypes


def read(file_format: FileFormat, path: Path) -> list[Any]:
    size = path.stat().st_size
    return [r for rs in file_format.read(FilePiece(str(path), 0, size, size)) for r in rs]


def read_in_pieces(file_format: FileFormat, path: Path, length: int) -> list[Any]:
    size = path.stat().st_size
    return [
        record
        for start in range(0, size, length)
        for records in file_format.read(
            FilePiece(str(path), start, min(start + length, size), size)
        )
        for record in records
    ]


# ----------------------------------------------------------------------- CSV


def columns() -> CsvSchemaBuilder:
    return (
        CsvSchema.builder()
        .add_number_column("id", Types.INT())
        .add_string_column("name")
        .add_boolean_column("ok")
        .add_array_column("l", ";", Types.INT())
        .add_number_column("d", Types.DOUBLE())
    )


NAMES = ["id", "name", "ok", "l", "d"]


# What PyFlink 2.3 makes of the same text with the same schema.
@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        (
            '1,a,true,1;2,1.5\n2,"x,\ny""z",false,,2\n',
            columns(),
            [[1, "a", True, [1, 2], 1.5], [2, 'x,\ny"z', False, [], 2.0]],
        ),
        (" 1 , a b ,true,1; 2,1.5\n", columns(), [[1, " a b ", True, [1, 2], 1.5]]),
        ("1,NULL,true,1,NULL\n", columns().set_null_value("NULL"), [[1, None, True, [1], None]]),
        (
            "1,a,true,1,1.5\n2,a,true,1,1.5\n",
            columns().set_skip_first_data_row(),
            [[2, "a", True, [1], 1.5]],
        ),
        (
            '#1,a,true,1,1.5\n2,"a\n#b",true,1,1.5\n',
            columns().set_allow_comments(),
            [[2, "a\n#b", True, [1], 1.5]],
        ),
        ("1,a\\,b,true,1,1.5\n", columns().set_escape_char("\\"), [[1, "a,b", True, [1], 1.5]]),
        (
            "1,a,true,1,1.5\r2,b,true,1,1.5\r\n",
            columns(),
            [[1, "a", True, [1], 1.5], [2, "b", True, [1], 1.5]],
        ),
    ],
)
def test_csv(tmp_path: Path, text: str, schema: CsvSchemaBuilder, expected: list[Any]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, newline="")
    found = read(CsvReaderFormat.for_schema(schema.build()), path)
    assert [list(row) for row in found] == expected
    assert all(row.get_field_names() == NAMES for row in found)


def test_csv_that_grows_is_read_up_to_the_size_it_had(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,a,true,1,1.5\n2,b,true,1,1")
    size = path.stat().st_size
    with path.open("a") as file:
        file.write("2.5\n3,c,true,1,1\n")
    piece = FilePiece(str(path), 0, size, size)
    (found,) = CsvReaderFormat.for_schema(columns().build()).read(piece)
    assert [(row.id, row.d) for row in found] == [(1, 1.5), (2, 1.0)]


def test_csv_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    text = "id|name|price|tags|whole\n1|'a|b'|1.10|x,y|é\n\n2||2||z;\n"
    path.write_bytes(gzip.compress(text.encode()))
    builder = CsvSchema.builder().add_number_column("id").add_string_column("name")
    builder.add_number_column("price", Types.BIG_DEC()).add_array_column("tags", ",")
    builder.add_array_column("whole").set_column_separator("|").set_quote_char("'")
    builder.set_use_header().set_strict_headers()
    schema = builder.remove_array_element_separator(4).disable_array_element_separator().build()
    assert read(CsvReaderFormat.for_schema(schema), path) == [
        Row(id=1, name="a|b", price=Decimal("1.10"), tags=["x", "y"], whole=["é"]),
        Row(id=2, name="", price=Decimal(2), tags=[], whole=["z;"]),
    ]


def test_csv_files_that_hold_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name,ok,l,d\n")
    assert read(CsvReaderFormat.for_schema(columns().set_use_header().build()), path) == []
    path.write_text("# nothing\n")
    assert read(CsvReaderFormat.for_schema(columns().set_allow_comments().build()), path) == []


def test_csv_without_quotes_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", 100)
    path = tmp_path / "a.csv"
    path.write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(500)))
    builder = CsvSchema.builder().add_number_column("id").add_string_column("name")
    quoted = CsvReaderFormat.for_schema(builder.set_use_header().build())
    unquoted = CsvReaderFormat.for_schema(builder.disable_quote_char().build())
    assert (quoted.is_divisible("a.csv"), unquoted.is_divisible("a.csv")) == (False, True)
    expected = [Row(id=i, name=f"n{i}") for i in range(500)]
    for length in (7, 100, 1001, 1 << 20):
        assert read_in_pieces(unquoted, path, length) == expected
    assert not unquoted.is_divisible("a.csv.gz")
    assert 7 < unquoted.record_bytes(str(path), path.stat().st_size) < 10


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("1,a,true,1\n", "CSV parse error: Expected 5 columns, got 4: 1,a,true,1"),
        ("1\n", "CSV parse error: Expected 5 columns, got 1: 1"),
        ("1,a,true,1,1,9\n", "CSV parse error: Expected 5 columns, got 6: 1,a,true,1,1,9"),
        (
            "1,a,true,1,1\nx,a,true,1,1\n",
            "In CSV column #0: CSV conversion error to int32: invalid value 'x'",
        ),
        (
            "1,a,1,1,1\n",
            "In CSV column #2: CSV conversion error to bool: invalid value '1'",
        ),
        ("1,a,true,x,1\n", "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_csv_that_does_not_fit(tmp_path: Path, text: str, got: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        read(CsvReaderFormat.for_schema(columns().build()), path)
    shown = str(caught.value).replace("Row #2: ", "").replace("Row #1: ", "")
    assert shown == (
        "a CSV file does not fit its schema\n"
        f"  where: {path}\n"
        f"  got:   {got}\n"
        "  to do: correct the file, or the columns and settings of the CsvSchema"
    )


def test_csv_with_another_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,id,ok,l,d\n1,a,true,1,1\n")
    schema = columns().set_use_header()
    assert read(CsvReaderFormat.for_schema(schema.build()), path)[0].name == "a"
    with pytest.raises(SourceError) as caught:
        read(CsvReaderFormat.for_schema(schema.set_strict_headers().build()), path)
    assert str(caught.value) == (
        "the header of a CSV file does not have the columns of its schema\n"
        f"  where: {path}\n"
        "  got:   name, id, ok, l, d\n"
        "  to do: the columns must be id, name, ok, l, d, or set_strict_headers(False)"
    )


def test_csv_builder() -> None:
    builder = columns()
    assert (len(builder), builder.size(), len(builder.build())) == (5, 5, 5)
    twice = CsvSchema.builder().add_columns_from(builder.build()).add_string_column("more").build()
    assert twice.row_type.get_field_names() == [*NAMES, "more"]
    assert builder.clear_columns().size() == 0
    assert repr(twice).startswith("CsvSchema(id: Integer, name: String, ok: Boolean, l: ")
    for method in ("set_column_separator", "set_escape_char", "set_quote_char"):
        with pytest.raises(ConfigurationError, match="must be one character"):
            getattr(builder, method)("--")
    with pytest.raises(ConfigurationError) as caught:
        builder.set_column_separator("")
    assert str(caught.value) == (
        "the column separator of a CSV file must be one character\n"
        "  where: CsvSchemaBuilder\n"
        "  got:   ''"
    )


# ----------------------------------------------------------------------- JSON


def test_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "_CHUNK", 64)
    path = tmp_path / "a.jsonl"
    values: list[Any] = [{"id": i, "tags": ["é"] * (i % 3)} for i in range(100)] + [1, "x", None]
    path.write_text("".join(f"{json.dumps(value)}\r\n\n" for value in values), newline="")
    for length in (9, 100, 1 << 20):
        assert read_in_pieces(JsonLinesFormat(), path, length) == values


def test_json_lines_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "at": {"x": 1.5, "y": 2}}\n{"at": null, "id": 2, "more": 0}\n')
    inner = Types.ROW_NAMED(["y", "x"], [Types.INT(), Types.DOUBLE()])
    row_type = Types.ROW_NAMED(["id", "at", "name"], [Types.INT(), inner, Types.STRING()])
    file_format = JsonLinesFormat(row_type)
    assert read(file_format, path) == [
        Row(id=1, at=Row(y=2, x=1.5), name=None),
        Row(id=2, at=None, name=None),
    ]
    assert file_format.produced_type == row_type


def test_json_lines_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1}\n\n[1, 2\n')
    with pytest.raises(SourceError) as caught:
        read(JsonLinesFormat(), path)
    assert str(caught.value) == (
        "a line is not JSON\n"
        f"  where: {path}, line 3\n"
        "  got:   Expecting ',' delimiter: line 1 column 6 (char 5): '[1, 2'\n"
        "  to do: correct the file"
    )
    path.write_text('{"id": 1}\n7\n')
    with pytest.raises(SourceError) as caught:
        read(JsonLinesFormat(Types.ROW_NAMED(["id"], [Types.INT()])), path)
    assert str(caught.value) == (
        "a line is no JSON object\n"
        f"  where: {path}, line 2\n"
        "  got:   '7'\n"
        "  to do: correct the file"
    )


# ----------------------------------------------------------------------- Parquet


def test_parquet_row_groups_are_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": list(range(2000)), "name": [f"n{i}" for i in range(2000)]})
    parquet.write_table(table, path, row_group_size=300)
    row_type = Types.ROW_NAMED(
        ["name", "id", "none"], [Types.STRING(), Types.INT(), Types.DOUBLE()]
    )
    file_format = ParquetColumnarRowInputFormat(row_type, batch_size=128)
    expected = [Row(name=f"n{i}", id=i, none=None) for i in range(2000)]
    assert read(file_format, path) == expected
    size = path.stat().st_size
    for length in (100, 1000, 7000):
        assert read_in_pieces(file_format, path, length) == expected
    assert file_format.is_divisible(str(path))
    assert file_format.record_bytes(str(path), size) == size / 2000
    assert max(map(len, file_format.read(FilePiece(str(path), 0, size, size)))) == 128


def test_parquet_types(tmp_path: Path) -> None:
    moment = dt.datetime(2024, 2, 29, 12, 30, 15, 250000)
    table = pa.table(
        {
            "Day": [moment.date(), None],
            "time": [moment.time(), None],
            "moment": [moment, None],
            "price": [Decimal("1.50"), None],
            "data": [b"\x00\x01", None],
            "list": [[1, 2], None],
            "row": [{"x": 1, "y": "a"}, None],
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path)
    names = ["day", "time", "moment", "price", "data", "list", "row", "map"]
    inner = Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.STRING()])
    types = [
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.BIG_DEC(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.LONG()),
        inner,
        Types.MAP(Types.STRING(), Types.LONG()),
    ]
    row_type = Types.ROW_NAMED(names, types)
    first, second = read(ParquetColumnarRowInputFormat(row_type, is_case_sensitive=False), path)
    assert list(first) == [
        moment.date(),
        moment.time(),
        moment,
        Decimal("1.50"),
        b"\x00\x01",
        [1, 2],
        Row(x=1, y="a"),
        {"k": 1},
    ]
    assert list(second) == [None] * 8
    assert read(ParquetColumnarRowInputFormat(row_type), path)[0].day is None


def test_parquet_of_an_avro_schema(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [{"id": i, "tags": ["a"] * i, "more": None} for i in range(5)]
    parquet.write_table(pa.Table.from_pylist(rows), path)
    fields = [
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "id", "type": "int"},
    ]
    schema = AvroSchema.parse_string(json.dumps({"type": "record", "name": "R", "fields": fields}))
    reader = AvroParquetReaders.for_generic_record(schema)
    assert isinstance(reader, StreamFormat)
    assert read(reader, path) == [{"tags": ["a"] * i, "id": i} for i in range(5)]
    fields.append({"name": "missing", "type": "int"})
    schema = AvroSchema.parse_string(json.dumps({"type": "record", "name": "R", "fields": fields}))
    with pytest.raises(SourceError) as caught:
        read(AvroParquetReaders.for_generic_record(schema), path)
    assert str(caught.value) == (
        "a Parquet file does not have all fields of the Avro schema\n"
        f"  where: {path}\n"
        "  got:   tags, id\n"
        "  to do: the file lacks missing: correct the schema"
    )


def test_parquet_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("id,name\n" * 10)
    row_type = Types.ROW_NAMED(["id"], [Types.INT()])
    with pytest.raises(SourceError) as caught:
        read(ParquetColumnarRowInputFormat(row_type), path)
    assert str(caught.value) == (
        "a file cannot be read\n"
        f"  where: {path}\n"
        "  got:   ArrowInvalid: Parquet magic bytes not found in footer. Either the file is "
        "corrupted or this is not a parquet file.\n"
        "  to do: the file must stay as it is, and at the same path on every worker, while it is "
        "read"
    )


def test_a_parquet_column_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"id": ["x"]}), path)
    row_type = Types.ROW_NAMED(["id"], [Types.INT()])
    with pytest.raises(SourceError) as caught:
        read(ParquetColumnarRowInputFormat(row_type), path)
    assert str(caught.value) == (
        "a column of a Parquet file is of another type than declared\n"
        f"  where: {path}, column 'id'\n"
        "  got:   string (Failed to parse string: 'x' as a scalar of type int32)\n"
        "  to do: declare the type of the column; now it is int32"
    )


def test_types_that_no_file_has() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ParquetColumnarRowInputFormat(Types.STRING())
    assert str(caught.value) == (
        "the columns of a file must be given as a ROW type\n"
        "  got:   String\n"
        "  to do: pass Types.ROW_NAMED([names], [types]), or DataTypes.ROW([fields])"
    )
    with pytest.raises(ConfigurationError) as caught:
        ParquetColumnarRowInputFormat(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    assert caught.value.what == "a file has no column for values of this type"


# ----------------------------------------------------------------------- compressed lines


def pack_zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(("suffix", "pack"), [(".zst", pack_zstd), (".deflate", zlib.compress)])
def test_more_kinds_of_compression(tmp_path: Path, suffix: str, pack: Any) -> None:
    lines = [f"line {number}" for number in range(50_000)]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack("\n".join(lines).encode()))
    text = StreamFormat.text_line_format()
    assert read(text, path) == lines
    assert not text.is_divisible(str(path))
    assert 0.01 <= text.record_bytes(str(path), path.stat().st_size) < 11
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SourceError) as caught:
        read(text, path)
    assert (caught.value.what, caught.value.where) == ("a file cannot be read", str(path))


def test_columns_declared_with_types_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2.50,x;y\n")
    schema = (
        CsvSchema.builder()
        .add_number_column("id", DataTypes.INT())
        .add_number_column("price", DataTypes.DECIMAL(10, 2))
        .add_array_column("tags", ";", element_type=DataTypes.STRING())
        .build()
    )
    row = Row(id=1, price=Decimal("2.50"), tags=["x", "y"])
    assert read(CsvReaderFormat.for_schema(schema), path) == [row]
    kept = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"id": [1], "price": [Decimal("2.50")], "tags": [["x"]]}), kept)
    fields = [("id", DataTypes.INT()), ("price", DataTypes.DECIMAL(10, 2))]
    row_type = DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in fields])
    (found,) = read(ParquetColumnarRowInputFormat(row_type), kept)
    assert (found.id, found.price) == (1, Decimal("2.50"))


def test_types_of_tables_as_types_of_streams() -> None:
    nested = DataTypes.ROW([
        DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("counts", DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT())),
        DataTypes.FIELD("body", DataTypes.BYTES()),
    ])  # fmt: skip
    assert declared_type(nested) == Types.ROW_NAMED(
        ["at", "counts", "body"],
        [
            Types.SQL_TIMESTAMP(),
            Types.MAP(Types.STRING(), Types.LONG()),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
        ],
    )
    with pytest.raises(ConfigurationError, match="must be given as a ROW type"):
        ParquetColumnarRowInputFormat(DataTypes.INT())
