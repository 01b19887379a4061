"""Databases for tests: the servers and a file, asked with the plain drivers."""

from __future__ import annotations

import itertools
import os
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pymysql

from penstock.datastream.connectors.jdbc import JdbcConnectionOptions
from tools.services import Server

_numbers = itertools.count()
#: Programs name Java's drivers; nothing follows from it here.
_DRIVERS = {
    "mysql": "com.mysql.cj.jdbc.Driver",
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
}


class Database:
    """A database with tables of its own for one test."""

    def __init__(self, url: str, server: Server | None = None) -> None:
        self.url = url
        self.server = server
        self.account = {} if server is None else server.address

    def options(self, **changes: str) -> JdbcConnectionOptions:
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(
            changes.get("url", self.url)
        )
        builder.with_driver_name(_DRIVERS[self.url.split(":")[1]])
        if self.account:
            builder.with_user_name(self.account["user"])
            builder.with_password(changes.get("password", self.account["password"]))
        return builder.build()

    def connect(self) -> Any:
        if self.server is None:
            return sqlite3.connect(self.url.removeprefix("jdbc:sqlite:"))
        names = ("host", "port", "user", "password")
        account = {name: self.account[name] for name in names}
        if "mysql" in self.url:
            return pymysql.connect(**account, database=self.account["database"])
        return psycopg.connect(**account, dbname=self.account["database"])

    def run(self, *statements: str) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
        connection.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute(query)
        rows = [tuple(row) for row in cursor.fetchall()]
        connection.close()
        return rows

    def table(self, columns: str) -> str:
        """Create a table and return its name."""
        name = f"t{os.getpid()}_{next(_numbers)}"
        self.run(f"CREATE TABLE {name} ({columns})")
        return name


def database(kind: str, servers: Any, folder: Path) -> Database:
    if kind == "sqlite":
        return Database(f"jdbc:sqlite:{folder}/test.db")
    server = servers(kind)
    return Database(server.address["url"], server)
