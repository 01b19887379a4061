"""What sources and sinks find out before the engine is started."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from penstock.common.serialization import Encoder
from penstock.common.time import Duration
from penstock.connectors import tcp
from penstock.connectors.file_sink import FileSink
from penstock.connectors.file_source.source import FileSource
from penstock.connectors.file_source.stream_format import StreamFormat
from penstock.connectors.socket import SocketSource
from penstock.connectors.text_sink import TextSink
from penstock.core.io import CheckContext
from penstock.errors import SinkError, SourceError

ALONE = CheckContext("lines", 1)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_port_that_nobody_listens_on(host: str) -> None:
    port = free_port()
    with pytest.raises(SourceError) as caught:
        SocketSource(host, port).check(ALONE)
    assert str(caught.value) == (
        f"cannot connect to {host}:{port}: connection refused\n"
        f"  to do: start a server first, for instance: nc -lk {port}"
    )


def test_a_server_that_may_come_later_is_waited_for() -> None:
    port = free_port()
    SocketSource("127.0.0.1", port, max_retry=1).check(ALONE)
    SocketSource("127.0.0.1", port, max_retry=-1).check(ALONE)
    SocketSource("127.0.0.1", port).check(CheckContext("lines", 1, restarts=True))


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1"])
def test_a_server_does_not_notice_the_check(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listener:
        SocketSource("localhost", listener.getsockname()[1]).check(ALONE)
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_other_machines_and_unknown_kernels_are_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(host: str, port: int) -> socket.socket:
        raise AssertionError("the check has connected")

    monkeypatch.setattr(tcp, "connect", refuse)
    SocketSource("192.0.2.1", 9).check(ALONE)
    monkeypatch.setattr(tcp, "_TABLES", (tmp_path / "tcp",))
    SocketSource("localhost", free_port()).check(ALONE)


def lines_of(*paths: Path, watched: bool = False) -> FileSource:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths)
    return (builder.monitor_continuously(Duration.of_seconds(1)) if watched else builder).build()


@pytest.mark.parametrize("watched", [False, True])
def test_files_that_are_not_there(tmp_path: Path, watched: bool) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    lines_of(tmp_path, tmp_path / "a.txt", tmp_path / "*.txt", watched=watched).check(ALONE)
    with pytest.raises(SourceError) as caught:
        lines_of(tmp_path / "a.txt", tmp_path / "b.txt", watched=watched).check(ALONE)
    assert str(caught.value) == (
        "there is no such file or folder, and no file that matches it as a pattern\n"
        "  where: source 'lines'\n"
        f"  got:   {tmp_path / 'b.txt'}\n"
        "  to do: check the path; it must exist on this machine and on every worker"
    )


def test_a_pattern_without_files_may_be_watched(tmp_path: Path) -> None:
    lines_of(tmp_path / "*.csv", watched=True).check(ALONE)
    with pytest.raises(SourceError, match="no such file or folder"):
        lines_of(tmp_path / "*.csv").check(ALONE)


def file_sink(path: str) -> FileSink:
    return FileSink.for_row_format(path, Encoder.simple_string_encoder()).build()


def test_a_file_in_the_way_of_output(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for sink, path in (
        (file_sink(f"{tmp_path}/file/out"), f"{tmp_path}/file/out"),
        (file_sink(f"{tmp_path}/file"), f"{tmp_path}/file"),
        (TextSink(f"{tmp_path}/file/out.txt"), f"{tmp_path}/file/out.txt"),
    ):
        with pytest.raises(SinkError) as caught:
            sink.check(ALONE)
        assert str(caught.value) == (
            "the output cannot be written\n"
            "  where: sink 'lines'\n"
            f"  got:   {path}; {tmp_path}/file is no folder\n"
            "  to do: name a path that this user can write to"
        )


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for sink in (file_sink(f"{tmp_path}/out"), TextSink(f"{tmp_path}/out")):
        with pytest.raises(SinkError) as caught:
            sink.check(ALONE)
        assert caught.value.got == f"{tmp_path}/out; {tmp_path} is not writable"


def test_output_that_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "2").write_text("mine")
    sink = TextSink(str(tmp_path))
    with pytest.raises(SinkError, match="the output is there already"):
        sink.check(CheckContext("lines", 2))
    with pytest.raises(SinkError, match="the output is a folder"):
        sink.check(ALONE)
    TextSink(str(tmp_path), "OVERWRITE").check(CheckContext("lines", 2))
    assert (tmp_path / "2").read_text() == "mine"


def test_a_check_makes_nothing(tmp_path: Path) -> None:
    file_sink(f"{tmp_path}/a/b").check(ALONE)
    TextSink(f"{tmp_path}/c/d").check(CheckContext("lines", 2))
    file_sink("memory://somewhere/else").check(ALONE)
    assert list(tmp_path.iterdir()) == []
