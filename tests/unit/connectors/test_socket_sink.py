from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.connectors import socket_sink
from penstock.connectors.socket_sink import SocketSink
from penstock.errors import SinkError
from tests.unit.connectors.driver import committer_of, written


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        yield listener


def sink_for(listener: socket.socket, max_retry: int = 0) -> SocketSink:
    port = listener.getsockname()[1]
    return SocketSink("127.0.0.1", port, lambda value: f"{value}\n", max_retry)


def all_of(connection: socket.socket) -> bytes:
    with connection, connection.makefile("rb") as file:
        return file.read()


def test_records_are_sent_by_batch_and_once(listener: socket.socket, tmp_path: Path) -> None:
    sink = sink_for(listener)
    committer = committer_of(sink, tmp_path, parallelism=2)
    connection, _ = listener.accept()
    parts = [written(sink, values, subtask=i) for i, values in ((1, ["c"]), (0, ["a", "b"]))]
    committer.commit(0, [c for part in parts for c in part])
    committer.commit(0, [c for part in parts for c in part])
    committer.commit(1, written(sink, ["größe"]))
    committer.close()
    assert all_of(connection).decode() == "a\nb\nc\ngröße\n"


def test_bytes_are_sent_as_they_are(listener: socket.socket, tmp_path: Path) -> None:
    port = listener.getsockname()[1]
    sink = SocketSink("127.0.0.1", port, lambda value: bytes([value]))
    committer = committer_of(sink, tmp_path)
    connection, _ = listener.accept()
    committer.commit(0, written(sink, [1, 2]))
    committer.close()
    assert all_of(connection) == b"\x01\x02"


def test_nobody_listens(listener: socket.socket, tmp_path: Path) -> None:
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(SinkError) as caught:
        committer_of(SocketSink("127.0.0.1", port), tmp_path)
    assert str(caught.value) == (
        f"cannot connect to 127.0.0.1:{port}: connection refused\n"
        f"  to do: start a server first, for instance: nc -lk {port}"
    )


def test_a_server_that_hung_up_is_called_again(listener: socket.socket, tmp_path: Path) -> None:
    sink = sink_for(listener)
    committer = committer_of(sink, tmp_path)
    first, _ = listener.accept()
    committer.commit(0, written(sink, ["a"]))
    assert first.recv(10) == b"a\n"
    first.close()
    committer.commit(1, written(sink, ["b"]))
    second, _ = listener.accept()
    committer.close()
    assert all_of(second) == b"b\n"


def test_retries_run_out(
    listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_sink, "_RETRY_SECONDS", 0.01)
    sink = sink_for(listener, max_retry=2)
    committer = committer_of(sink, tmp_path)
    connection, _ = listener.accept()
    connection.close()
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(SinkError) as caught:
        committer.commit(0, written(sink, ["a"]))
    assert caught.value.what == f"cannot connect to 127.0.0.1:{port}: connection refused"


def test_an_interrupted_batch_is_sent_again(listener: socket.socket, tmp_path: Path) -> None:
    sink = sink_for(listener)
    first = committer_of(sink, tmp_path)
    connection, _ = listener.accept()
    first.commit(0, written(sink, ["a"]))
    first._send(b"b\n")  # type: ignore[attr-defined] # and the process dies
    first.close()
    assert all_of(connection) == b"a\nb\n"
    second = committer_of(sink, tmp_path, restored=True)
    connection, _ = listener.accept()
    for batch, value in enumerate("abc"):
        second.commit(batch, written(sink, [value]))
    second.close()
    assert all_of(connection) == b"b\nc\n"
