"""Dialects of SQL."""

from __future__ import annotations

from enum import IntEnum


class SqlDialect(IntEnum):
    """The dialects that PyFlink numbers; queries are always read as Flink's own."""

    DEFAULT = 0
    HIVE = 1

    def __str__(self) -> str:
        return str(int(self))
