"""Relational databases as sinks and sources: the same tests on three kinds of them."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
    XaTransaction,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, PenstockError, SerializationError, SinkError
from penstock.testing.local_executor import LocalJob
from tests.services.conftest import GetServer
from tests.services.databases import Database, database
from tests.unit.process.jobs import environment, plan_of, run

ROW = Types.ROW([Types.STRING(), Types.INT()])
ON_CONFLICT = (
    "INSERT INTO {0} VALUES (?, ?) ON CONFLICT (word) DO UPDATE SET n = {0}.n + excluded.n"
)
UPSERT = {
    "mariadb": "INSERT INTO {} VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
    "postgres": ON_CONFLICT,
    "sqlite": ON_CONFLICT,
}
KINDS = list(UPSERT)
SERVERS = ["mariadb", "postgres"]


@pytest.fixture
def db(request: pytest.FixtureRequest, servers: GetServer, tmp_path: Path) -> Database:
    return database(request.param, servers, tmp_path)


on_all = pytest.mark.parametrize("db", KINDS, indirect=True)
on_servers = pytest.mark.parametrize("db", SERVERS, indirect=True)


def write(sink: JdbcSink, folder: Path, values: list[Any], **options: Any) -> LocalJob:
    env = environment()
    env.from_collection(values).sink_to(sink).uid("jdbc")
    return LocalJob(build_plan(env), folder, **options)


class Hand:
    """Drive a sink by hand, as a job and its next run do."""

    def __init__(self, sink: JdbcSink, folder: Path) -> None:
        self._sink, self._folder = sink, folder
        self.committer = self.connect(restored=False)

    def connect(self, *, restored: bool) -> Any:
        context = CommitterContext("sink", "jdbc", 1, str(self._folder), restored, "job-1")
        return self._sink.create_committer(context)

    def stage(self, *rows: Any) -> list[Committable]:
        writer = self._sink.create_writer(WriterContext(0, 1, lambda: 0))
        for row in rows:
            writer.write(row, None)
        return [Committable(0, payload) for payload in writer.prepare_commit(False)]


@on_all
def test_every_row_once_whatever_the_cuts(db: Database, tmp_path: Path) -> None:
    table = db.table("word VARCHAR(20), n INTEGER")
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?)", ROW, db.options())
    rows = [(f"w{n}", n) for n in range(500)]
    write(sink, tmp_path / "job", rows, cuts=37).run()
    assert db.rows(f"SELECT word, n FROM {table} ORDER BY n") == rows


@on_all
def test_a_statement_that_may_not_be_repeated_is_not(db: Database, tmp_path: Path) -> None:
    table = db.table("word VARCHAR(20), n INTEGER")
    db.run(f"INSERT INTO {table} VALUES ('a', 0)")
    sink = JdbcSink.sink(f"UPDATE {table} SET n = n + ? WHERE word = ?", None, db.options())
    hand = Hand(sink, tmp_path)
    staged = hand.stage((1, "a"), (2, "a"))
    hand.committer.commit(4, staged)
    hand.committer.commit(4, staged)
    again = hand.connect(restored=True)
    again.commit(4, staged)
    again.commit(5, hand.stage((10, "a")))
    assert db.rows(f"SELECT n FROM {table}") == [(13,)]


@pytest.mark.parametrize("kind", KINDS)
def test_upserts(kind: str, servers: GetServer, tmp_path: Path) -> None:
    db = database(kind, servers, tmp_path)
    table = db.table("word VARCHAR(20) PRIMARY KEY, n INTEGER")
    sink = JdbcSink.sink(
        UPSERT[kind].format(table),
        ROW,
        db.options(),
        JdbcExecutionOptions.builder().with_batch_size(2).with_max_retries(1).build(),
    )
    write(sink, tmp_path / "job", [("a", 1), ("b", 1), ("a", 1), ("a", 5)], cuts=3).run()
    assert sorted(db.rows(f"SELECT * FROM {table}")) == [("a", 7), ("b", 1)]


@on_all
def test_signs_that_mean_something_to_drivers(db: Database, tmp_path: Path) -> None:
    table = db.table("a VARCHAR(20), b VARCHAR(20)")
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, '100% ?')", None, db.options())
    write(sink, tmp_path / "job", ["%s", "it's", "日本", None]).run()
    found = sorted(db.rows(f"SELECT * FROM {table}"), key=repr)
    expected = [(text, "100% ?") for text in ("%s", "it's", "日本", None)]
    assert found == sorted(expected, key=repr)


@on_servers
def test_a_database_that_is_away_for_a_while(db: Database, tmp_path: Path) -> None:
    table = db.table("word VARCHAR(20), n INTEGER")
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?)", ROW, db.options())
    hand = Hand(sink, tmp_path)
    hand.committer.commit(0, hand.stage(("before", 1)))
    assert db.server is not None
    db.server.kill()
    back = threading.Timer(2, db.server.start)
    back.start()
    hand.committer.commit(1, hand.stage(("during", 2)))
    back.join()
    assert db.rows(f"SELECT n FROM {table} ORDER BY n") == [(1,), (2,)]


@on_servers
def test_a_commit_whose_outcome_nobody_heard(db: Database, tmp_path: Path) -> None:
    table = db.table("word VARCHAR(20), n INTEGER")
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?)", ROW, db.options())
    hand = Hand(sink, tmp_path)
    connection = hand.committer._connected()
    commit = connection.commit

    def and_lose() -> None:
        commit()
        connection.close()
        raise ConnectionResetError("reset by peer")

    connection.commit = and_lose
    hand.committer._dialect.is_passing = lambda error: True
    hand.committer.commit(0, hand.stage(("once", 1)))
    assert db.rows(f"SELECT * FROM {table}") == [("once", 1)]


@on_servers
def test_an_old_run_that_has_not_noticed_its_end(db: Database, tmp_path: Path) -> None:
    table = db.table("word VARCHAR(20), n INTEGER")
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?)", ROW, db.options())
    hand = Hand(sink, tmp_path)
    new = hand.connect(restored=True)
    staged = hand.stage(("once", 1))
    new.commit(0, staged)
    hand.committer.commit(0, staged)
    assert db.rows(f"SELECT * FROM {table}") == [("once", 1)]


@on_all
def test_a_table_that_is_missing_and_then_there(db: Database, tmp_path: Path) -> None:
    table = f"later{time.time_ns()}"
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?)", ROW, db.options())
    job = write(sink, tmp_path / "job", [("a", 1)])
    with pytest.raises(SinkError) as caught:
        job.run()
    assert caught.value.what == f"the database {db.url} does not take the rows"
    assert table in str(caught.value.got)
    assert "built at" in str(caught.value.where)
    db.run(f"CREATE TABLE {table} (word VARCHAR(20), n INTEGER)")
    write(sink, tmp_path / "job", [("a", 1)]).run()
    assert db.rows(f"SELECT * FROM {table}") == [("a", 1)]


@on_servers
def test_wrong_credentials(db: Database, tmp_path: Path) -> None:
    options = db.options(password="hunter2")
    sink = JdbcSink.sink("INSERT INTO t VALUES (?, ?)", ROW, options)
    with pytest.raises(SinkError) as caught:
        write(sink, tmp_path / "job", [("a", 1)]).run()
    assert "does not take the rows" in caught.value.what
    assert "hunter2" not in str(caught.value) + repr(options)


def test_a_record_that_does_not_fit(tmp_path: Path) -> None:
    options = database("sqlite", None, tmp_path).options()
    sink = JdbcSink.sink("INSERT INTO t VALUES (?, ?)", ROW, options)
    with pytest.raises(SerializationError) as caught:
        sink.create_writer(WriterContext(0, 1, lambda: 0)).write(("a", 1, 2), None)
    assert str(caught.value) == (
        "the record has another number of fields than the statement takes\n"
        "  where: JdbcSink, 'INSERT INTO t VALUES (?, ?)'\n"
        "  got:   ('a', 1, 2)\n"
        "  to do: send tuples or rows with 2 fields to the sink"
    )
    with pytest.raises(ConfigurationError) as early:
        JdbcSink.sink("INSERT INTO t VALUES (?)", ROW, options)
    assert early.value.got == "1 placeholders, 2 fields"


def test_a_url_of_no_known_kind() -> None:
    with pytest.raises(ConfigurationError) as caught:
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(
            "jdbc:oracle:thin:@db?password=s3cret"
        ).build()
    assert str(caught.value) == (
        "the database's URL is of no known kind\n"
        "  got:   'jdbc:oracle:thin:@db'\n"
        "  to do: write jdbc:mysql://host:port/database, jdbc:mariadb://..., "
        "jdbc:postgresql://... or jdbc:sqlite:file"
    )


# ------------------------------------------------------------------------------------- sources


def source(db: Database, sql: str) -> Any:
    builder = JdbcSource.builder().set_db_url(db.url).set_sql(sql)
    if db.account:
        builder.set_username(db.account["user"]).set_password(db.account["password"])
    return builder


def read(built: JdbcSource, parallelism: int = 1) -> list[Any]:
    strategy = WatermarkStrategy.no_watermarks()
    return run(lambda env: env.from_source(built, strategy, "jdbc"), parallelism)


@on_all
def test_a_bounded_read_in_parts(db: Database) -> None:
    table = db.table("id INTEGER, word VARCHAR(20)")
    db.run(*(f"INSERT INTO {table} VALUES ({n}, 'w{n}')" for n in range(1, 21)))
    sql = f"SELECT id, word FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id"
    rows = read(source(db, sql).set_numeric_between_parameters(1, 20, parts=6).build(), 2)
    assert sorted(row.id for row in rows) == list(range(1, 21))
    whole = read(source(db, f"SELECT word FROM {table} WHERE id < 3 ORDER BY id").build())
    assert whole == [Row(word="w1"), Row(word="w2")]


@on_all
def test_a_watched_table(db: Database, tmp_path: Path) -> None:
    table = db.table("id INTEGER, word VARCHAR(20)")
    db.run(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    built = source(db, f"SELECT id, word FROM {table}").set_polling("id", 50).build()
    plan, sink = plan_of(
        lambda env: env.from_source(built, WatermarkStrategy.no_watermarks(), "jdbc")
    )
    job = LocalJob(plan, tmp_path / "job")
    until(job, lambda: len(sink.values()) == 2)
    db.run(f"INSERT INTO {table} VALUES (7, 'c')")
    until(job, lambda: len(sink.values()) == 3)
    # A second run goes on behind the last row.
    job.coordinator.cancel()
    job.close()
    db.run(f"INSERT INTO {table} VALUES (8, 'd')")
    again = LocalJob(plan, tmp_path / "job")
    until(again, lambda: len(sink.values()) == 4)
    again.coordinator.cancel()
    again.close()
    assert [row.word for row in sink.values()] == ["a", "b", "c", "d"]


def until(job: LocalJob, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        assert job.coordinator.failure is None
        job.step()


@on_all
def test_a_query_that_cannot_be_read(db: Database) -> None:
    with pytest.raises(PenstockError) as caught:
        read(source(db, "SELECT * FROM nowhere").build())
    assert f"the database {db.url} cannot be read" in str(caught.value)
    assert "nowhere" in str(caught.value)


# ---------------------------------------------------------------------- transactions in two phases


@on_servers
def test_a_prepared_transaction_outlives_its_connection(db: Database) -> None:
    table = db.table("word VARCHAR(20)")
    transaction = XaTransaction.begin(db.options())
    transaction.execute(f"INSERT INTO {table} VALUES (?)", ("kept",))
    transaction.prepare()
    assert db.rows(f"SELECT * FROM {table}") == []
    assert db.server is not None
    db.server.kill()
    db.server.start()
    elsewhere = pickle.loads(pickle.dumps(transaction))
    elsewhere.commit(db.options())
    elsewhere.commit(db.options())
    assert db.rows(f"SELECT * FROM {table}") == [("kept",)]


@on_servers
def test_a_transaction_that_is_undone(db: Database) -> None:
    table = db.table("word VARCHAR(20)")
    for prepared in (False, True):
        transaction = XaTransaction.begin(db.options())
        transaction.execute(f"INSERT INTO {table} VALUES (?)", ("gone",))
        if prepared:
            transaction.prepare()
        transaction.rollback(db.options())
        transaction.rollback(db.options())
    assert db.rows(f"SELECT * FROM {table}") == []


def test_sqlite_has_no_second_phase(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        XaTransaction.begin(database("sqlite", None, tmp_path).options())
    assert caught.value.what == "the database has no transactions in two phases"
