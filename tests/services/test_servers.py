"""The servers themselves: they answer, come back after a kill, and end when told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psycopg
import pymysql
import pytest

from tests.arch.sources import ROOT
from tests.services.conftest import GetServer
from tools.services import Server
from tools.services.server import exchange


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.services", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=240,
    )


def test_the_command_starts_tells_and_stops(tmp_path: Path) -> None:
    folder = ("--folder", str(tmp_path))
    started = json.loads(command("start", "redis", *folder).stdout)
    again = json.loads(command("start", "redis", *folder).stdout)
    assert again == started == json.loads(command("status", *folder).stdout)
    assert exchange(started["redis"]["port"], b"PING\r\n") == b"+PONG\r\n"
    assert command("stop", *folder).returncode == 0
    assert exchange(started["redis"]["port"], b"PING\r\n") == b""
    assert json.loads(command("status", *folder).stdout) == {}


def test_a_name_that_is_none() -> None:
    done = command("start", "oracle")
    assert done.returncode == 2
    assert "no such server: oracle" in done.stderr


@pytest.mark.parametrize("name", ["mariadb", "postgres", "redis"])
def test_a_server_comes_back_after_a_kill(servers: GetServer, name: str) -> None:
    server = servers(name)
    address = server.address
    server.kill()
    assert server.pids == []
    server.start(die_with_parent=True)
    assert server.address == address
    assert server.kind.answers(address)


def test_what_was_committed_survives_a_kill(mariadb: Server, postgres: Server) -> None:
    for server, connect in ((mariadb, connect_mysql), (postgres, connect_postgres)):
        with connect(server) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE survivors (n INTEGER)")
            cursor.execute("INSERT INTO survivors VALUES (7)")
            connection.commit()
        server.kill()
        server.start(die_with_parent=True)
        with connect(server) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT n FROM survivors")
            assert cursor.fetchall() in ([(7,)], ((7,),))
            cursor.execute("DROP TABLE survivors")
            connection.commit()


def connect_mysql(server: Server) -> pymysql.connections.Connection:
    address = {key: value for key, value in server.address.items() if key != "url"}
    return pymysql.connect(**address)


def connect_postgres(server: Server) -> psycopg.Connection:
    address = server.address
    return psycopg.connect(
        host=address["host"],
        port=address["port"],
        user=address["user"],
        password=address["password"],
        dbname=address["database"],
    )
