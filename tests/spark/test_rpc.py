"""Calls to the coordinator: results, errors, secrets, and what happens when nobody answers."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import JobFailedError, SourceError
from penstock.execution import process_folder
from penstock.spark import rpc


def fail() -> None:
    raise SourceError("the file is gone", where="source 'lines'")


@pytest.fixture
def seen() -> list[BaseException]:
    return []


@pytest.fixture
def server(seen: list[BaseException]) -> Iterator[rpc.RpcServer]:
    methods: dict[str, Any] = {"double": lambda n: 2 * n, "fail": fail}
    server = rpc.RpcServer(methods, on_error=seen.append)
    yield server
    server.close()


def test_calls_from_several_threads(server: rpc.RpcServer) -> None:
    assert rpc.call(server.address, "double", 21) == 42
    assert rpc.call(server.address, "double", "ab") == "abab"
    large = b"x" * 3_000_000
    assert rpc.call(server.address, "double", large) == large * 2


def test_an_error_is_handed_over_and_told(server: rpc.RpcServer, seen: list[BaseException]) -> None:
    with pytest.raises(JobFailedError) as caught:
        rpc.call(server.address, "fail")
    assert str(caught.value) == (
        "the coordinator failed: SourceError: the file is gone\n  where: source 'lines'"
    )
    assert [type(error) for error in seen] == [SourceError]
    assert rpc.call(server.address, "double", 1) == 2


def test_a_wrong_secret_is_refused(server: rpc.RpcServer) -> None:
    stranger = dataclasses.replace(server.address, secret="00" * 16)
    with pytest.raises(JobFailedError, match="cannot be reached"):
        rpc.call(stranger, "double", 1)
    assert rpc.call(server.address, "double", 1) == 2


def test_a_closed_server_is_noticed_at_once(server: rpc.RpcServer) -> None:
    address = server.address
    assert rpc.call(address, "double", 1) == 2
    server.close()
    with pytest.raises(JobFailedError, match="the process that started the job cannot be reached"):
        rpc.call(address, "double", 1)


def test_a_server_leaves_no_thread_behind(server: rpc.RpcServer) -> None:
    assert rpc.call(server.address, "double", 1) == 2
    own = [t for t in threading.enumerate() if t.name.startswith("penstock-rpc")]
    assert len(own) >= 2
    server.close()
    server.close()
    for thread in own:
        thread.join(timeout=5)
    assert not any(thread.is_alive() for thread in own)


def test_a_server_closes_while_callers_come() -> None:
    """The acceptor may be anywhere in its loop when the server is closed under it."""
    for _ in range(300):
        server = rpc.RpcServer({"double": lambda n: 2 * n}, on_error=print)
        assert rpc.call(server.address, "double", 1) == 2
        server.close()


def test_an_acceptor_that_has_gone_already_is_not_waited_for(server: rpc.RpcServer) -> None:
    server._closed = True
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(server.address.place)
        server._acceptor.join(timeout=5)
    assert not server._acceptor.is_alive()
    server._closed = False
    server.close()


def test_a_silent_caller_keeps_nobody_waiting(server: rpc.RpcServer) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(server.address.place)
        assert rpc.call(server.address, "double", 4) == 8
        server.close()


def test_an_answer_that_does_not_come(
    seen: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "TIMEOUT_SECONDS", 0.2)
    released = threading.Event()
    server = rpc.RpcServer({"wait": released.wait}, on_error=seen.append)
    with pytest.raises(JobFailedError, match="TimeoutError: no answer"):
        rpc.call(server.address, "wait")
    released.set()
    server.close()


def test_an_address_travels_as_options(server: rpc.RpcServer) -> None:
    assert rpc.Address.from_options(server.address.options()) == server.address
    # Spark does not show the values of options that are named like this.
    assert any("secret" in name.lower() for name in server.address.options())


def test_a_temporary_folder_with_a_long_name(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("long" * 30)
    monkeypatch.setattr(process_folder.tempfile, "tempdir", str(folder))
    monkeypatch.setattr(process_folder, "_folder", None)
    server = rpc.RpcServer({"double": lambda n: 2 * n}, on_error=print)
    assert server.address.place.startswith("127.0.0.1:")
    assert rpc.call(server.address, "double", 4) == 8
    server.close()
