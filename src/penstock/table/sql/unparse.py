"""Expressions back to text, as Flink writes them: names in backquotes."""

from __future__ import annotations

from typing import Any

from penstock.table.sql.dialect import Flink


def flink_text(tree: Any, written: str) -> str:
    """Return an expression as Flink shows it.

    :param written: its text in the program, for what only the parser knows.
    """
    try:
        return str(tree.sql(dialect=Flink, identify=True))
    except (AttributeError, ValueError):
        return written
