"""Rows as lines of CSV, one in each message."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.formats.row_types import checked_row_type
from penstock.common.formats.text_values import BadFieldError, parser_of, text_of
from penstock.common.message_schemas import DeserializationSchema, SerializationSchema
from penstock.common.type_information import ElementsTypeInfo
from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.common.types import Row
from penstock.errors import ConfigurationError, PenstockError, SerializationError, show_value

_MISFITS = (ValueError, TypeError, ArithmeticError, PenstockError, BadFieldError, csv.Error)


@dataclass(frozen=True)
class CsvForm:
    """How a line is written."""

    field_delimiter: str = ","
    line_delimiter: str = "\n"
    array_element_delimiter: str = ";"
    quote_character: str | None = '"'
    escape_character: str | None = None
    null_literal: str | None = None
    allow_comments: bool = False

    def dialect(self) -> dict[str, Any]:
        """Return the settings for Python's reader and writer."""
        return {
            "delimiter": self.field_delimiter,
            "quotechar": self.quote_character,
            "escapechar": self.escape_character,
            "doublequote": self.escape_character is None,
            "quoting": csv.QUOTE_MINIMAL if self.quote_character else csv.QUOTE_NONE,
        }


class CsvRowDeserializationSchema(DeserializationSchema[Row]):
    """Read lines of CSV as rows. Use `CsvRowDeserializationSchema.Builder(type_info)`.

    >>> from penstock.common import Types
    >>> types = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])
    >>> schema = CsvRowDeserializationSchema.Builder(types).set_field_delimiter(";").build()
    >>> schema.deserialize(b"be;2")
    Row(word='be', count=2)
    """

    def __init__(self, type_info: RowTypeInfo, form: CsvForm, ignore_parse_errors: bool) -> None:
        self._type_info = type_info
        self._form = form
        self._lenient = ignore_parse_errors
        self._dialect = form.dialect()
        self._names = type_info.get_field_names()
        self._fields = [
            (name, _parser(field, form))
            for name, field in zip(self._names, type_info.field_types, strict=True)
        ]

    def deserialize(self, message: bytes) -> Row | None:
        try:
            text = bytes(message).decode()
            if self._form.allow_comments and text.startswith("#"):
                return None
            return self._row(text)
        except _MISFITS as error:
            if self._lenient:
                return None
            raise SerializationError(
                "a message is no line of CSV with the fields of the row",
                where=f"CsvRowDeserializationSchema, {self._type_info}",
                got=f"{show_value(bytes(message), 200)} ({error})",
                todo="correct the type, or call set_ignore_parse_errors(True)",
            ) from None

    def _row(self, text: str) -> Row:
        lines = csv.reader(io.StringIO(text, newline=""), strict=True, **self._dialect)
        texts: list[str | None] = [*next(lines, [])]
        if len(texts) != len(self._fields):
            if not self._lenient or not texts:
                raise ValueError(f"{len(texts)} fields, {len(self._fields)} are due")
            texts += [None] * (len(self._fields) - len(texts))
        null = self._form.null_literal
        values: list[Any] = []
        for (name, parse), field in zip(self._fields, texts, strict=False):
            if field is None or field == null:
                values.append(None)
                continue
            try:
                values.append(parse(field))
            except _MISFITS as error:
                if not self._lenient:
                    raise BadFieldError(name, error) from None
                values.append(None)
        row = Row(*values)
        row.set_field_names(self._names)
        return row

    def get_produced_type(self) -> TypeInformation:
        return self._type_info

    def __reduce__(self) -> Any:
        return type(self), (self._type_info, self._form, self._lenient)

    class Builder:
        """Build a `CsvRowDeserializationSchema`.

        :param type_info: the type of the rows; the order of its fields is that in a line.
        :raises ConfigurationError: if it is no type of rows.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = checked_row_type(type_info, "CsvRowDeserializationSchema.Builder()")
            self._form = CsvForm()
            self._ignore_parse_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character between fields. Default: a comma."""
            return self._set(field_delimiter=_one_character("field delimiter", delimiter))

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Leave out lines that begin with `#`. Default: they are rows."""
            return self._set(allow_comments=allow_comments)

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            """Set what stands between the elements of an array. Default: a semicolon."""
            return self._set(array_element_delimiter=delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character around fields that need it. Default: a double quote."""
            return self._set(quote_character=_one_character("quote character", c))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character that takes the next one's meaning away. Default: none."""
            return self._set(escape_character=_one_character("escape character", c))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that means None. Default: none does."""
            return self._set(null_literal=null_literal)

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Set fields that do not fit, or are missing, to None; leave out what is no line."""
            self._ignore_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            return CsvRowDeserializationSchema(
                self._type_info, self._form, self._ignore_parse_errors
            )

        def _set(self, **changes: Any) -> CsvRowDeserializationSchema.Builder:
            self._form = replace(self._form, **changes)
            return self


class CsvRowSerializationSchema(SerializationSchema[Any]):
    r"""Write rows as lines of CSV. Use `CsvRowSerializationSchema.Builder(type_info)`.

    Tuples, dicts and objects with the row's fields can be written as well.

    >>> from penstock.common import Types
    >>> types = Types.ROW([Types.STRING(), Types.INT()])
    >>> schema = CsvRowSerializationSchema.Builder(types).build()
    >>> schema.serialize(("to be, or not", 2))
    b'"to be, or not",2\n'
    """

    def __init__(self, type_info: RowTypeInfo, form: CsvForm) -> None:
        self._type_info = type_info
        self._form = form
        self._fields = [
            (name, _writer(field, form))
            for name, field in zip(type_info.field_names, type_info.field_types, strict=True)
        ]
        self._line = io.StringIO(newline="")
        self._writer = csv.writer(self._line, lineterminator=form.line_delimiter, **form.dialect())

    def serialize(self, element: Any) -> bytes:
        try:
            values = self._type_info.values_of(element)
            texts = [
                write(name, value)
                for (name, write), value in zip(self._fields, values, strict=True)
            ]
            self._line.seek(0)
            self._line.truncate()
            self._writer.writerow(texts)
        except _MISFITS as error:
            raise SerializationError(
                "a record cannot be written as a line of CSV",
                where=f"CsvRowSerializationSchema, {self._type_info}",
                got=f"{show_value(element, 200)} ({error})",
                todo="map the stream to rows of this type in front of the sink",
            ) from None
        return self._line.getvalue().encode()

    def __reduce__(self) -> Any:
        return type(self), (self._type_info, self._form)

    class Builder:
        """Build a `CsvRowSerializationSchema`.

        :param type_info: the type of the rows; the order of its fields is that in a line.
        :raises ConfigurationError: if it is no type of rows.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            self._type_info = checked_row_type(type_info, "CsvRowSerializationSchema.Builder()")
            self._form = CsvForm()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character between fields. Default: a comma."""
            return self._set(field_delimiter=_one_character("field delimiter", c))

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""Set what ends a line: `\n` (the default), `\r`, `\r\n` or nothing.

            :raises ConfigurationError: for anything else.
            """
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise ConfigurationError(
                    "a line cannot end with this",
                    where="CsvRowSerializationSchema.Builder.set_line_delimiter()",
                    got=show_value(delimiter),
                    todo=r"choose one of '\n', '\r', '\r\n' and ''",
                )
            return self._set(line_delimiter=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what stands between the elements of an array. Default: a semicolon."""
            return self._set(array_element_delimiter=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Write no quotes; what would need them is an error, or escaped."""
            return self._set(quote_character=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character around fields that need it. Default: a double quote."""
            return self._set(quote_character=_one_character("quote character", c))

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character that takes the next one's meaning away. Default: none."""
            return self._set(escape_character=_one_character("escape character", c))

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text for None. Default: an empty field."""
            return self._set(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(self._type_info, self._form)

        def _set(self, **changes: Any) -> CsvRowSerializationSchema.Builder:
            self._form = replace(self._form, **changes)
            return self


def _one_character(what: str, c: str) -> str:
    if len(c) != 1:
        raise ConfigurationError(
            f"the {what} must be one character", where="CSV schema", got=show_value(c)
        )
    return c


def _no_csv(type_info: TypeInformation) -> ConfigurationError:
    return ConfigurationError(
        "values of this type have no form in CSV",
        got=str(type_info),
        todo="use single values, and arrays or rows of them",
    )


def _parser(type_info: TypeInformation, form: CsvForm) -> Callable[[str], Any]:
    delimiter = form.array_element_delimiter
    if isinstance(type_info, ElementsTypeInfo):
        one = _single_parser(type_info.elem_type)
        return lambda text: [one(part) for part in text.split(delimiter)] if text else []
    if isinstance(type_info, RowTypeInfo):
        parsers = [_single_parser(each) for each in type_info.field_types]
        names = type_info.get_field_names()

        def parse(text: str) -> Row:
            pairs = zip(parsers, text.split(delimiter), strict=True)
            row = Row(*(parse_field(part) for parse_field, part in pairs))
            row.set_field_names(names)
            return row

        return parse
    return _single_parser(type_info)


def _single_parser(type_info: TypeInformation) -> Callable[[str], Any]:
    parse = parser_of(type_info)
    if parse is None:
        raise _no_csv(type_info)
    return parse


def _writer(type_info: TypeInformation, form: CsvForm) -> Callable[[str, Any], str]:
    null = form.null_literal or ""
    write = _value_writer(type_info, form)

    def text(name: str, value: Any) -> str:
        try:
            return null if value is None else write(value)
        except _MISFITS as error:
            raise BadFieldError(name, error) from None

    return text


def _value_writer(type_info: TypeInformation, form: CsvForm) -> Callable[[Any], str]:
    delimiter = form.array_element_delimiter
    if isinstance(type_info, ElementsTypeInfo):
        one = _single_writer(type_info.elem_type)
        return lambda values: delimiter.join(map(one, values))
    if isinstance(type_info, RowTypeInfo):
        row = type_info
        writers = [_single_writer(each) for each in row.field_types]
        return lambda value: delimiter.join(
            write(part) for write, part in zip(writers, row.values_of(value), strict=True)
        )
    return _single_writer(type_info)


def _single_writer(type_info: TypeInformation) -> Callable[[Any], str]:
    text = text_of(type_info, zoned=False)
    if text is None:
        raise _no_csv(type_info)
    return text
