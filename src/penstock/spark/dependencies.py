"""Files, archives and packages that a job's functions need, gathered in one folder.

PyFlink's settings: `python.files` go on the workers' path, `python.archives` are unpacked in their
working directory, `python.requirements` are installed. The folder is named after its content, so
jobs with the same dependencies share it, and workers never mix two versions of a module.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common.config_options import ConfigOption
from penstock.common.options import (
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)
from penstock.connectors.file_paths import local_path
from penstock.errors import ConfigurationError
from penstock.execution.process_folder import process_folder
from penstock.spark.archives import is_archive, unpack
from penstock.spark.interpreter import find_interpreter
from penstock.spark.requirements import Requirements
from penstock.spark.worker_setup import ARCHIVE_FOLDER, LAYOUT

_PACKAGES = "packages"

_staging = threading.Lock()


@dataclass(frozen=True)
class Dependencies:
    """What the workers of a job need.

    :param folder: everything that was gathered; None if nothing was asked for.
    :param executable: the interpreter as the user named it; None for Spark's own choice.
    """

    folder: Path | None = None
    executable: str | None = None


@dataclass(frozen=True)
class _Wanted:
    files: tuple[Path, ...]
    #: Each archive, and the name of the folder it is unpacked in.
    archives: tuple[tuple[Path, str], ...]
    requirements: Requirements | None
    executable: str | None


def gather(configuration: Mapping[str, str]) -> Dependencies:
    """Gather the dependencies of a job.

    :raises ConfigurationError: if a file is missing, or the requirements cannot be installed.
    """
    executable = PYTHON_EXECUTABLE.read(configuration)
    wanted = _Wanted(
        tuple(_existing(text, PYTHON_FILES) for text in PYTHON_FILES.read(configuration)),
        tuple(_archive(text) for text in PYTHON_ARCHIVES.read(configuration)),
        _requirements(PYTHON_REQUIREMENTS.read(configuration)),
        executable,
    )
    if not (wanted.files or wanted.archives or wanted.requirements):
        return Dependencies(None, executable)
    with _staging:
        folder = process_folder().path / f"dependencies-{_digest(wanted)}"
        if not folder.exists():
            unfinished = process_folder().make("dependencies")
            try:
                _fill(unfinished, wanted)
                unfinished.rename(folder)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
    return Dependencies(folder, executable)


def _fill(folder: Path, wanted: _Wanted) -> None:
    path: list[str] = []
    for number, file in enumerate(wanted.files):
        path += [f"{number}/{part}".rstrip("/") for part in _add_file(folder / str(number), file)]
    for archive, target in wanted.archives:
        unpack(archive, folder / ARCHIVE_FOLDER / target)
    if wanted.requirements is not None:
        # One that is to be found on the cluster only cannot install anything here.
        interpreter = find_interpreter(wanted.executable or sys.executable, folder)
        wanted.requirements.install(folder / _PACKAGES, interpreter or sys.executable)
        path.append(_PACKAGES)
    layout = {"path": path, "archives": bool(wanted.archives)}
    (folder / LAYOUT).write_text(json.dumps(layout), encoding="utf-8")


def _add_file(place: Path, file: Path) -> list[str]:
    """Put a file, folder or package where it can be imported; return what goes on the path."""
    if file.is_dir():
        without_caches = shutil.ignore_patterns("__pycache__", ".git")
        shutil.copytree(file, place / file.name, ignore=without_caches)
        # Modules in the folder can be imported; if it is a package itself, so can it.
        return [file.name, ""] if (file / "__init__.py").exists() else [file.name]
    if is_archive(file):
        unpack(file, place)
    else:
        place.mkdir()
        shutil.copy2(file, place / file.name)
    return [""]


def _existing(text: str, option: ConfigOption[Any]) -> Path:
    path = local_path(text, f"configuration key {option.key}")
    if not os.path.exists(path):
        raise ConfigurationError(
            "a file that the job needs does not exist",
            where=f"configuration key {option.key}",
            got=path,
            todo="name a file or folder of this machine",
        )
    return Path(path)


def _archive(text: str) -> tuple[Path, str]:
    name, _, target = text.partition("#")
    path = _existing(name, PYTHON_ARCHIVES)
    target = target or path.name
    if not is_archive(path):
        raise ConfigurationError(
            "the file is no archive",
            where=f"configuration key {PYTHON_ARCHIVES.key}",
            got=str(path),
            todo="pack it with zip or tar",
        )
    if os.path.isabs(target) or os.pardir in Path(target).parts:
        raise ConfigurationError(
            "an archive can be unpacked below the working directory only",
            where=f"configuration key {PYTHON_ARCHIVES.key}",
            got=repr(target),
            todo="name a folder without a path",
        )
    return path, target


def _requirements(text: str | None) -> Requirements | None:
    if not text:
        return None
    name, _, cache = text.partition("#")
    folder = _existing(cache, PYTHON_REQUIREMENTS) if cache else None
    return Requirements(_existing(name, PYTHON_REQUIREMENTS), folder)


def _digest(wanted: _Wanted) -> str:
    digest = hashlib.sha256()
    files = [(path, path.name) for path in wanted.files]
    if wanted.requirements is not None:
        asked = wanted.requirements
        files.append((asked.file, f"requirements for {wanted.executable}"))
        if asked.packages is not None:
            files.append((asked.packages, "packages"))
        if re.search(r"/|^\s*-", asked.file.read_text(encoding="utf-8"), re.MULTILINE):
            # It refers to other files, which may have changed since they were last installed.
            digest.update(uuid.uuid4().bytes)
    for path, name in (*files, *wanted.archives):
        digest.update(f"\0{name}\0".encode())
        for part in _parts(path):
            digest.update(f"\0{part.relative_to(path)}\0".encode())
            digest.update(part.read_bytes())
    return digest.hexdigest()[:16]


def _parts(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (part for part in sorted(path.rglob("*")) if part.is_file())
    else:
        yield path
