"""Find a Java that Spark can run on, before anything of the JVM is started."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import JavaNotFoundError

OLDEST = 17
_REMEDY = (
    f"install a Java runtime, version {OLDEST} or newer (Debian and Ubuntu: "
    f"apt-get install openjdk-{OLDEST}-jre-headless), or set JAVA_HOME to one"
)


def check_java(environ: Mapping[str, str] | None = None) -> str:
    """Return the path of the `java` that Spark will use.

    :param environ: environment variables; those of the process if left out.
    :raises JavaNotFoundError: if there is none, or only one that is too old.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java", path=_path(environ))
    if java is None or not os.access(java, os.X_OK):
        raise JavaNotFoundError(
            "Spark needs Java, and none was found",
            where=f"JAVA_HOME={home}" if home else "JAVA_HOME is not set, no java on the PATH",
            todo=_REMEDY,
        )
    version = _version(java)
    if version < OLDEST:
        raise JavaNotFoundError(
            f"Spark needs Java {OLDEST} or newer",
            where=java,
            got=f"Java {version}" if version else "a program that does not tell its version",
            todo=_REMEDY,
        )
    return java


def _path(environ: Mapping[str, str]) -> str:
    # An empty PATH must find nothing; None would mean the PATH of this process.
    return environ.get("PATH", "")


def _version(java: str) -> int:
    """Return the major version, 0 if it cannot be found out."""
    release = Path(os.path.realpath(java)).parent.parent / "release"
    try:
        # Nearly every distribution has this file, and reading it is faster than starting a JVM.
        text = release.read_text(encoding="utf-8")
    except OSError:
        text = _ask(java)
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else 0


def _ask(java: str) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout
