"""Spark's classes as the JVM can map them into memory, kept in the user's cache folder.

A JVM that starts Spark reads, checks and links some 15,000 classes: a third of all that a start
costs. An archive of them (Java's "class data sharing") is made once for a Java, a Spark and a class
path: the first program notes which classes its JVM has loaded, and when it has ended a process in
the background, of the lowest priority, makes the archive. Nobody waits for it, and nothing depends
on it: without one, or with one that Java does not take, Spark starts as ever.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.spark import archiver, local_files
from penstock.spark.launch import write_arguments

#: Archives that nothing has used for so long are removed when another one is made.
_UNUSED_SECONDS = 30 * 24 * 3600.0
_SUFFIX = ".jsa"


@dataclass(frozen=True)
class ClassArchive:
    """The archive for one Java and one class path; it may not be there yet."""

    java: str
    jars: tuple[str, ...]
    path: Path

    def exists(self) -> bool:
        """Tell whether there is one."""
        return self.path.is_file()

    def options(self, loaded: Path) -> list[str]:
        """Return the JVM's options: to use the archive, or to note what goes into it.

        :param loaded: a file for the names of loaded classes.
        """
        if not self.exists():
            return [f"-XX:DumpLoadedClassList={loaded}"]
        with contextlib.suppress(OSError):
            os.utime(self.path)
        # What Java says of an archive that it does not take would be the first thing in the log.
        return [f"-XX:SharedArchiveFile={self.path}", "-Xshare:auto", "-Xlog:cds=off"]

    def forget(self) -> None:
        """Remove an archive that a JVM did not start with."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    def make_later(self, loaded: Path) -> None:
        """Let a process in the background make the archive, if nothing stands in the way.

        :param loaded: the names of classes that a JVM has loaded.
        """
        if self.exists() or not loaded.is_file():
            return
        with contextlib.suppress(OSError):
            self._remove_unused()
            folder = self.path.parent / f"{self.path.stem}-{os.getpid()}.tmp"
            folder.mkdir(mode=0o700)
            classes = folder / "classes"
            shutil.copyfile(loaded, classes)
            made = folder / "archive"
            arguments = folder / "arguments"
            write_arguments(
                arguments,
                [
                    "-Xshare:dump",
                    f"-XX:SharedClassListFile={classes}",
                    f"-XX:SharedArchiveFile={made}",
                    # Objects that G1 could map are of no use to another collector.
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    os.pathsep.join(self.jars),
                ],
            )
            subprocess.Popen(
                [sys.executable, "-I", "-S", archiver.__file__, self.java, folder, self.path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.path.parent,
                start_new_session=True,
            )

    def _remove_unused(self) -> None:
        now = time.time()
        for entry in self.path.parent.iterdir():
            age = now - entry.lstat().st_mtime
            if entry.suffix == _SUFFIX and age > _UNUSED_SECONDS:
                entry.unlink()
            elif entry.suffix == ".tmp" and age > archiver.LONGEST_SECONDS:
                shutil.rmtree(entry, ignore_errors=True)


def find_archive(java: str, jars: Sequence[str], environ: Mapping[str, str]) -> ClassArchive | None:
    """Return the archive for a class path; None if the cache folder cannot be used.

    :param jars: Spark's own. In front of them the class path has a jar of Penstock's, which is kept
        in the same folder: an archive holds for jars at the places that they had.
    """
    try:
        folder = cache_folder(environ)
        if folder is None:
            return None
        own = _own_jar(folder)
        known = hashlib.sha256(repr((java, _java_release(java))).encode())
        for jar in (str(own), *jars):
            found = os.stat(jar)
            known.update(repr((jar, found.st_size, found.st_mtime_ns)).encode())
    except OSError:
        return None
    name = f"classes-{known.hexdigest()[:20]}{_SUFFIX}"
    return ClassArchive(java, (str(own), *jars), folder / name)


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return Penstock's folder in the user's cache, made if need be; None if it is not safe.

    What is in an archive runs: a folder that somebody else can write to is not used.
    """
    home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "", ".cache")
    if not os.path.isabs(home):
        return None
    folder = Path(home) / "penstock"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return None
    return folder if os.access(folder, os.W_OK) or any(folder.glob(f"*{_SUFFIX}")) else None


def _own_jar(folder: Path) -> Path:
    """Return Penstock's jar in the cache, written if it is not there: its time must not change."""
    path = folder / f"penstock-{local_files.fingerprint()}.jar"
    if not path.exists():
        unfinished = folder / f"{path.name}.{os.getpid()}"
        local_files.write_jar(unfinished)
        # Another program may have been quicker: then its jar stays, as it may be in use.
        with contextlib.suppress(FileExistsError):
            os.link(unfinished, path)
        unfinished.unlink()
    return path


def _java_release(java: str) -> str:
    release = Path(os.path.realpath(java)).parent.parent / "release"
    return release.read_text(encoding="utf-8") if release.is_file() else ""
