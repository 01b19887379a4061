"""The port at which Spark's JVM calls the program: it answers the JVM and nobody else."""

from __future__ import annotations

import socket
from typing import Any

from pyspark.sql import SparkSession

from penstock.datastream import SourceFunction, StreamExecutionEnvironment


class Waiting(SourceFunction[int]):
    """Send a number, then another when it is cancelled."""

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        number = 0
        while self.running:
            ctx.collect(number)
            number += 1

    def cancel(self) -> None:
        self.running = False


def test_a_stranger_is_not_answered(env: StreamExecutionEnvironment, session: SparkSession) -> None:
    with env.add_source(Waiting()).execute_and_collect("waiting") as results:
        assert next(results) == 0
        gateway: Any = session.sparkContext._gateway
        port = gateway._callback_server.server_socket.getsockname()[1]
        for number in range(20):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
                stranger.sendall(f"c\np{number}\ncall\nn\ni7\ne\n".encode())
                try:
                    answer = stranger.recv(1000)
                except ConnectionResetError:
                    answer = b""
            assert b"!y" not in answer
            assert b"Object ID unknown" not in answer
        for number in range(1, 50_000):
            assert next(results) == number
