"""Types as SQL writes them."""

from __future__ import annotations

from typing import Any

from penstock.errors import SqlParseError
from penstock.graph.relational import types as t
from penstock.table.sql.dialect import Flink

_PLAIN: dict[str, t.LogicalType] = {
    "BOOLEAN": t.BooleanType(),
    "TINYINT": t.TinyIntType(),
    "SMALLINT": t.SmallIntType(),
    "INT": t.IntType(),
    "INTEGER": t.IntType(),
    "BIGINT": t.BigIntType(),
    "FLOAT": t.FloatType(),
    "DOUBLE": t.DoubleType(),
    "STRING": t.VarCharType(t.MAX_LENGTH),
    "BYTES": t.VarBinaryType(t.MAX_LENGTH),
    "DATE": t.DateType(),
    "NULL": t.NullType(),
    "VARIANT": t.VariantType(),
    "BITMAP": t.BitmapType(),
}
_LENGTHS = {
    "CHAR": t.CharType,
    "VARCHAR": t.VarCharType,
    "BINARY": t.BinaryType,
    "VARBINARY": t.VarBinaryType,
}


def parse_type(text: str) -> t.LogicalType:
    """Return the type that a text names.

    >>> str(parse_type("ROW<id INT NOT NULL, tags ARRAY<STRING>>"))
    'ROW<`id` INT NOT NULL, `tags` ARRAY<STRING>>'
    """
    reader = _Reader(text)
    found = reader.type()
    if reader.at < len(reader.tokens):
        raise reader.error("unexpected text behind the type")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Any] = []
        for token in Flink().tokenize(text):
            # `>>` closes two brackets.
            self.tokens += [">", ">"] if token.text == ">>" else [token]
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        if self.at + ahead >= len(self.tokens):
            return ""
        token = self.tokens[self.at + ahead]
        return token if isinstance(token, str) else str(token.text)

    def word(self, *words: str) -> bool:
        if [self.peek(i).upper() for i in range(len(words))] != list(words):
            return False
        self.at += len(words)
        return True

    def error(self, what: str) -> SqlParseError:
        return SqlParseError(
            what, where=f"type {self.text}", got=self.peek() or "the end of the text",
            todo="write a type as Flink does, for instance DECIMAL(10, 2) or ARRAY<STRING>",
        )  # fmt: skip

    def need(self, text: str) -> None:
        if not self.word(text):
            raise self.error(f"{text} expected in a type")

    def type(self) -> t.LogicalType:
        found = self._base()
        while True:
            if self.word("NOT", "NULL"):
                found = found.not_null()
            elif self.word("NULL"):
                found = found.nullable()
            elif self.word("ARRAY"):
                found = t.ArrayType(found)
            elif self.word("MULTISET"):
                found = t.MultisetType(found)
            else:
                return found

    def _base(self) -> t.LogicalType:
        name = self.peek().upper()
        self.at += 1
        if name == "DOUBLE":
            self.word("PRECISION")
        if name in ("CHAR", "BINARY") and self.word("VARYING"):
            name = f"VAR{name}"
        if name in _PLAIN:
            return _PLAIN[name]
        if name in _LENGTHS:
            return _LENGTHS[name](self._number(1))
        if name in ("DECIMAL", "NUMERIC", "DEC"):
            return self._decimal()
        if name == "TIME":
            precision = self._number(0)
            self.word("WITHOUT", "TIME", "ZONE")
            return t.TimeType(precision)
        if name == "TIMESTAMP_LTZ":
            return t.LocalZonedTimestampType(self._number(6))
        if name == "TIMESTAMP":
            precision = self._number(6)
            if self.word("WITH", "LOCAL", "TIME", "ZONE"):
                return t.LocalZonedTimestampType(precision)
            self.word("WITHOUT", "TIME", "ZONE")
            return t.TimestampType(precision)
        if name == "INTERVAL":
            return self._interval()
        if name in ("ARRAY", "MULTISET"):
            self.need("<")
            element = self.type()
            self.need(">")
            return t.ArrayType(element) if name == "ARRAY" else t.MultisetType(element)
        if name == "MAP":
            self.need("<")
            key = self.type()
            self.need(",")
            value = self.type()
            self.need(">")
            return t.MapType(key, value)
        if name == "ROW":
            return self._row()
        if name == "RAW":
            return self._raw()
        self.at -= 1
        raise self.error(f"there is no type {name}")

    def _number(self, default: int) -> int:
        if not self.word("("):
            return default
        number = int(self.peek())
        self.at += 1
        self.need(")")
        return number

    def _decimal(self) -> t.LogicalType:
        precision, scale = 10, 0
        if self.word("("):
            precision = int(self.peek())
            self.at += 1
            if self.word(","):
                scale = int(self.peek())
                self.at += 1
            self.need(")")
        return t.DecimalType(precision, scale)

    def _interval(self) -> t.LogicalType:
        units = [self.peek().upper()]
        self.at += 1
        day = self._number(2)
        fraction = 6
        if self.word("TO"):
            units.append(self.peek().upper())
            self.at += 1
            fraction = self._number(6)
        resolution = " TO ".join(units)
        if units[0] in ("YEAR", "MONTH"):
            return t.YearMonthIntervalType(resolution)
        return t.DayTimeIntervalType(resolution, day, fraction)

    def _row(self) -> t.LogicalType:
        close = ">" if self.word("<") else ")"
        if close == ")":
            self.need("(")
        fields: list[t.RowField] = []
        while not self.word(close):
            name = self.peek()
            self.at += 1
            kind = self.type()
            note = None
            token: Any = self.tokens[self.at] if self.at < len(self.tokens) else None
            if getattr(getattr(token, "token_type", None), "name", "") == "STRING":
                note = self.peek()
                self.at += 1
            fields.append(t.RowField(name, kind, note))
            if not self.word(",") and self.peek() != close:
                raise self.error(f", or {close} expected in a ROW type")
        return t.RowType(tuple(fields))

    def _raw(self) -> t.LogicalType:
        self.need("(")
        name = self.peek()
        while not self.word(")"):
            self.at += 1
        return t.RawType(name)
