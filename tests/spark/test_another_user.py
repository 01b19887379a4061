"""What another user of the machine can see of a job and do to it: nothing.

A child of the test becomes another user, which only root may. Who is not root looks with the eyes
of its own user at the modes of files instead.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.spark.conftest import RunProgram
from tests.spark.programs.secretive import SECRET

PROGRAM = Path(__file__).parent / "programs" / "secretive.py"
NOBODY = 65534
#: What a stranger may say at a port: to py4j (end, call), over HTTP, and nonsense.
GREETINGS = (
    b"q\ns\ne\n",
    b"c\np0\ncall\nn\ni7\ne\n",
    b"GET /environment/ HTTP/1.0\r\n\r\n",
    b"\0\1x",
)


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder for temporary files that all users may enter, as /tmp is."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def as_nobody(look: Callable[[], list[str]]) -> list[str]:
    """Return what another user finds."""
    if os.geteuid() != 0:
        return look()
    # Loaded by the first connection; the other user may not be able to read it.
    importlib.import_module("encodings.idna")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, json.dumps(look()).encode())
        except BaseException as error:
            os.write(writing, json.dumps([repr(error)]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        found: list[str] = json.loads(file.read())
    os.waitpid(child, 0)
    return found


def can_read(path: str) -> bool:
    if os.geteuid() != NOBODY:
        mode = os.stat(path).st_mode
        above = [os.stat(str(folder)).st_mode for folder in Path(path).parents]
        return bool(mode & stat.S_IROTH) and all(each & stat.S_IXOTH for each in above)
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


def can_connect(path: str) -> bool:
    if os.geteuid() != NOBODY:
        return can_read(path)
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
        return True


def shows_the_secret(pid: int) -> bool:
    try:
        return SECRET.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def talk(port: int) -> bool:
    """Say all that a stranger may say; tell whether the answer has the secret."""
    heard = b""
    for greeting in GREETINGS:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(greeting)
                connection.shutdown(socket.SHUT_WR)
                while answer := connection.recv(1 << 16):
                    heard += answer
        except OSError:
            continue
    return SECRET.encode() in heard


@pytest.mark.timeout(240)
def test_another_user(run_program: RunProgram, open_folder: Path) -> None:
    with run_program(PROGRAM) as program:
        output: Any = program.process.stdout
        for number in range(3):
            assert output.readline() == f"{number}\n"
        processes = family(program.process.pid)
        ports = {
            connection.laddr.port
            for process in processes
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        files = [path for path in open_folder.rglob("*") if not path.is_dir()]
        sockets = [str(path) for path in files if path.is_socket()]
        plain = [str(path) for path in files if path.is_file()]
        assert sockets, "jobs are reached by sockets"
        assert any(SECRET.encode() in Path(path).read_bytes() for path in plain), (
            "the settings are in a file"
        )
        assert ports, "the JVM is called at a port"

        assert as_nobody(lambda: [path for path in plain if can_read(path)]) == []
        assert as_nobody(lambda: [path for path in sockets if can_connect(path)]) == []
        pids = [process.pid for process in processes]
        assert as_nobody(lambda: [str(pid) for pid in pids if shows_the_secret(pid)]) == []
        assert as_nobody(lambda: [str(port) for port in ports if talk(port)]) == []
        # And the job goes on.
        for number in range(3, 100):
            assert output.readline() == f"{number}\n"


def family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]
