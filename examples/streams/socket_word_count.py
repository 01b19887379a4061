"""Count words that come over a socket: the stream program that everybody begins with.

    nc -lk 7777
    examples/streams/socket_word_count.py --host localhost --port 7777

Without a port the program sends three lines to itself, and ends.
"""

import socket
import sys
import threading

from penstock.common import ParameterTool
from penstock.datastream import StreamExecutionEnvironment

LINES = "hello flink\nhello world\n\nhello penstock\n"


def send_lines():
    """Serve the lines to whoever connects first; return the port."""
    server = socket.create_server(("localhost", 0))

    def serve():
        connection, _ = server.accept()
        with server, connection:
            connection.sendall(LINES.encode())

    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1]


def main():
    parameters = ParameterTool.from_args(sys.argv[1:] if "--port" in sys.argv else [])
    host = parameters.get("host", "localhost")
    port = parameters.get_int("port", 0) or send_lines()

    env = StreamExecutionEnvironment.get_execution_environment()
    text = env.socket_text_stream(host, port)
    counts = (
        text.flat_map(lambda line: line.split())
        .filter(lambda word: word)
        .map(lambda word: (word, 1))
        .key_by(0)
        .sum(1)
    )
    counts.map(lambda pair: f"{pair[0]} {pair[1]}").print().set_parallelism(1)
    env.execute("Socket stream word count")


if __name__ == "__main__":
    main()
