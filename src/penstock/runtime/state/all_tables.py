"""Every kind of table: importing it makes them known, which their own modules do one by one."""

from __future__ import annotations

from penstock.runtime.state import (
    interval_table,
    operator_state,
    pane_tables,
    slice_tables,
    stamp_tables,
)
from penstock.runtime.state.tables import TABLES

__all__ = [
    "TABLES",
    "interval_table",
    "operator_state",
    "pane_tables",
    "slice_tables",
    "stamp_tables",
]
