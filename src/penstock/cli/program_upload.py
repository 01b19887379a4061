"""Give a session the files that a program needs: -pyfs, -pyarch, -pyreq."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.cli.session_client import SessionClient
from penstock.common.options import PYTHON_ARCHIVES, PYTHON_FILES, PYTHON_REQUIREMENTS
from penstock.connectors.file_paths import local_path
from penstock.errors import ConfigurationError
from penstock.execution.program_path import UPLOADED

_LEFT_OUT = ("__pycache__", ".git")


@contextmanager
def uploaded_files(session: SessionClient, settings: dict[str, str]) -> Iterator[dict[str, str]]:
    """Upload the files that settings name, and yield settings that name the uploads.

    Behind it they are removed: a job that was run has copies. The folder of packages that
    `python.requirements` may name is one of the session's machine.

    :raises ConfigurationError: if a file does not exist.
    """
    sent: list[str] = []

    def send(name: str, content: bytes) -> str:
        sent.append(session.upload("/files/upload", name, content))
        return UPLOADED + sent[-1]

    def of_file(text: str, option: str) -> str:
        name, hash_, target = text.partition("#")
        path = _existing(name, option)
        return send(path.name, path.read_bytes()) + hash_ + target

    try:
        found = dict(settings)
        files = PYTHON_FILES.read(settings)
        if files:
            found[PYTHON_FILES.key] = ",".join(
                send(*part) for text in files for part in _parts(_existing(text, PYTHON_FILES.key))
            )
        if archives := PYTHON_ARCHIVES.read(settings):
            named = (_with_target(text) for text in archives)
            found[PYTHON_ARCHIVES.key] = ",".join(
                of_file(text, PYTHON_ARCHIVES.key) for text in named
            )
        if requirements := PYTHON_REQUIREMENTS.read(settings):
            found[PYTHON_REQUIREMENTS.key] = of_file(requirements, PYTHON_REQUIREMENTS.key)
        yield found
    finally:
        for uploaded in sent:
            session.ask("DELETE", f"/files/{uploaded}")


def _parts(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield a file as it is; a folder as a zip file of what is in it."""
    if not path.is_dir():
        yield path.name, path.read_bytes()
        return
    yield f"{path.name}.zip", _zipped(path, path)
    if (path / "__init__.py").exists():
        # Modules in a package can be imported by themselves, and so can it.
        yield f"{path.name}.zip", _zipped(path, path.parent)


def _zipped(folder: Path, base: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in files:
                path = Path(place) / name
                archive.write(path, path.relative_to(base))
    return content.getvalue()


def _with_target(text: str) -> str:
    """Name the folder that an archive is unpacked in: an upload may get another name."""
    return text if "#" in text else f"{text}#{os.path.basename(text)}"


def _existing(text: str, option: str) -> Path:
    path = Path(local_path(text, f"configuration key {option}"))
    if not path.exists():
        raise ConfigurationError(
            "a file that the program needs does not exist",
            where=f"configuration key {option}",
            got=str(path),
            todo="name a file or folder of this machine",
        )
    return path
