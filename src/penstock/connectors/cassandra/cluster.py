"""Where a cluster of Cassandra is, and how statements are sent to it."""

from __future__ import annotations

import importlib
import logging
from enum import Enum
from typing import Any

from penstock.errors import ConfigurationError


def library(module: str = "cassandra") -> Any:
    """Return a module of the client library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            "the Cassandra connector needs the package cassandra-driver",
            todo="install it: pip install 'penstock[cassandra]'",
        ) from None
    # What it has to say is told by our own errors, unless the program has set up logging.
    logger = logging.getLogger("cassandra")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return found


class ConsistencyLevel(Enum):
    """How many replicas have to confirm a statement."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class ClusterBuilder:
    """A cluster, and who asks. Override `build_cluster` for more than this.

    :param host: one of its nodes.
    :param options: further arguments of the driver's `Cluster`.

    >>> ClusterBuilder("localhost", user_name="eve", password="s3cret")
    ClusterBuilder(localhost:9042)
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9042,
        user_name: str | None = None,
        password: str | None = None,
        **options: Any,
    ) -> None:
        self.host = host
        self.port = port
        self._user_name = user_name
        self._password = password
        self._options = options

    def build_cluster(self) -> Any:
        """Return a new `Cluster` of the driver."""
        account = None
        if self._user_name is not None:
            plain = library("cassandra.auth").PlainTextAuthProvider
            account = plain(self._user_name, self._password or "")
        return library("cassandra.cluster").Cluster(
            [self.host], self.port, auth_provider=account, **self._options
        )

    def __repr__(self) -> str:
        # Never with the password: this may stand in a log.
        return f"ClusterBuilder({self.host}:{self.port})"


class CassandraFailureHandler:
    """Decides what a statement that the cluster refuses means."""

    @staticmethod
    def default_failure_handler() -> CassandraFailureHandler:
        """Return the handler that lets every failure fail the job."""
        return CassandraFailureHandler()

    def on_failure(self, failure: Exception) -> None:
        """Raise an exception to fail the job; the record is left out otherwise."""
        raise failure
