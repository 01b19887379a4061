"""The traces on Spark, typed line by line into a socket."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.datastream import DataStream
from tests.spark.conftest import MakeEnvironment
from tests.traces import TRACES, Trace

ECHO = "echo "
SECONDS = 60


class Keyboard:
    """A server to which a job connects, as it does to `nc -lk`."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(SECONDS)
        self.port: int = self._server.getsockname()[1]
        self._connection: socket.socket | None = None

    def type(self, line: str) -> None:
        """Send one line; wait for the job to connect before the first."""
        if self._connection is None:
            self._connection, _ = self._server.accept()
        self._connection.sendall(line.encode() + b"\n")

    def close(self) -> None:
        """End the input."""
        if self._connection is not None:
            self._connection.close()
        self._server.close()


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    made = Keyboard()
    try:
        yield made
    finally:
        made.close()


def play(trace: Trace, lines: DataStream, keys: Keyboard) -> list[tuple[str, list[str]]]:
    """Type the lines one by one; return each with the results that appeared because of it."""
    echo = lines.map(lambda line: ECHO + line)
    # One sink for both: when it shows a line, it shows what came of it too.
    shown = echo.union(trace.build(lines)).execute_and_collect("trace")
    arrived: queue.Queue[str] = queue.Queue()

    def collect() -> None:
        for each in shown:
            arrived.put(each)

    reader = threading.Thread(target=collect, daemon=True)
    reader.start()
    seen: list[tuple[str, list[str]]] = []
    for line, _ in trace.steps:
        keys.type(line)
        seen.append((line, results_of(line, arrived)))
    shown.close()
    reader.join(SECONDS)
    return seen


def results_of(line: str, arrived: queue.Queue[str]) -> list[str]:
    """Return what appears until the line is shown, and right behind it."""
    results: list[str] = []
    while (found := arrived.get(timeout=SECONDS)) != ECHO + line:
        results.append(found)
    while True:
        try:  # the rest of the same batch is there already, or nearly
            results.append(arrived.get(timeout=0.3))
        except queue.Empty:
            return sorted(results)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TRACES)
def test_typed_into_a_socket(name: str, make_env: MakeEnvironment) -> None:
    trace = TRACES[name]
    with keyboard() as keys:
        lines = make_env(parallelism=1).socket_text_stream("127.0.0.1", keys.port)
        seen = play(trace, lines, keys)
    assert seen == [(line, sorted(results)) for line, results in trace.steps]
