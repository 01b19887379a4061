"""Where the servers' programs come from: the system's packages, and Maven's repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.services.server import ServiceError

_POLICY = Path("/usr/sbin/policy-rc.d")
#: A repository that packages name for parts of theirs which are not needed here; not every machine
#: reaches it. One of the same name in front of it takes its place.
_NOT_ASKED = (
    "<repository><id>confluent</id><url>file:///nowhere</url>"
    "<releases><enabled>false</enabled></releases>"
    "<snapshots><enabled>false</enabled></snapshots></repository>"
)


def cache() -> Path:
    """Return the folder that keeps what was fetched, from run to run."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "penstock-services"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def need(program: str, package: str, *folders: str) -> str:
    """Return the path of a program; install Debian's package if it is missing and root may.

    :param folders: where to look besides the path.
    """
    found = _find(program, folders)
    if found is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise ServiceError(f"no {program}: install for instance Debian's {package}")
        with _alone():
            if _find(program, folders) is None:
                _apt_install(package)
        found = _find(program, folders)
    if found is None:
        raise ServiceError(f"no {program}, although {package} is installed")
    return found


def _find(program: str, folders: tuple[str, ...]) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", *folders])
    return shutil.which(program, path=path)


def _apt_install(package: str) -> None:
    # The package would start a server of its own, on the usual port: keep it from that.
    made = not _POLICY.exists()
    if made:
        _POLICY.write_text("#!/bin/sh\nexit 101\n")
        _POLICY.chmod(0o755)
    try:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        _run(["apt-get", "update", "-qq"], env=quiet)
        options = ["-y", "-qq", "--no-install-recommends"]
        _run(["apt-get", "install", *options, package], env=quiet)
    finally:
        if made:
            _POLICY.unlink(missing_ok=True)


def fetch_jars(name: str, *coordinates: str, without: tuple[str, ...] = ()) -> Path:
    """Return a folder with some Maven packages and all that they need; fetch them once.

    :param name: name of the folder in the cache; it changes with the version.
    :param coordinates: `group:artifact:version`.
    :param without: `group:artifact` that they name and that is not needed.
    """
    target = cache() / name
    with _alone():
        if not target.exists():
            maven = need("mvn", "maven")
            work = cache() / f"{name}.fetching"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            (work / "pom.xml").write_text(_pom(coordinates, without))
            goal = "dependency:copy-dependencies"
            _run([maven, "-q", "-B", goal, "-DoutputDirectory=lib"], cwd=work)
            (work / "lib").rename(target)
            shutil.rmtree(work)
    return target


def _pom(coordinates: tuple[str, ...], without: tuple[str, ...]) -> str:
    excluded = "".join(
        "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(
            *each.split(":")
        )
        for each in without
    )
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
        "<exclusions>{}</exclusions></dependency>".format(*each.split(":"), excluded)
        for each in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>penstock</groupId><artifactId>services</artifactId><version>1</version>"
        # What is named has this version also where another package needs it.
        f"<dependencyManagement><dependencies>{dependencies}</dependencies></dependencyManagement>"
        f"<repositories>{_NOT_ASKED}</repositories>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time install something."""
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], **options: object) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        raise ServiceError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")


def run_quietly(command: list[str], **options: object) -> None:
    """Run a command to its end; its output shows only in the error.

    :raises ServiceError: if it fails.
    """
    _run(command, **options)
