"""Cassandra as a sink, on a real node."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cassandra.cluster import Cluster, Session

from penstock.common import Row
from penstock.connectors.cassandra import CassandraRowSink, CassandraSettings
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.datastream.connectors.cassandra import (
    CassandraFailureHandler,
    CassandraSink,
    ClusterBuilder,
    ConsistencyLevel,
    MapperOptions,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, SerializationError, SinkError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment
from tools.services import Server

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def session(cassandra: Server) -> Iterator[Session]:
    cluster = Cluster([cassandra.address["host"]], cassandra.address["port"])
    session = cluster.connect()
    session.default_timeout = 60
    session.execute(
        "CREATE KEYSPACE IF NOT EXISTS shop "
        "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    session.set_keyspace("shop")
    yield session
    cluster.shutdown()


@pytest.fixture
def table(session: Session) -> str:
    name = f"t{uuid.uuid4().hex}"
    session.execute(f"CREATE TABLE {name} (word text PRIMARY KEY, seen int)")
    return name


def settings_of(server: Server, table: str, **more: Any) -> CassandraSettings:
    cluster = ClusterBuilder(server.address["host"], server.address["port"])
    query = f"INSERT INTO shop.{table} (word, seen) VALUES (?, ?)"
    return CassandraSettings(query, cluster, **more)


def committer_of(settings: CassandraSettings, folder: Path, *, restored: bool = False) -> Any:
    context = CommitterContext("uid", "cassandra", 1, str(folder), restored, "job")
    return CassandraRowSink(settings).create_committer(context)


def stage(settings: CassandraSettings, *records: Any) -> list[Committable]:
    writer = CassandraRowSink(settings).create_writer(WriterContext(0, 1, lambda: 0))
    for record in records:
        writer.write(record, None)
    return [Committable(0, payload) for payload in writer.prepare_commit(False)]


def rows(session: Session, table: str) -> dict[str, int]:
    return {row.word: row.seen for row in session.execute(f"SELECT word, seen FROM {table}")}


def test_a_job_keeps_the_last_count_of_each_word(
    cassandra: Server, session: Session, table: str, tmp_path: Path
) -> None:
    env = environment()
    counts = env.from_collection([(f"w{n % 7}", n) for n in range(700)])
    (
        CassandraSink.add_sink(counts)
        .set_query(f"INSERT INTO {table} (word, seen) VALUES (?, ?)")
        .set_default_key_space("shop")
        .set_host(cassandra.address["host"], cassandra.address["port"])
        .set_max_concurrent_requests(20)
        .set_mapper_options(
            MapperOptions.simple_mapper_options().consistency_level(ConsistencyLevel.ONE)
        )
        .build()
        .name("to cassandra")
    )
    LocalJob(build_plan(env), tmp_path, cuts=300).run()
    assert rows(session, table) == {f"w{n % 7}": n for n in range(693, 700)}


def test_a_batch_that_is_published_again_changes_nothing(
    cassandra: Server, session: Session, table: str, tmp_path: Path
) -> None:
    settings = settings_of(cassandra, table)
    first = committer_of(settings, tmp_path)
    first.commit(0, stage(settings, ("a", 1), Row("b", 2)))
    first.commit(1, stage(settings, ("a", 5)))
    first.close()
    second = committer_of(settings, tmp_path, restored=True)
    second.commit(0, stage(settings, ("a", 1), ("b", 2)))
    second.commit(1, stage(settings, ("a", 5)))
    second.close()
    assert rows(session, table) == {"a": 5, "b": 2}


def test_fields_that_are_none(
    cassandra: Server, session: Session, table: str, tmp_path: Path
) -> None:
    for keep, expected in ((True, 1), (False, None)):
        settings = settings_of(cassandra, table, ignore_null_fields=keep)
        committer = committer_of(settings, tmp_path / str(keep))
        committer.commit(0, stage(settings, ("a", 1), ("a", None)))
        committer.close()
        assert rows(session, table) == {"a": expected}


def test_a_table_that_is_missing(cassandra: Server, session: Session, tmp_path: Path) -> None:
    with pytest.raises(SinkError) as caught:
        committer_of(settings_of(cassandra, "nowhere"), tmp_path)
    assert "does not take statements" in str(caught.value)
    assert "table nowhere does not exist" in str(caught.value)


class Ignoring(CassandraFailureHandler):
    def on_failure(self, failure: Exception) -> None:
        """Leave the record out."""


def test_a_statement_that_is_refused(
    cassandra: Server, session: Session, table: str, tmp_path: Path
) -> None:
    records = [("a", 1), ("", 2), ("c", 3)]  # a key may not be empty
    settings = settings_of(cassandra, table)
    with pytest.raises(SinkError) as caught:
        committer_of(settings, tmp_path / "one").commit(0, stage(settings, *records))
    assert "Cassandra refuses a statement" in str(caught.value)
    assert "('', 2)" in str(caught.value)
    lenient = settings_of(cassandra, table, failure_handler=Ignoring())
    committer_of(lenient, tmp_path / "two").commit(0, stage(lenient, *records))
    assert rows(session, table) == {"a": 1, "c": 3}


def test_records_and_settings_that_cannot_work(cassandra: Server) -> None:
    settings = settings_of(cassandra, "t")
    with pytest.raises(SerializationError) as caught:
        stage(settings, ("a",))
    assert caught.value.todo == "send tuples or rows with 2 fields to the sink"
    builder = CassandraSink.add_sink(environment().from_collection([1]))
    with pytest.raises(ConfigurationError, match="the statement is missing"):
        builder.build()
    with pytest.raises(ConfigurationError, match="at least one statement must be under way"):
        builder.set_max_concurrent_requests(0)
    assert "s3cret" not in repr(ClusterBuilder("h", user_name="eve", password="s3cret"))
