"""Keyed state as a table has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StateRow:
    """One entry of keyed state as a table has it."""

    key: Any
    #: What the entry belongs to beside the key (a window); None for plain keyed state.
    namespace: Any
    value: Any
    event_time_timers: list[int]
    processing_time_timers: list[int]


class StateRows(list[StateRow]):
    """Entries of keyed state: a list that can become a Spark DataFrame."""

    def to_data_frame(self, spark: Any) -> Any:
        """Return the entries as a DataFrame of a SparkSession.

        Columns: `key`, `namespace`, `value` as text in Python's notation, and the two lists of
        timers as arrays of numbers.
        """
        schema = (
            "key string, namespace string, value string, "
            "event_time_timers array<bigint>, processing_time_timers array<bigint>"
        )
        rows = [
            (
                repr(row.key),
                None if row.namespace is None else repr(row.namespace),
                repr(row.value),
                row.event_time_timers,
                row.processing_time_timers,
            )
            for row in self
        ]
        return spark.createDataFrame(rows, schema)
