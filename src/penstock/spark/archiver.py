"""Make an archive of classes, as a program of its own: see `class_archive`.

It is started with the place of this file and without the packages of the environment, so it may
import the standard library only.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys

#: After so long it has failed, whatever it is doing.
LONGEST_SECONDS = 1800.0


def main(java: str, folder: str, archive: str) -> None:
    """Make an archive unless somebody else is at it; either way remove the folder.

    :param folder: holds the arguments of the JVM, which writes to `archive` there.
    :param archive: where the finished one goes.
    """
    os.nice(19)
    try:
        with open(f"{archive}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.exists(archive):
                command = [java, f"@{folder}/arguments"]
                subprocess.run(command, check=True, timeout=LONGEST_SECONDS, cwd=folder)
                # The next program looks for it there: it must never see one that is half written.
                os.replace(f"{folder}/archive", archive)
            os.unlink(lock.name)
    except (OSError, subprocess.SubprocessError):
        pass  # the next program that ends tries again
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
