"""A sink that fails on Spark: the restart strategy applies, and nothing is lost or doubled."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.errors import SinkError
from tests.services.databases import Database
from tools.services import Server

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def environment(folder: Path, attempts: int) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in {
        "penstock.master": "local[2,4]",
        "execution.checkpointing.dir": str(folder),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": str(attempts),
        "restart-strategy.fixed-delay.delay": "1 s",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env


def count_into(database: Database, table: str, folder: Path, attempts: int) -> None:
    env = environment(folder, attempts)
    account = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(database.url)
        .with_user_name("penstock")
        .with_password("penstock")
        .build()
    )
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    counts = (
        env.from_sequence(1, 1000)
        .map(lambda n: (n % 10, 1), pair)
        .key_by(lambda pair: pair[0])
        .sum(1)
    )
    insert = f"INSERT INTO {table} VALUES (?, ?)"
    counts.add_sink(JdbcSink.sink(insert, pair, account)).uid("rows")
    env.execute("counts into a table")


def expected() -> list[Any]:
    return [(key, count) for key in range(10) for count in range(1, 101)]


def test_a_table_that_comes_later(postgres: Server, tmp_path: Path) -> None:
    database = Database(postgres.address["url"], postgres)
    table = f"later{os.getpid()}"
    with pytest.raises(SinkError) as caught:
        count_into(database, table, tmp_path, attempts=0)
    assert "does not take the rows" in str(caught.value)
    assert f'relation "{table}" does not exist' in str(caught.value)

    def create() -> None:
        time.sleep(8)
        database.run(f"CREATE TABLE {table} (number BIGINT, seen BIGINT)")

    creating = threading.Thread(target=create)
    creating.start()
    count_into(database, table, tmp_path, attempts=100)
    creating.join()
    rows = database.rows(f"SELECT number, seen FROM {table}")
    assert sorted(tuple(row) for row in rows) == expected()
