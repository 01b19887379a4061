"""Quick ways of rows: they give what the plain ones give, wherever batches and values are cut."""

from __future__ import annotations

import datetime
import random
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from penstock.connectors.data_generator import DataGeneratorSource
from penstock.core.io import SplitRange
from penstock.errors import SourceError
from penstock.graph.relational import types as t
from penstock.graph.relational.codegen.chunks import calc
from penstock.graph.relational.expressions import Expr, InputRef, Literal, cast
from penstock.graph.relational.functions.catalog import resolve
from penstock.runtime.operators.table.windows import Clock
from penstock.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from penstock.table.factories.base import TableContext
from penstock.table.factories.datagen import DatagenFactory
from penstock.table.factories.formats.base import FormatContext, RowFormat
from penstock.table.factories.formats.csv_format import CsvFormat

UTC = datetime.timezone.utc
A, B = InputRef(0, t.INT, "a"), InputRef(1, t.BIGINT, "b")


def number(value: int) -> Expr:
    return Literal(value, t.INT.not_null())


# ---- generated code


def test_rows_with_nulls_and_rows_without_are_computed_alike() -> None:
    share = resolve("%", (B, number(10)))
    total = resolve("+", (share, number(1)))
    program = calc(
        [total, resolve("*", (total, total)), A, cast(A, t.BIGINT)],
        resolve(">", (total, number(3))),
        arity=2,
    )
    assert "if c1 is None or c0 is None:" in program.source  # or else this shows nothing
    rows = [(1, 5), (None, 8), (2, None), (None, None), (3, -25), (4, 1)]
    assert program.load()["calc"](rows) == [(6, 36, 1, 1), (9, 81, None, None)]


def test_numbers_wrap_around_where_they_may_grow_too_large() -> None:
    top = 2**31 - 1
    grown = resolve("+", (A, number(1)))
    small = resolve("+", (resolve("%", (A, number(7))), number(1)))
    program = calc([grown, small], None, arity=1)
    assert program.source.count("_numbers_wrap(") == 2  # only the first one, for each way
    assert program.load()["calc"]([(top,), (None,), (-8,)]) == [
        (-top - 1, 2),
        (None, None),
        (-7, 0),
    ]


def test_a_generator_stays_one_though_code_stands_twice() -> None:
    chance = resolve("RAND", (number(7),))
    grown = resolve("+", (resolve("+", (A, A)), resolve("+", (A, A))))
    one = calc([chance, grown], None, arity=1).load()["calc"]([(1,), (None,), (2,)])
    other = calc([chance], None, arity=1).load()["calc"]([(1,), (None,), (2,)])
    assert [row[0] for row in one] == [row[0] for row in other]


# ---- datagen


def generated(part: str, start: int, end: int) -> list[tuple[object, ...]]:
    fields = (("n", t.BIGINT), ("r", t.INT), ("s", t.STRING))
    schema = t.RowType(tuple(t.RowField(name, kind) for name, kind in fields))
    options = {
        "number-of-rows": "10000",
        "fields.n.kind": "sequence", "fields.n.start": "100", "fields.n.end": "99999",
        "fields.r.min": "1", "fields.r.max": "6", "fields.s.length": "4",
    }  # fmt: skip
    source = DatagenFactory().source(TableContext("made", schema, options)).source
    assert isinstance(source, DataGeneratorSource)
    batches = source.read(SplitRange(part, start, end))
    return [row for batch in batches for row in batch.values]


def test_generated_rows_do_not_depend_on_where_batches_are_cut() -> None:
    whole = generated("1-of-2", 0, 3000)
    cuts = [0, 1, 1023, 1024, 1500, 1501, 2999, 3000]
    parts = [generated("1-of-2", *between) for between in pairwise(cuts)]
    assert [row for part in parts for row in part] == whole
    assert [row[0] for row in whole] == list(range(101, 6101, 2))
    assert {row[1] for row in whole} == {1, 2, 3, 4, 5, 6}
    assert {len(str(row[2])) for row in whole} == {4}
    assert [row[1] for row in generated("0-of-2", 0, 3000)] != [row[1] for row in whole]


# ---- csv


def csv_format(**options: str) -> CsvFormat:
    fields = (("n", t.INT), ("s", t.STRING), ("at", t.TimestampType(precision=3)))
    schema = t.RowType(tuple(t.RowField(name, kind) for name, kind in fields))
    return CsvFormat(FormatContext("csv", "lines", schema, dict(options)))


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({}, ["1,a,2026-01-31 12:00:00.250", "-2,b c,2026-01-31 12:00:01.000"]),
        ({}, ["1,a,2026-01-31 12:00:00", "2,,", ",x,2026-01-31T12:00:00.5Z"]),
        ({}, ['1,"a,b",2026-01-31 12:00:00', "2,b,2026-01-31 12:00:00", "  "]),
        ({"null-literal": "n/a"}, ["n/a,n/a,n/a", "1,a,2026-01-31 12:00:00.123456"]),
        ({"field-delimiter": ";"}, ["1;a,b;2026-01-31 12:00:00", "2;b;2026-01-31 12:00:00"]),
        ({"ignore-parse-errors": "true"}, ["1,a", "x,b,2026-01-31 12:00:00"]),
        ({"allow-comments": "true"}, ["#1,a,b", "1,a,2026-01-31 12:00:00"]),
    ],
)
def test_lines_at_once_give_the_rows_of_each_line(
    options: dict[str, str], lines: list[str]
) -> None:
    made = csv_format(**options)
    at_once = made.decode_lines(lines)
    assert at_once == RowFormat.decode_lines(made, lines)
    assert at_once


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("2147483648,a,2026-01-31 12:00:00", "2147483648 is no INT"),
        ("1,a", "2 values for 3 columns"),
        ("1,a,yesterday", "yesterday"),
    ],
)
def test_a_wrong_line_among_many_is_named(line: str, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        csv_format().decode_lines(["1,a,2026-01-31 12:00:00", line])


# ---- windows


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_the_wall_clock_of_a_zone_is_right_at_all_times(name: str) -> None:
    clock, zone, dice = Clock(name), ZoneInfo(name), random.Random(1)
    epoch, ms = datetime.datetime(1970, 1, 1), datetime.timedelta(milliseconds=1)
    change = datetime.datetime(2026, 3, 29, 1, tzinfo=UTC)
    moments = [change + datetime.timedelta(seconds=s) for s in range(-4000, 4000, 13)]
    moments += [change + datetime.timedelta(seconds=dice.randrange(10**8)) for _ in range(500)]
    for moment in moments:
        wall = (moment.astimezone(zone).replace(tzinfo=None) - epoch) // ms
        assert clock.wall_ms(moment) == wall
        back = (epoch + wall * ms).replace(tzinfo=zone).astimezone(UTC)
        assert clock.attribute(wall) == back
        assert clock.epoch_ms(wall) == (back - epoch.replace(tzinfo=UTC)) // ms


# ---- sinks


def test_a_blackhole_is_not_told_what_was_there_before_an_update() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql("CREATE TABLE made (n BIGINT) WITH ('connector' = 'datagen')")
    env.execute_sql("CREATE TABLE gone (n BIGINT, c BIGINT) WITH ('connector' = 'blackhole')")
    statement = "INSERT INTO gone SELECT n, COUNT(*) FROM made GROUP BY n"
    text = env.explain_sql(statement, ExplainDetail.CHANGELOG_MODE)
    assert "changelogMode=[I,UA]" in text
