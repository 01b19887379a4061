"""Start the nursery beside Spark's JVM: see `nursery`."""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from penstock.execution.process_folder import forget_own, keep_from_forks
from penstock.spark import nursery_client

#: Paths of Unix sockets are limited to about 100 bytes.
_LONGEST_PATH = 100
#: An argument that makes room for the names of what the nursery's forks become.
_ROOM = " " * 400
_PATIENCE_SECONDS = 5.0
#: A process that forks may have one thread only. numpy would start one for each core (Spark gives
#: its workers one as well), and pyarrow's allocator one that cleans up.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}


class StartedNursery:
    """A nursery that runs until this process ends, or `end` is called."""

    def __init__(self, interpreter: Path, process: subprocess.Popen[bytes]) -> None:
        #: What Spark is to take for the interpreter of this program.
        self.interpreter = str(interpreter)
        self._process = process
        self._owner = os.getpid()
        assert process.stdin is not None
        keep_from_forks(process.stdin.fileno())  # it ends when that is closed
        atexit.register(self.end)

    def end(self) -> None:
        """End the nursery. What it has forked goes on."""
        atexit.unregister(self.end)
        if os.getpid() != self._owner:
            return
        assert self._process.stdin is not None
        forget_own(self._process.stdin.fileno())
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()


def start_nursery(
    folder: Path, output: IO[bytes], environ: Mapping[str, str]
) -> StartedNursery | None:
    """Start the nursery.

    None where there can be none: forks of a process that has loaded much are safe on Linux only.

    :param output: where its output goes, and that of its forks until they are told otherwise.
    """
    place = folder / "nursery"
    if sys.platform != "linux" or len(os.fsencode(place)) > _LONGEST_PATH:
        return None
    interpreter = folder / "python"
    client = [sys.executable, "-I", "-S", nursery_client.__file__, str(place), sys.executable]
    interpreter.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n')
    interpreter.chmod(0o700)
    # Made here: a client that comes before the nursery has begun to listen must wait for it.
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen(64)
    number = listener.fileno()
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.spark.nursery", str(number), _ROOM],
        env={**_ONE_THREAD, **environ},
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        pass_fds=(number,),
    )
    listener.close()
    return StartedNursery(interpreter, process)
