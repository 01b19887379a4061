"""Dialects of SQL."""

from __future__ import annotations

from enum import Enum


class SqlDialect(Enum):
    """The dialects that PyFlink names; queries are always read as Flink's own."""

    DEFAULT = "default"
    HIVE = "hive"
