"""Jobs that cannot work, and whether Spark was started for them."""

import socket
import sys
import threading
from pathlib import Path

from pyspark import SparkContext

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError

folder = Path(sys.argv[1])
(folder / "file").write_text("")


def environment(**settings):
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    return env


def port(env):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    env.socket_text_stream("localhost", free).print()


def file(env):
    env.read_text_file(str(folder / "missing.txt")).print()


def output(env):
    env.from_collection([1]).write_as_text(str(folder / "file" / "out"))


def function(env):
    lock = threading.Lock()
    env.from_collection([1]).map(lambda value: (lock, value)).print()


def numbers(env):
    env.from_collection([1]).print()


JOBS = [
    (port, {}),
    (file, {}),
    (output, {}),
    (function, {}),
    (numbers, {"python.executable": "/no/such/python"}),
    (numbers, {"execution.checkpointing.dir": str(folder / "file" / "checkpoints")}),
    (numbers, {"restart-strategy.type": "sometimes"}),
]

for build, settings in JOBS:
    try:
        env = environment(**settings)
        build(env)
        env.execute()
    except PenstockError as error:
        print(build.__name__, type(error).__name__, error.what, sep=": ")
print("JVM:", SparkContext._gateway)
