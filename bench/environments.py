"""The virtual environments of the peers: made on first use, from pinned requirements."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FOLDER = ROOT / "build" / "bench"

#: There are packages of the peers for these, best first.
PYTHONS = ("3.11", "3.12", "3.10")


class NoEnvironmentError(RuntimeError):
    """An environment cannot be made."""


def python_of(name: str) -> str:
    """Return the interpreter of an environment, which is made if it is not there yet.

    :param name: that of `requirements-<name>.txt`.
    """
    requirements = HERE / f"requirements-{name}.txt"
    target = FOLDER / name
    python = target / "bin" / "python"
    stamp = target / "installed.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        print(f"making an environment for {name} in {target.relative_to(ROOT)}", flush=True)
        shutil.rmtree(target, ignore_errors=True)
        _run([_base_python(), "-m", "venv", str(target)])
        _run([str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)])
        shutil.copy(requirements, stamp)
    return str(python)


def _base_python() -> str:
    if "{}.{}".format(*sys.version_info) in PYTHONS:
        return sys.executable
    for version in PYTHONS:
        found = shutil.which(f"python{version}")
        if found is not None:
            return found
    raise NoEnvironmentError(f"the peers need a Python of one of the versions {', '.join(PYTHONS)}")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["no output"]
        raise NoEnvironmentError(f"{' '.join(command[1:4])} failed: {lines[-1]}")
