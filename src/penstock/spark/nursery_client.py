"""What Spark takes for a Python interpreter: it lets the nursery do the work, or becomes one.

It is started with the place of this file and without the packages of the environment, so that it
costs next to nothing; hence it imports the standard library only, and little of it.
"""

from __future__ import annotations

import array
import marshal
import os
import socket
import struct
import sys
from typing import Any, NoReturn

#: The answer to a request.
TAKEN, REFUSED = b"\x01", b"\x00"
#: Standard input, output and error.
FILES = 3
_LENGTH = struct.Struct(">I")


def send(connection: socket.socket, request: dict[str, Any]) -> None:
    """Send a request together with the standard files of this process."""
    data = marshal.dumps(request)
    files = array.array("i", range(FILES))
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
    connection.sendmsg([_LENGTH.pack(len(data))], rights)
    connection.sendall(data)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return a request and the files that came with it.

    :raises ValueError: if it is not whole.
    """
    room = socket.CMSG_SPACE(FILES * array.array("i").itemsize)
    head, rights, _, _ = connection.recvmsg(_LENGTH.size, room)
    files = array.array("i")
    for level, kind, data in rights:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    if len(head) < _LENGTH.size:
        raise ValueError("the client has gone")
    (length,) = _LENGTH.unpack(head)
    return marshal.loads(_exactly(connection, length)), list(files)


def _exactly(connection: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 16))
        if not part:
            raise ValueError("the client has gone")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def main(place: str, python: str, arguments: list[str]) -> NoReturn:
    """Let the nursery at a place do what an interpreter is asked for, and end as that ends."""
    if arguments[:1] == ["-m"]:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(place)
                request = {
                    "arguments": arguments,
                    "environ": dict(os.environ),
                    "folder": os.getcwd(),
                }
                send(connection, request)
                if connection.recv(1) == TAKEN:
                    _end_as(connection)
        except OSError:
            pass  # there is no nursery: this becomes a real interpreter
    os.execv(python, [python, *arguments])


def _end_as(connection: socket.socket) -> NoReturn:
    # They are the other process's now: whoever reads from it must see when it closes them.
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(FILES):
        os.dup2(nothing, number)
    try:
        status = connection.recv(4)
    except OSError:
        status = b""
    if len(status) < 4:
        os._exit(1)  # the nursery has gone; what it became is on its own
    code = os.waitstatus_to_exitcode(int.from_bytes(status, "big"))
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
