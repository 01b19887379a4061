"""The Python that workers run, if the user names another one than the program's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from penstock.common.options import PYTHON_EXECUTABLE
from penstock.errors import ConfigurationError
from penstock.spark.worker_setup import ARCHIVE_FOLDER

_QUESTION = (
    "import sys, importlib.util as u\n"
    "print('%d.%d' % sys.version_info[:2],"
    " *(n for n in ('penstock', 'pyspark') if u.find_spec(n) is None))"
)


def find_interpreter(executable: str, folder: Path | None) -> str | None:
    """Return the path of an interpreter on this machine; None if it is not here.

    :param executable: a name, a path, or a path inside one of the job's archives.
    :param folder: the job's dependencies.
    """
    return _packed(executable, folder) or shutil.which(executable)


def worker_interpreter(executable: str, folder: Path | None, master: str) -> str:
    """Return the interpreter to start workers with.

    :raises ConfigurationError: if it cannot be used.
    """
    if master.startswith("local"):
        return _checked(executable, folder)
    if _packed(executable, folder) is not None:
        # Spark starts the reader of a stream here, with the interpreter of its workers.
        raise _refused(
            "an interpreter inside an archive can be used on this machine only",
            f"{executable} with the master {master}",
            todo="install it at the same place on every machine and name its path",
        )
    return executable


def check_interpreter(executable: str, folder: Path | None, master: str) -> None:
    """Look whether the interpreter is there, if it is this machine that needs it.

    :raises ConfigurationError: if it is not.
    """
    if master.startswith("local"):
        _found(executable, folder)


def _packed(executable: str, folder: Path | None) -> str | None:
    if folder is None or os.path.isabs(executable):
        return None
    path = folder / ARCHIVE_FOLDER / executable
    return str(path) if path.is_file() else None


def _found(executable: str, folder: Path | None) -> str:
    path = find_interpreter(executable, folder)
    if path is None:
        raise _refused("the interpreter for the workers was not found", executable)
    return path


def _checked(executable: str, folder: Path | None) -> str:
    path = _found(executable, folder)
    try:
        done = subprocess.run([path, "-c", _QUESTION], capture_output=True, text=True, timeout=60)
        version, *missing = done.stdout.split()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise _refused("the interpreter for the workers does not run", path) from None
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version != own:
        raise _refused(
            "the workers need the same version of Python as the program",
            f"{path} is Python {version}; the program runs on {own}",
        )
    if missing:
        raise _refused(
            f"the interpreter for the workers lacks {' and '.join(missing)}",
            path,
            todo="install penstock into its environment",
        )
    return path


def _refused(what: str, got: str, todo: str = "name another interpreter") -> ConfigurationError:
    return ConfigurationError(
        what, where=f"configuration key {PYTHON_EXECUTABLE.key}", got=got, todo=todo
    )
