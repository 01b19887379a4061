"""URLs of databases, in the form that Java programs use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from penstock.errors import ConfigurationError

_PORTS = {"mysql": 3306, "mariadb": 3306, "postgresql": 5432}
_SERVER = re.compile(r"jdbc:(\w+)://([^/:?]*)(?::(\d+))?(?:/([^?]*))?(?:\?(.*))?")
_FILE = re.compile(r"jdbc:sqlite:([^?]+)(?:\?(.*))?")


@dataclass(frozen=True)
class DatabaseAddress:
    """A database.

    >>> DatabaseAddress.parse("jdbc:postgresql://db/shop").port
    5432
    """

    #: `mysql`, `postgresql` or `sqlite`.
    kind: str
    host: str
    port: int
    #: The name of the database; for SQLite the file.
    database: str
    options: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, url: str) -> DatabaseAddress:
        """Return what a URL says.

        :raises ConfigurationError: if it is of no known kind.
        """
        file = _FILE.fullmatch(url)
        if file is not None:
            return cls("sqlite", "", 0, file.group(1), dict(parse_qsl(file.group(2) or "")))
        server = _SERVER.fullmatch(url)
        if server is None or server.group(1) not in _PORTS:
            # Without what stands behind the question mark: a password may.
            raise ConfigurationError(
                "the database's URL is of no known kind",
                got=repr(url.partition("?")[0]),
                todo="write jdbc:mysql://host:port/database, jdbc:mariadb://..., "
                "jdbc:postgresql://... or jdbc:sqlite:file",
            )
        name, host, port, database, options = server.groups()
        kind = "mysql" if name == "mariadb" else name
        return cls(
            kind,
            host or "localhost",
            int(port or _PORTS[name]),
            unquote(database or ""),
            dict(parse_qsl(options or "")),
        )

    def shown(self) -> str:
        """Return the address without options, for messages."""
        if self.kind == "sqlite":
            return f"jdbc:sqlite:{self.database}"
        return f"jdbc:{self.kind}://{self.host}:{self.port}/{self.database}"
