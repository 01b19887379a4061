"""Rows as tables of Arrow's, and data sets as tables."""

from __future__ import annotations

import datetime
from decimal import Decimal

from penstock.dataset import ExecutionEnvironment
from penstock.graph.relational import types as t
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.arrow_types import arrow_schema, arrow_table, logical_type

SCHEMA = t.RowType.of(
    ("i", t.INT), ("d", t.DecimalType(precision=8, scale=2)), ("s", t.STRING), ("b", t.BYTES),
    ("at", t.TimestampType()), ("utc", t.LocalZonedTimestampType()), ("day", t.DATE),
    ("l", t.ArrayType(element=t.INT)), ("m", t.MapType(key=t.STRING, value=t.INT)),
    ("r", t.RowType.of(("x", t.BIGINT), ("y", t.BOOLEAN))), ("f", t.FLOAT),
)  # fmt: skip


def test_types_go_to_arrow_and_back() -> None:
    fields = [(f.name, logical_type(f.type, f.name)) for f in arrow_schema(SCHEMA)]
    assert fields == [(column.name, column.type) for column in SCHEMA.fields]


def test_rows_become_a_table() -> None:
    moment = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    row = (
        1, Decimal("2.50"), "x", b"y", moment.replace(tzinfo=None), moment, moment.date(),
        [1, None], {"k": 1}, (5, None), 0.5,
    )  # fmt: skip
    table = arrow_table([row, (None,) * len(row)], SCHEMA)
    first, second = table.to_pylist(maps_as_pydicts="strict")
    assert tuple(first.values()) == (*row[:9], {"x": 5, "y": None}, 0.5)
    assert set(second.values()) == {None}
    assert arrow_table([], SCHEMA).num_rows == 0


def test_a_data_set_becomes_a_table_and_a_table_a_data_set() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process")
    env = ExecutionEnvironment.create_collections_environment()
    table = t_env.from_data_set(env.from_elements(("a", 1), ("b", 2), ("a", 3)), ["w", "n"])
    t_env.create_temporary_view("words", table)
    sums = t_env.sql_query("SELECT w, SUM(n) FROM words GROUP BY w")
    assert sorted(t_env.to_data_set(sums, env).collect()) == [("a", 4), ("b", 2)]
