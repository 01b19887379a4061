"""How workers ended, noted by the process that they are children of.

Loaded by that process, which does little else: so it loads nothing.
"""

from __future__ import annotations

import contextlib
import os

#: Names the folder of the notes, in the environment of daemon and workers.
VARIABLE = "PENSTOCK_NOTES"
#: Behind the number of a worker, the name of the file that holds its status.
END = ".end"
#: The same, of the file for the stack of a crash.
STACK = ".stack"


def note_ends() -> None:
    """Note how children of this process have ended, unless they ended well.

    For its handler of SIGCHLD.
    """
    folder = os.environ.get(VARIABLE)
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if folder is None:
            continue
        if status == 0:
            for name in (str(pid), f"{pid}{STACK}"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{folder}/{name}")
        else:
            with contextlib.suppress(OSError), open(f"{folder}/{pid}{END}", "w") as file:
                file.write(str(status))
