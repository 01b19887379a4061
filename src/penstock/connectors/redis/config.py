"""Where a Redis server is: names of the connector for Flink in Java."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.errors import ConfigurationError


def library() -> Any:
    """Return the client library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        return importlib.import_module("redis")
    except ImportError:
        raise ConfigurationError(
            "the Redis connector needs the package redis",
            todo="install it: pip install 'penstock[redis]'",
        ) from None


class FlinkJedisPoolConfig:
    """A server, and who asks. Use `FlinkJedisPoolConfig.Builder()`.

    >>> FlinkJedisPoolConfig.Builder().set_host("localhost").set_port(6379).build()
    FlinkJedisPoolConfig(localhost:6379, database 0)
    """

    def __init__(
        self, host: str, port: int, database: int, password: str | None, timeout: int, ssl: bool
    ) -> None:
        self._host = host
        self._port = port
        self._database = database
        self._password = password
        self._timeout = timeout
        self._ssl = ssl

    def get_host(self) -> str:
        """Return the server's name."""
        return self._host

    def get_port(self) -> int:
        """Return the server's port."""
        return self._port

    def get_database(self) -> int:
        """Return the number of the database."""
        return self._database

    def connect(self) -> Any:
        """Return a client, which connects when it is used first."""
        return library().Redis(
            host=self._host,
            port=self._port,
            db=self._database,
            password=self._password,
            ssl=self._ssl,
            socket_connect_timeout=self._timeout / 1000,
        )

    def __repr__(self) -> str:
        # Never with the password: this may stand in a log.
        return f"FlinkJedisPoolConfig({self._host}:{self._port}, database {self._database})"

    class Builder:
        """Build a `FlinkJedisPoolConfig`."""

        def __init__(self) -> None:
            self._host: str | None = None
            self._port = 6379
            self._database = 0
            self._password: str | None = None
            self._timeout = 2000
            self._ssl = False

        def set_host(self, host: str) -> FlinkJedisPoolConfig.Builder:
            """Set the server's name."""
            self._host = host
            return self

        def set_port(self, port: int) -> FlinkJedisPoolConfig.Builder:
            """Set the server's port. Default: 6379."""
            self._port = port
            return self

        def set_database(self, database: int) -> FlinkJedisPoolConfig.Builder:
            """Set the number of the database. Default: 0."""
            self._database = database
            return self

        def set_password(self, password: str) -> FlinkJedisPoolConfig.Builder:
            """Set the password."""
            self._password = password
            return self

        def set_timeout(self, timeout: int) -> FlinkJedisPoolConfig.Builder:
            """Set how long connecting may take, in milliseconds. Default: 2000."""
            self._timeout = timeout
            return self

        def set_use_ssl(self, use_ssl: bool) -> FlinkJedisPoolConfig.Builder:
            """Encrypt the connection. Default: no."""
            self._ssl = use_ssl
            return self

        def set_max_total(self, max_total: int) -> FlinkJedisPoolConfig.Builder:
            """Accept the size of a pool, which is not needed: one connection publishes."""
            return self

        def set_max_idle(self, max_idle: int) -> FlinkJedisPoolConfig.Builder:
            """Accept a bound of a pool, which is not needed."""
            return self

        def set_min_idle(self, min_idle: int) -> FlinkJedisPoolConfig.Builder:
            """Accept a bound of a pool, which is not needed."""
            return self

        def build(self) -> FlinkJedisPoolConfig:
            """Return the settings.

            :raises ConfigurationError: if the server's name is missing.
            """
            if self._host is None:
                raise ConfigurationError(
                    "the server's name is missing",
                    where="FlinkJedisPoolConfig.Builder",
                    todo="call set_host()",
                )
            return FlinkJedisPoolConfig(
                self._host, self._port, self._database, self._password, self._timeout, self._ssl
            )
