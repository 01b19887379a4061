"""`raw`: one column, as the bytes that it is."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.formats.base import FormatContext, RowFormat

_NUMBERS: dict[type, str] = {
    t.BooleanType: "?",
    t.TinyIntType: "b",
    t.SmallIntType: "h",
    t.IntType: "i",
    t.BigIntType: "q",
    t.FloatType: "f",
    t.DoubleType: "d",
}


class RawFormat(RowFormat):
    """The value of the only column, without anything around it."""

    options = frozenset({"charset", "endianness"})

    def __init__(self, context: FormatContext) -> None:
        super().__init__(context)
        kinds = context.schema.children()
        if len(kinds) != 1:
            raise ValidationError(
                "the format 'raw' has one column",
                where=f"table {context.table}",
                got=f"{len(kinds)}: {', '.join(context.schema.names())}",
                todo="declare one physical column, or use another format",
            )
        self._read, self._write = self._codec(context, kinds[0])

    def _codec(
        self, context: FormatContext, kind: t.LogicalType
    ) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
        if isinstance(kind, t.CharacterType):
            charset = context.options.get("charset", "UTF-8")
            try:
                name = codecs.lookup(charset).name
            except LookupError:
                raise context.wrong("charset", "use a name such as UTF-8 or ISO-8859-1") from None
            return lambda data: data.decode(name), lambda value: str(value).encode(name)
        if isinstance(kind, t.BinaryStringType):
            return bytes, bytes
        letter = _NUMBERS.get(type(kind))
        if letter is None:
            raise ValidationError(
                f"the format 'raw' has no bytes for type {kind.as_summary_string()}",
                where=f"table {context.table}",
                todo="use STRING, BYTES, BOOLEAN or a number",
            )
        order = context.choice("endianness", "big-endian", "big-endian", "little-endian")
        number = struct.Struct((">" if order == "big-endian" else "<") + letter)
        return lambda data: number.unpack(data)[0], number.pack

    def decode(self, data: bytes) -> list[tuple[Any, ...]]:
        try:
            return [(self._read(data),)]
        except (UnicodeDecodeError, struct.error) as error:
            raise self.unreadable(data, error) from None

    def decode_line(self, line: str) -> list[tuple[Any, ...]]:
        if isinstance(self.context.schema.children()[0], t.CharacterType):
            return [(line,)]
        return super().decode_line(line)

    def encode(self, row: Sequence[Any]) -> bytes | None:
        return None if row[0] is None else self._write(row[0])
