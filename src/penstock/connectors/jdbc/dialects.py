"""What differs from database to database: drivers, placeholders, errors, a few statements."""

from __future__ import annotations

import importlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.connectors.jdbc.options import JdbcConnectionOptions
from penstock.errors import ConfigurationError

_CONNECT_SECONDS = 10


class Dialect(ABC):
    """One kind of database, by a driver that follows Python's DB-API."""

    #: What the driver writes in place of a question mark.
    placeholder = "%s"
    #: Appended to a SELECT to keep others from the row until the transaction ends.
    for_update = " FOR UPDATE"
    #: Statement that begins a transaction, where the driver does not do so itself.
    begin: str | None = None
    key_type = "VARCHAR(255)"

    def __init__(self, options: JdbcConnectionOptions) -> None:
        self.options = options
        self.address = options.address

    @abstractmethod
    def connect(self) -> Any:
        """Return a new connection that does not commit by itself."""

    @abstractmethod
    def commit_each_statement(self, connection: Any) -> None:
        """Let a connection commit every statement by itself."""

    @abstractmethod
    def is_passing(self, error: BaseException) -> bool:
        """Tell whether an error may be gone at the next attempt: no connection, a deadlock."""

    @property
    @abstractmethod
    def error(self) -> type[BaseException]:
        """Return the base class of the driver's errors."""

    def statement(self, sql: str) -> str:
        """Return a statement with the driver's placeholders."""
        return translate(sql, self.placeholder)


class _MySql(Dialect):
    def __init__(self, options: JdbcConnectionOptions) -> None:
        super().__init__(options)
        self._driver = _import("pymysql", "mysql")

    def connect(self) -> Any:
        address = self.address
        secure = address.options.get("useSSL") == "true" or address.options.get("sslMode") in (
            "REQUIRED",
            "VERIFY_CA",
            "VERIFY_IDENTITY",
        )
        return self._driver.connect(
            host=address.host,
            port=address.port,
            user=self.options.get_user_name(),
            password=self.options.get_password() or "",
            database=address.database or None,
            charset="utf8mb4",
            autocommit=False,
            connect_timeout=_CONNECT_SECONDS,
            **({"ssl": {"check_hostname": False}} if secure else {}),
        )

    def commit_each_statement(self, connection: Any) -> None:
        connection.autocommit(True)

    def is_passing(self, error: BaseException) -> bool:
        code = error.args[0] if error.args else None
        # Not reached, gone away, lost, shut down; lock waited for too long, deadlock; XA rollback.
        gone = (0, 1053, 1205, 1213, 1927, 2002, 2003, 2006, 2013, 2014, 2055)
        return isinstance(error, self._driver.err.InterfaceError) or code in gone

    @property
    def error(self) -> type[BaseException]:
        kind: type[BaseException] = self._driver.err.Error
        return kind


class _Postgres(Dialect):
    def __init__(self, options: JdbcConnectionOptions) -> None:
        super().__init__(options)
        self._driver = _import("psycopg", "postgres")

    def connect(self) -> Any:
        address = self.address
        extra = {}
        if "sslmode" in address.options:
            extra["sslmode"] = address.options["sslmode"]
        if "currentSchema" in address.options:
            extra["options"] = f"-c search_path={address.options['currentSchema']}"
        return self._driver.connect(
            host=address.host,
            port=address.port,
            user=self.options.get_user_name(),
            password=self.options.get_password(),
            dbname=address.database or None,
            connect_timeout=_CONNECT_SECONDS,
            **extra,
        )

    def commit_each_statement(self, connection: Any) -> None:
        connection.autocommit = True

    def is_passing(self, error: BaseException) -> bool:
        state = getattr(error, "sqlstate", None)
        if state is None:  # the connection itself
            refused = "authentication failed" in str(error) or "does not exist" in str(error)
            return isinstance(error, self._driver.OperationalError) and not refused
        # Connection exceptions, serialization failures and deadlocks, shutdown and start-up.
        return state.startswith(("08", "40", "57P"))

    @property
    def error(self) -> type[BaseException]:
        kind: type[BaseException] = self._driver.Error
        return kind


class _Sqlite(Dialect):
    placeholder = "?"
    for_update = ""
    begin = "BEGIN IMMEDIATE"
    key_type = "TEXT"

    def connect(self) -> Any:
        # Called by one thread at a time, but not always by the same.
        return sqlite3.connect(
            self.address.database, timeout=60, isolation_level=None, check_same_thread=False
        )

    def commit_each_statement(self, connection: Any) -> None:
        connection.isolation_level = None

    def is_passing(self, error: BaseException) -> bool:
        return "locked" in str(error) or "busy" in str(error)

    @property
    def error(self) -> type[BaseException]:
        return sqlite3.Error


_DIALECTS: dict[str, Callable[[JdbcConnectionOptions], Dialect]] = {
    "mysql": _MySql,
    "postgresql": _Postgres,
    "sqlite": _Sqlite,
}


def dialect_of(options: JdbcConnectionOptions) -> Dialect:
    """Return the dialect of a database.

    :raises ConfigurationError: if its driver is not installed.
    """
    return _DIALECTS[options.address.kind](options)


def _import(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"this database needs the package {module}",
            todo=f"install it: pip install 'penstock[{extra}]'",
        ) from None


def translate(sql: str, placeholder: str) -> str:
    """Return a statement with other placeholders; what is quoted or a comment stays.

    >>> translate("INSERT INTO t VALUES (?, 'really?') -- ?", "%s")
    "INSERT INTO t VALUES (%s, 'really?') -- ?"
    >>> translate("SELECT 5 % 2, ?", "%s")
    'SELECT 5 %% 2, %s'
    """
    if placeholder == "?":
        return sql
    parts = []
    for text, is_code in _pieces(sql):
        text = text.replace("%", "%%")
        parts.append(text.replace("?", placeholder) if is_code else text)
    return "".join(parts)


def count_placeholders(sql: str) -> int:
    """Return how many values a statement takes.

    >>> count_placeholders("UPDATE t SET a = ?, b = '?' WHERE c = ?")
    2
    """
    return sum(text.count("?") for text, is_code in _pieces(sql) if is_code)


def _pieces(sql: str) -> list[tuple[str, bool]]:
    """Cut a statement into code and what is no code: strings, names in quotes, comments."""
    pieces: list[tuple[str, bool]] = []
    start = at = 0
    ends = {"'": "'", '"': '"', "`": "`", "--": "\n", "/*": "*/"}
    while at < len(sql):
        opening = next((mark for mark in ends if sql.startswith(mark, at)), None)
        if opening is None:
            at += 1
            continue
        closing = sql.find(ends[opening], at + len(opening))
        end = len(sql) if closing < 0 else closing + len(ends[opening])
        pieces += [(sql[start:at], True), (sql[at:end], False)]
        start = at = end
    return [*pieces, (sql[start:], True)]
