"""`'connector' = 'filesystem'`: formats, partitions, commits and overwrites."""

from __future__ import annotations

import datetime
import itertools
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from penstock.common import Row
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.orc_format import read_stripes
from penstock.connectors.file_source.source import FileSource
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.errors import ConfigurationError, ValidationError
from penstock.graph.relational.planner.rules import optimise
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.catalog_table import CatalogTable

COLUMNS = (
    "id INT, name STRING, price DECIMAL(8, 2), at TIMESTAMP(3), utc TIMESTAMP_LTZ(3), d DATE, "
    "l ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y STRING>, b BYTES, f DOUBLE, t TIME"
)
VALUES = (
    "(1, 'tea', 2.50, TIMESTAMP '2024-01-01 10:00:00.125', "
    "TO_TIMESTAMP_LTZ(1704103200000, 3), DATE '2024-01-01', ARRAY[1, 2], MAP['a', 1], "
    "ROW(3, 'z'), x'00ff', 0.5E0, TIME '01:02:03')"
)


def _environment(*, batch: bool = True) -> TableEnvironment:
    settings = EnvironmentSettings
    made = settings.in_batch_mode() if batch else settings.in_streaming_mode()
    t_env = TableEnvironment.create(made)
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "2")
    return t_env


def _create(
    t_env: TableEnvironment, path: Path, columns: str, form: str = "csv", more: str = "",
    name: str = "t", partitioned: str = "",
) -> None:  # fmt: skip
    by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) {by} WITH ('connector' = 'filesystem', "
        f"'path' = '{path}', 'format' = '{form}'{more})"
    )


def _rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


def _files(path: Path) -> list[str]:
    return sorted(
        str(file.relative_to(path)) for file in path.rglob("*")
        if file.is_file() and not file.name.startswith(".")
    )  # fmt: skip


def _shown(row: tuple[Any, ...]) -> list[str]:
    return [str(list(cell) if isinstance(cell, Row) else cell) for cell in row]


@pytest.mark.parametrize("form", ["json", "parquet", "avro"])
def test_every_type_is_written_and_read_again(form: str, tmp_path: Path) -> None:
    t_env = _environment()
    _create(t_env, tmp_path / "out", COLUMNS, form)
    t_env.execute_sql(f"INSERT INTO t VALUES {VALUES}").wait()
    expected = _rows(t_env, f"SELECT * FROM (VALUES {VALUES}) AS v")
    assert [_shown(row) for row in _rows(t_env, "SELECT * FROM t")] == [
        _shown(row) for row in expected
    ]


def test_a_parquet_file_is_one_that_others_can_read(tmp_path: Path) -> None:
    t_env = _environment()
    _create(t_env, tmp_path, "id INT, name STRING", "parquet", ", 'parquet.compression' = 'GZIP'")
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql("INSERT INTO t VALUES (1, 'tea'), (2, CAST(NULL AS STRING))").wait()
    [file] = _files(tmp_path)
    table = pq.read_table(tmp_path / file)
    assert table.to_pydict() == {"id": [1, 2], "name": ["tea", None]}
    assert pq.ParquetFile(tmp_path / file).metadata.row_group(0).column(0).compression == "GZIP"


def test_orc_files_are_written_and_read_again(tmp_path: Path) -> None:
    t_env = _environment()
    t_env.get_config().set("parallelism.default", "1")
    columns = (
        "id INT, name STRING, price DECIMAL(10, 2), day DATE, at TIMESTAMP(3), "
        "moment TIMESTAMP_LTZ(3), list ARRAY<INT>, pairs MAP<STRING, INT>, "
        "part ROW<x INT, y STRING>"
    )
    values = (
        "(1, 'tea', 1.50, DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05.678', "
        "TO_TIMESTAMP_LTZ(1500, 3), ARRAY[1, 2], MAP['a', 1], ROW(7, 'z'))"
    )
    _create(t_env, tmp_path / "out", columns, "orc", ", 'orc.compress' = 'ZSTD'")
    t_env.execute_sql(f"INSERT INTO t VALUES {values}").wait()
    [expected] = _rows(t_env, f"SELECT * FROM (VALUES {values}) AS v")
    [found] = _rows(t_env, "SELECT * FROM t")
    assert _shown(found) == _shown(expected)
    [file] = _files(tmp_path / "out")
    table = orc.read_table(tmp_path / "out" / file)
    assert table.column("name").to_pylist() == ["tea"]
    assert orc.ORCFile(tmp_path / "out" / file).compression == "ZSTD"
    _create(t_env, tmp_path / "times", "t TIME", "orc", name="times")
    with pytest.raises(ConfigurationError, match="an ORC file has no times of day"):
        t_env.execute_sql("INSERT INTO times VALUES (TIME '01:02:03')")


def test_each_stripe_of_an_orc_file_belongs_to_one_piece(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers.orc")
    with orc.ORCWriter(path, stripe_size=1024) as writer:
        for start in range(0, 50_000, 5_000):
            writer.write(pa.table({"n": list(range(start, start + 5_000))}))
    assert orc.ORCFile(path).nstripes > 3
    size = os.path.getsize(path)
    bounds = [0, size // 3, size // 2, size]
    found = [
        batch.column(0).to_pylist()
        for start, end in itertools.pairwise(bounds)
        for batch in read_stripes(FilePiece(path, start, end, size), 1000, ["n"])
    ]
    assert sorted(n for part in found for n in part) == list(range(50_000))


def test_lines_of_raw_files_and_changes_of_a_database(tmp_path: Path) -> None:
    t_env = _environment(batch=False)
    (tmp_path / "lines").write_text("to be\nor not\n")
    _create(t_env, tmp_path / "lines", "line STRING", "raw")
    assert _rows(t_env, "SELECT line FROM t") == [("or not",), ("to be",)]
    (tmp_path / "cdc").write_text(
        '{"before":null,"after":{"k":"a","v":1},"op":"c"}\n'
        '{"before":{"k":"a","v":1},"after":{"k":"a","v":5},"op":"u"}\n'
        '{"before":null,"after":{"k":"b","v":2},"op":"c"}\n'
        '{"before":{"k":"b","v":2},"after":null,"op":"d"}\n'
    )
    _create(t_env, tmp_path / "cdc", "k STRING, v INT", "debezium-json", name="c")
    with t_env.execute_sql("SELECT SUM(v) FROM c").collect() as found:
        last = list(found)[-1]
    assert tuple(last) == (5,)


def test_a_partitioned_table_has_a_folder_for_each_value(tmp_path: Path) -> None:
    t_env = _environment()
    _create(
        t_env, tmp_path, "`day` DATE, id INT, `hour` STRING, name STRING",
        partitioned="`day`, `hour`",
    )  # fmt: skip
    t_env.execute_sql(
        "INSERT INTO t VALUES (DATE '2024-01-01', 1, '08', 'tea'), "
        "(DATE '2024-01-02', 2, CAST(NULL AS STRING), 'jam'), (DATE '2024-01-02', 3, 'a/b', 'rum')"
    ).wait()
    assert {file.rpartition("/")[0] for file in _files(tmp_path)} == {
        "day=2024-01-01/hour=08",
        "day=2024-01-02/hour=__DEFAULT_PARTITION__",
        "day=2024-01-02/hour=a%2Fb",
    }
    assert (tmp_path / "day=2024-01-01/hour=08").exists()
    assert _rows(t_env, "SELECT * FROM t") == [
        (datetime.date(2024, 1, 1), 1, "08", "tea"),
        (datetime.date(2024, 1, 2), 2, None, "jam"),
        (datetime.date(2024, 1, 2), 3, "a/b", "rum"),
    ]
    assert _rows(t_env, "SHOW PARTITIONS t") == [
        ("day=2024-01-01/hour=08",), ("day=2024-01-02/hour=__DEFAULT_PARTITION__",),
        ("day=2024-01-02/hour=a%2Fb",),
    ]  # fmt: skip


def _paths(t_env: TableEnvironment, query: str) -> list[str]:
    """Return the folders that a query reads."""
    plan = optimise(t_env.sql_query(query)._node)
    [scan] = [node for node in plan.walk() if hasattr(node, "table")]
    source = scan.table._source.source
    assert isinstance(source, FileSource)
    return [Path(path).name for path in source._paths]


def test_partitions_that_a_filter_excludes_are_not_read(tmp_path: Path) -> None:
    t_env = _environment()
    for day in (1, 2, 3):
        folder = tmp_path / "t" / f"day=2024-01-0{day}"
        folder.mkdir(parents=True)
        (folder / "x.csv").write_text(f"{day}\n" if day < 3 else "this is no number\n")
    _create(t_env, tmp_path / "t", "id INT, `day` DATE", partitioned="`day`")
    query = "SELECT id FROM t WHERE `day` < DATE '2024-01-03' AND id > 0"
    assert _paths(t_env, query) == ["day=2024-01-01", "day=2024-01-02"]
    assert _rows(t_env, query) == [(1,), (2,)]
    assert _paths(t_env, "SELECT id FROM t WHERE `day` = DATE '2030-01-01'") == []
    assert _rows(t_env, "SELECT id FROM t WHERE `day` = DATE '2030-01-01'") == []
    assert _paths(t_env, "SELECT id FROM t WHERE id = 1") == ["t"]


def test_metadata_of_files_can_be_selected(tmp_path: Path) -> None:
    t_env = _environment()
    (tmp_path / "a.csv").write_text("1\n")
    _create(
        t_env, tmp_path, "id INT, f STRING NOT NULL METADATA FROM 'file.name' VIRTUAL, "
        "`file.size` INT METADATA VIRTUAL, `file.path` STRING METADATA VIRTUAL",
    )  # fmt: skip
    assert _rows(t_env, "SELECT * FROM t") == [(1, "a.csv", 2, str(tmp_path / "a.csv"))]
    _create(t_env, tmp_path, "id INT, x INT METADATA", name="u")
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("SELECT * FROM u")
    assert str(caught.value) == (
        "the connector 'filesystem' has no metadata 'x' that can be read\n"
        "  where: table u, column x\n"
        "  to do: it has: file.modification-time, file.name, file.path, file.size"
    )


def test_a_pattern_chooses_files(tmp_path: Path) -> None:
    t_env = _environment()
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "b.txt").write_text("2\n")
    _create(t_env, tmp_path, "id INT", more=r", 'source.path.regex-pattern' = '.*\.csv'")
    assert _rows(t_env, "SELECT * FROM t") == [(1,)]


def test_a_table_is_replaced_as_a_whole(tmp_path: Path) -> None:
    t_env = _environment()
    _create(t_env, tmp_path / "t", "id INT")
    t_env.execute_sql("INSERT INTO t VALUES (1), (2)").wait()
    t_env.execute_sql("INSERT OVERWRITE t SELECT id + 10 FROM t").wait()
    assert _rows(t_env, "SELECT * FROM t") == [(11,), (12,)]
    t_env.from_path("t").execute_insert("t", overwrite=True).wait()
    assert _rows(t_env, "SELECT * FROM t") == [(11,), (12,)]
    t_env.execute_sql("INSERT OVERWRITE t SELECT id FROM t WHERE id > 100").wait()
    assert _rows(t_env, "SELECT * FROM t") == []
    assert [path.name for path in (tmp_path / "t").iterdir()] == []


def test_partitions_with_rows_are_replaced_and_others_stay(tmp_path: Path) -> None:
    t_env = _environment()
    _create(t_env, tmp_path, "id INT, p INT, q INT", partitioned="p, q")
    t_env.execute_sql("INSERT INTO t VALUES (1, 1, 1), (2, 2, 1), (3, 2, 2)").wait()
    t_env.execute_sql("INSERT OVERWRITE t VALUES (4, 2, 2)").wait()
    assert _rows(t_env, "SELECT * FROM t") == [(1, 1, 1), (2, 2, 1), (4, 2, 2)]
    # A partition that the statement names goes, with rows or without.
    t_env.execute_sql("INSERT OVERWRITE t PARTITION (p = 2) SELECT 9, 7").wait()
    assert _rows(t_env, "SELECT * FROM t") == [(1, 1, 1), (9, 2, 7)]
    t_env.execute_sql(
        "INSERT OVERWRITE t PARTITION (p = 1, q = 1) SELECT id FROM t WHERE id > 100"
    ).wait()
    assert _rows(t_env, "SELECT * FROM t") == [(9, 2, 7)]
    t_env.execute_sql("INSERT INTO t PARTITION (q = 5) (p, id) SELECT 6, 8").wait()
    assert _rows(t_env, "SELECT * FROM t") == [(8, 6, 5), (9, 2, 7)]


def test_what_an_overwrite_cannot_do_is_told(tmp_path: Path) -> None:
    t_env = _environment(batch=False)
    _create(t_env, tmp_path, "id INT, p INT", partitioned="p")
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("INSERT OVERWRITE t VALUES (1, 2)")
    assert str(caught.value) == (
        "INSERT OVERWRITE replaces what a table holds once, at the query's end\n"
        "  where: INSERT OVERWRITE t\n"
        "  got:   a streaming query\n"
        "  to do: use EnvironmentSettings.in_batch_mode()"
    )
    t_env.execute_sql("CREATE TABLE b (id INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("INSERT OVERWRITE b VALUES (1)")
    assert str(caught.value) == (
        "the connector 'blackhole' does not replace what a table holds\n"
        "  where: INSERT OVERWRITE b\n"
        "  to do: use INSERT INTO, and empty the table itself before"
    )
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("INSERT INTO t PARTITION (id = 1) VALUES (2)")
    assert str(caught.value) == (
        "'id' is no partition column of 't'\n"
        "  where: INSERT INTO t PARTITION (...)\n"
        "  got:   PARTITIONED BY (p)\n"
        "  to do: select its values with the others"
    )


def _committing(t_env: TableEnvironment, folder: Path, more: str) -> Any:
    """Return the sink of a table that commits its partitions."""
    _create(
        t_env, folder / "out", "id INT, `day` STRING, `hour` STRING", partitioned="`day`, `hour`",
        more=", 'sink.partition-commit.policy.kind' = 'success-file'" + more,
    )  # fmt: skip
    table = t_env._catalogs.find(("t",))
    assert isinstance(table, CatalogTable)
    return table.sink(t_env)._sink.sink


class _Clock:
    now = 0
    watermark = -(1 << 63)


def _written(sink: Any, clock: _Clock) -> Any:
    context = WriterContext(0, 1, lambda: clock.now, None, lambda: clock.watermark, job_id="j")
    return sink.create_writer(context)


def _publish(committer: Any, writer: Any, batch: int, *, end: bool = False) -> None:
    payloads = writer.prepare_commit(end)
    writer.snapshot_state()
    committer.commit(batch, [Committable(0, payload) for payload in payloads])


def test_a_partition_is_committed_when_the_watermark_has_passed_it(tmp_path: Path) -> None:
    sink = _committing(
        _environment(batch=False), tmp_path,
        ", 'sink.partition-commit.trigger' = 'partition-time', 'sink.partition-commit.delay' = "
        "'1 h', 'partition.time-extractor.timestamp-pattern' = '$day $hour:00:00', "
        "'sink.partition-commit.watermark-time-zone' = 'Asia/Shanghai'",
    )  # fmt: skip
    clock = _Clock()
    committer = sink.create_committer(CommitterContext("u", "t", 1, str(tmp_path / "j"), False))
    writer = _written(sink, clock)
    writer.write((1, "2024-01-01", "08"), None)
    writer.write((2, "2024-01-01", "09"), None)
    eight = datetime.datetime(2024, 1, 1, 0, tzinfo=datetime.timezone.utc)  # 08:00 in Shanghai
    clock.watermark = int(eight.timestamp() * 1000) + 3_600_000 - 1
    _publish(committer, writer, 0)
    assert _files(tmp_path / "out") == []
    clock.watermark += 1
    _publish(committer, writer, 1)
    done = tmp_path / "out" / "day=2024-01-01" / "hour=08"
    assert _files(done) == ["_SUCCESS", "part-0-0"]
    assert _files(tmp_path / "out") == [
        "day=2024-01-01/hour=08/_SUCCESS", "day=2024-01-01/hour=08/part-0-0",
    ]  # fmt: skip
    # A process that dies and comes back knows which partitions wait.
    again = sink.create_committer(CommitterContext("u", "t", 1, str(tmp_path / "j"), True))
    _publish(again, writer, 2, end=True)
    assert (tmp_path / "out" / "day=2024-01-01" / "hour=09" / "_SUCCESS").exists()


def test_a_partition_is_committed_some_time_after_its_first_row(tmp_path: Path) -> None:
    sink = _committing(
        _environment(batch=False), tmp_path, ", 'sink.partition-commit.delay' = '10 s', "
        "'sink.partition-commit.success-file.name' = '_DONE'",
    )  # fmt: skip
    clock = _Clock()
    committer = sink.create_committer(CommitterContext("u", "t", 1, str(tmp_path / "j"), False))
    writer = _written(sink, clock)
    clock.now = 1_000
    writer.write((1, "a", "b"), None)
    _publish(committer, writer, 0)
    assert _files(tmp_path / "out") == []
    assert writer.next_wakeup() == 11_000
    clock.now = 11_000
    writer.wake_up(11_000)
    _publish(committer, writer, 1)
    assert _files(tmp_path / "out") == ["day=a/hour=b/_DONE", "day=a/hour=b/part-0-0"]
