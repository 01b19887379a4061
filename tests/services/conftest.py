"""Servers that the tests share: each is started by the first test that asks for it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tools.services import KINDS, Server, start

GetServer = Callable[[str], Server]


@pytest.fixture(scope="session")
def servers() -> Iterator[GetServer]:
    """Give the server of a name; one that does not start fails the test."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-services-"))
    # Servers that run as users of their own look into their folders below this one.
    folder.chmod(0o755)
    running: dict[str, Server] = {}

    def get(name: str) -> Server:
        if name not in running:
            running[name] = start(KINDS[name], folder / name, die_with_parent=True)
        return running[name].start(die_with_parent=True)

    yield get
    for server in running.values():
        server.kill()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def kafka(servers: GetServer) -> Server:
    return servers("kafka")


@pytest.fixture
def mariadb(servers: GetServer) -> Server:
    return servers("mariadb")


@pytest.fixture
def postgres(servers: GetServer) -> Server:
    return servers("postgres")


@pytest.fixture
def redis(servers: GetServer) -> Server:
    return servers("redis")


@pytest.fixture
def opensearch(servers: GetServer) -> Server:
    return servers("opensearch")


@pytest.fixture
def rabbitmq(servers: GetServer) -> Server:
    return servers("rabbitmq")


@pytest.fixture
def cassandra(servers: GetServer) -> Server:
    return servers("cassandra")


@pytest.fixture
def pulsar(servers: GetServer) -> Server:
    return servers("pulsar")
