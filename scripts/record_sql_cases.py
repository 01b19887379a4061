#!/usr/bin/env python3
"""Record what Flink gives for the cases of tests/cases/sql.

Run it with an interpreter that has PyFlink (pip install apache-flink):

    python scripts/record_sql_cases.py tests/cases/sql/group.txt ...

Each file is written again with the rows that Flink gave behind `result`. A query that Flink refuses
gets the first line of its error.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

sys.path.insert(0, str(Path(__file__).parents[1]))


def main(paths: list[str]) -> None:
    """Record the files."""
    for path in paths:
        file = Path(path)
        blocks = file.read_text(encoding="utf-8").split("\n== ")
        head, cases = blocks[0], blocks[1:]
        if head.startswith("== "):
            head, cases = "", [head[3:], *cases]
        recorded = [record(head, case) for case in cases]
        text = head.rstrip("\n") + ("\n\n" if head else "")
        text += "\n".join(f"== {case}" for case in recorded)
        file.write_text(text, encoding="utf-8")


def record(shared: str, case: str) -> str:
    """Return a case with its result filled in."""
    body = case.partition("\nresult")[0].rstrip("\n")
    print("==", body.splitlines()[0], flush=True)
    rows = run(shared, body)
    return f"{body}\nresult\n" + "".join(f"{row}\n" for row in rows)


def run(shared: str, body: str) -> list[str]:
    """Run a case on PyFlink."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1").set("table.local-time-zone", "UTC")
    query, tables, part = "", {}, ""
    statements = []
    for line in [*shared.splitlines(), *body.splitlines()[1:]]:
        if line.startswith("table "):
            name, _, columns = line[6:].partition(" (")
            tables[name] = (columns[:-1], [])
            part = name
        elif line == "query":
            part = line
        elif line.startswith("set "):
            key, _, value = line[4:].partition(" = ")
            t_env.get_config().set(key, value)
        elif line.startswith("statement "):
            statements.append(line.removeprefix("statement "))
        elif part == "query":
            query += line + "\n"
        elif part and line and not line.startswith("#"):
            tables[part][1].append(line)
    folder = Path(tempfile.mkdtemp())
    for name, (columns, rows) in tables.items():
        file = folder / f"{name}.csv"
        file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{file}', 'format' = 'csv', 'csv.null-literal' = 'NULL')"
        )
    try:
        for statement in statements:
            t_env.execute_sql(statement)
        with t_env.execute_sql(query).collect() as results:
            return [
                str(row.get_row_kind()).replace("RowKind.", "") and show(row) for row in results
            ]
    except Exception as error:  # what Flink refuses is written down, to be looked at
        lines = [line for line in str(error).splitlines() if "Exception" in line]
        return [f"! {line.strip()}" for line in lines[-1:]]


def show(row) -> str:
    """Return a row with its kind."""
    kind = {0: "+I", 1: "-U", 2: "+U", 3: "-D"}[row.get_row_kind().value]
    return f"{kind}[{', '.join(cell(value) for value in row)}]"


def cell(value) -> str:
    """Return a value as `str(Row)` shows it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
