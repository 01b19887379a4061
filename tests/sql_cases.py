"""Cases of SQL as text, shared by the tests on the in-process engine and on Spark.

    == title [compare] [streaming only]
    table name (columns) [with options]
    row
    query
    SELECT ...
    result
    +I[1, a]

`compare` is `changelog` (default: the same rows in the same order), `unordered` or `table` (what is
left when the changelog is applied).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from penstock.common import Row
from penstock.table import EnvironmentSettings, TableEnvironment


@dataclass
class CaseTable:
    name: str
    columns: str
    rows: list[str] = field(default_factory=list)


@dataclass
class Case:
    file: str
    title: str
    compare: str = "changelog"
    streaming_only: bool = False
    tables: list[CaseTable] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    query: str = ""
    expected: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file. Tables and settings in front of the first case belong to all."""
    cases: list[Case] = []
    shared: list[CaseTable] = []
    settings: dict[str, str] = {}
    part = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("== "):
            title, *marks = re.split(r"\s*\[", line[3:])
            words = {mark.rstrip("] ") for mark in marks}
            compare = next((w for w in ("unordered", "table") if w in words), "changelog")
            cases.append(Case(path.stem, title, compare, "streaming only" in words))
            cases[-1].settings.update(settings)
            part = ""
        elif match := re.fullmatch(r"table (\w+) \((.*)\)", line):
            table = CaseTable(match[1], match[2])
            (cases[-1].tables if cases else shared).append(table)
            part = "table"
        elif line.startswith("set "):
            key, _, value = line[4:].partition(" = ")
            (cases[-1].settings if cases else settings)[key] = value
        elif line in ("query", "result"):
            part = line
        elif line.startswith("statement "):
            cases[-1].statements.append(line.removeprefix("statement "))
        elif part == "table" and line:
            (cases[-1].tables if cases and cases[-1].tables else shared)[-1].rows.append(line)
        elif part == "query" and line:
            cases[-1].query += line + "\n"
        elif part == "result" and line:
            cases[-1].expected.append(line)
    for case in cases:
        own = {table.name for table in case.tables}
        case.tables = [table for table in shared if table.name not in own] + case.tables
    return cases


def run_case(
    case: Case, folder: Path, *, batch: bool = False, target: str = "in-process"
) -> list[str]:
    """Run a case and return its changes as text."""
    settings = EnvironmentSettings.new_instance()
    t_env = TableEnvironment.create((settings.in_batch_mode() if batch else settings).build())
    t_env.get_config().set("parallelism.default", "1").set("execution.target", target)
    for key, value in case.settings.items():
        t_env.get_config().set(key, value)
    for table in case.tables:
        file = folder / f"{table.name}.csv"
        file.write_text("".join(f"{row}\n" for row in table.rows), encoding="utf-8")
        t_env.execute_sql(
            f"CREATE TABLE {table.name} ({table.columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{file}', 'format' = 'csv', 'csv.null-literal' = 'NULL')"
        )
    for statement in case.statements:
        t_env.execute_sql(statement)
    return [show(row) for row in t_env.execute_sql(case.query).collect()]


def show(row: Row) -> str:
    """Return a row with its kind."""
    return f"{row.get_row_kind()}[{', '.join(map(_cell, row))}]"


def _cell(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def final_table(changes: list[str]) -> list[str]:
    """Apply a changelog; a row that is taken back must have been there."""
    rows: Counter[str] = Counter()
    for change in changes:
        kind, row = change[:2], change[2:]
        if kind in ("+I", "+U"):
            rows[row] += 1
        else:
            assert rows[row] > 0, f"{change} takes back what is not there"
            rows[row] -= 1
    return sorted(rows.elements())
