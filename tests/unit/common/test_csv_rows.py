"""Rows as CSV in messages."""

from __future__ import annotations

import datetime as dt

import pytest

from penstock.common import Row, Types
from penstock.common.serialization import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from penstock.errors import ConfigurationError, SerializationError

WORDS = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])


LINE = Types.ROW_NAMED(
    ["word", "n", "at", "list"],
    [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP(), Types.BASIC_ARRAY(Types.DOUBLE())],
)


def test_csv_there_and_back() -> None:
    row = Row(word='to be, "or"', n=2, at=dt.datetime(2024, 2, 29, 12), list=[1.0, 2.5])
    message = CsvRowSerializationSchema.Builder(LINE).build().serialize(row)
    assert message == b'"to be, ""or""",2,2024-02-29 12:00:00,1.0;2.5\n'
    assert CsvRowDeserializationSchema.Builder(LINE).build().deserialize(message) == row


def test_csv_by_other_characters() -> None:
    writer = (
        CsvRowSerializationSchema.Builder(LINE)
        .set_field_delimiter("|")
        .set_array_element_delimiter("/")
        .set_quote_character("'")
        .set_escape_character("\\")
        .set_null_literal("NULL")
        .set_line_delimiter("\r\n")
        .build()
    )
    row = Row(word="it's | here", n=None, at=None, list=[0.5, 1.5])
    message = writer.serialize(row)
    assert message == b"'it\\'s | here'|NULL|NULL|0.5/1.5\r\n"
    reader = (
        CsvRowDeserializationSchema.Builder(LINE)
        .set_field_delimiter("|")
        .set_array_element_delimiter("/")
        .set_quote_character("'")
        .set_escape_character("\\")
        .set_null_literal("NULL")
        .build()
    )
    assert reader.deserialize(message) == row


def test_csv_without_quotes_and_line_ends() -> None:
    builder = CsvRowSerializationSchema.Builder(WORDS).disable_quote_character()
    builder.set_line_delimiter("")
    assert builder.build().serialize(("be", 2)) == b"be,2"
    with pytest.raises(SerializationError, match="need to escape"):
        builder.build().serialize(("to,be", 2))
    assert builder.set_escape_character("\\").build().serialize(("to,be", 2)) == b"to\\,be,2"


def test_csv_comments_are_left_out_if_wanted() -> None:
    builder = CsvRowDeserializationSchema.Builder(WORDS)
    assert builder.build().deserialize(b"#x,1") == Row(word="#x", count=1)
    assert builder.set_allow_comments(True).build().deserialize(b"#x,1") is None


def test_csv_rows_inside_rows() -> None:
    types = Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.ROW([Types.INT(), Types.STRING()])])
    message = CsvRowSerializationSchema.Builder(types).build().serialize((1, (2, "x")))
    assert message == b"1,2;x\n"
    row = CsvRowDeserializationSchema.Builder(types).build().deserialize(message)
    assert row is not None and list(row.at) == [2, "x"]


def test_csv_errors() -> None:
    builder = CsvRowDeserializationSchema.Builder(WORDS)
    with pytest.raises(SerializationError) as caught:
        builder.build().deserialize(b"be,x")
    assert str(caught.value) == (
        "a message is no line of CSV with the fields of the row\n"
        "  where: CsvRowDeserializationSchema, RowTypeInfo(word: String, count: Integer)\n"
        "  got:   b'be,x' (count: invalid literal for int() with base 10: 'x')\n"
        "  to do: correct the type, or call set_ignore_parse_errors(True)"
    )
    with pytest.raises(SerializationError, match="1 fields, 2 are due"):
        builder.build().deserialize(b"be")
    lenient = builder.set_ignore_parse_errors(True).build()
    assert lenient.deserialize(b"be,x") == Row(word="be", count=None)
    assert lenient.deserialize(b"be") == Row(word="be", count=None)
    assert lenient.deserialize(b"") is None
    assert lenient.deserialize(b'"never closed') is None
    with pytest.raises(SerializationError, match="a record cannot be written as a line of CSV"):
        CsvRowSerializationSchema.Builder(WORDS).build().serialize(("be", "x"))


def test_csv_settings_that_cannot_work() -> None:
    with pytest.raises(ConfigurationError) as caught:
        CsvRowSerializationSchema.Builder(WORDS).set_line_delimiter("|")
    assert str(caught.value) == (
        "a line cannot end with this\n"
        "  where: CsvRowSerializationSchema.Builder.set_line_delimiter()\n"
        "  got:   '|'\n"
        r"  to do: choose one of '\n', '\r', '\r\n' and ''"
    )
    with pytest.raises(ConfigurationError, match="the field delimiter must be one character"):
        CsvRowDeserializationSchema.Builder(WORDS).set_field_delimiter("||")
    with pytest.raises(ConfigurationError, match="the type of the rows is needed"):
        CsvRowDeserializationSchema.Builder(Types.STRING())
    with pytest.raises(ConfigurationError, match="no form in CSV"):
        CsvRowSerializationSchema.Builder(
            Types.ROW([Types.MAP(Types.STRING(), Types.INT())])
        ).build()
