from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.connectors import socket as socket_connector
from penstock.connectors.receiver import ReceiverSettings
from penstock.connectors.socket import SocketSource
from penstock.core.io import ReadLimit
from penstock.errors import ConfigurationError, SourceError
from tests.unit.connectors.driver import SourceDriver


class Server:
    """A server on a free port, as `nc -lk` is one."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(5)
        self.port: int = self.listener.getsockname()[1]
        self.connection: socket.socket | None = None

    def accept(self) -> None:
        self.connection, _ = self.listener.accept()

    def send(self, data: bytes) -> None:
        assert self.connection is not None
        self.connection.sendall(data)

    def hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def close(self) -> None:
        self.hang_up()
        self.listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def driver_for(server: Server, directory: Path, **options: object) -> SourceDriver:
    source = SocketSource("127.0.0.1", server.port, **options)  # type: ignore[arg-type]
    driver = SourceDriver(source, directory)
    server.accept()
    return driver


def test_lines_until_the_server_hangs_up(server: Server, tmp_path: Path) -> None:
    driver = driver_for(server, tmp_path)
    server.send("to be\r\nor nöt\n\nto ".encode())
    driver.run(until=lambda: len(driver.values()) == 3)
    assert not driver.position["done"]
    server.send(b"be\nthat is")
    server.hang_up()
    driver.run()
    assert driver.values() == ["to be", "or nöt", "", "to be", "that is"]
    driver.close()


def test_a_line_typed_after_a_pause_is_there_at_once(server: Server, tmp_path: Path) -> None:
    driver = driver_for(server, tmp_path)
    for line in ("a", "b", "c"):
        time.sleep(0.03)
        driver.news.clear()
        server.send(f"{line}\n".encode())
        assert driver.news.wait(1)
        assert driver.batch()
    assert driver.values() == ["a", "b", "c"]
    driver.close()


def test_another_delimiter_and_characters_cut_in_two(server: Server, tmp_path: Path) -> None:
    driver = driver_for(server, tmp_path, delimiter="||")
    for byte in "één||\r\n||東||x".encode():
        server.send(bytes([byte]))
    server.hang_up()
    driver.run()
    assert driver.values() == ["één", "\r\n", "東", "x"]
    driver.close()


def test_many_lines_are_cut_into_batches_and_read_again_the_same(
    server: Server, tmp_path: Path
) -> None:
    driver = driver_for(server, tmp_path)
    initial = driver.position
    lines = [str(number) for number in range(20_000)]
    server.send("\n".join(lines).encode())
    server.hang_up()
    driver.run(ReadLimit(777, 1 << 20))
    assert driver.values() == lines
    again = [v for batch in driver.read(initial, driver.position)[0] for v in batch.values]
    assert again == lines
    driver.close()


def test_a_restart_goes_on_behind_what_was_logged(server: Server, tmp_path: Path) -> None:
    first = driver_for(server, tmp_path)
    server.send(b"a\nb\nc\n")
    first.run(ReadLimit(1, 1 << 20), until=lambda: len(first.values()) == 1)
    first.close()
    source = SocketSource("127.0.0.1", server.port)
    second = SourceDriver(source, tmp_path, restored=first.position)
    server.accept()
    server.send(b"d\n")
    server.hang_up()
    second.run()
    assert first.values() + second.values() == ["a", "b", "c", "d"]
    second.close()
    # The stream has ended: nobody connects any more.
    third = SourceDriver(source, tmp_path, restored=first.position)
    third.run()
    assert third.values() == second.values()
    third.close()


def test_nobody_listens(tmp_path: Path) -> None:
    port = free_port()
    driver = SourceDriver(SocketSource("127.0.0.1", port), tmp_path)
    assert driver.failed.wait(5)
    assert isinstance(driver.failure, SourceError)
    assert str(driver.failure) == (
        f"cannot connect to 127.0.0.1:{port}: connection refused\n"
        f"  to do: start a server first, for instance: nc -lk {port}"
    )
    driver.close()


def test_an_unknown_host(tmp_path: Path) -> None:
    driver = SourceDriver(SocketSource("no-such-host.invalid", 9999), tmp_path)
    assert driver.failed.wait(20)
    assert re.match(r"cannot connect to no-such-host.invalid:9999: \w", str(driver.failure))
    driver.close()


def test_retries_wait_for_a_server_and_outlive_a_hang_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_connector, "RETRY_SECONDS", 0.02)
    port = free_port()
    driver = SourceDriver(SocketSource("127.0.0.1", port, max_retry=-1), tmp_path)
    time.sleep(0.1)
    with socket.create_server(("127.0.0.1", port)) as listener:
        listener.settimeout(5)
        for data in (b"a\nb", b"c\nd\n"):
            connection, _ = listener.accept()
            with connection:
                connection.sendall(data)
        driver.run(until=lambda: len(driver.values()) == 3)
    assert driver.values() == ["a", "bc", "d"]
    assert driver.failure is None
    driver.close()


def test_retries_run_out(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_connector, "RETRY_SECONDS", 0.02)
    driver = driver_for(server, tmp_path, max_retry=2)
    server.close()
    assert driver.failed.wait(5)
    assert str(driver.failure).startswith(f"cannot connect to 127.0.0.1:{server.port}: ")
    driver.close()


def test_closing_wakes_up_a_receiver_that_waits(server: Server, tmp_path: Path) -> None:
    driver = driver_for(server, tmp_path)
    began = time.monotonic()
    driver.close()
    assert time.monotonic() - began < 1
    assert driver.failure is None
    assert not driver.position["done"]


def test_the_server_has_to_wait_while_nobody_reads(server: Server, tmp_path: Path) -> None:
    settings = ReceiverSettings(max_unread=100)
    driver = driver_for(server, tmp_path, settings=settings)
    assert server.connection is not None
    server.connection.settimeout(0.3)
    # More than the buffers of both ends hold, and much more than may be unread.
    with pytest.raises(TimeoutError):
        server.connection.sendall((b"x" * 99 + b"\n") * 1_000_000)
    taken = sum(path.stat().st_size for path in tmp_path.rglob("*.log"))
    assert taken < 1_000_000
    driver.close()


@pytest.mark.parametrize(
    ("options", "name"), [({"delimiter": ""}, "delimiter"), ({"max_retry": -2}, "max_retry")]
)
def test_settings_that_cannot_work(options: dict[str, object], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"cannot work with this {name}"):
        SocketSource("localhost", 9999, **options)  # type: ignore[arg-type]


def test_threads_are_gone_after_closing(server: Server, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    driver = driver_for(server, tmp_path)
    server.send(b"a\n")
    driver.run(until=lambda: driver.values() == ["a"])
    driver.close()
    deadline = time.monotonic() + 2
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()
