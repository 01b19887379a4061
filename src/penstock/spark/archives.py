"""Unpack the archives of a job, with links and permissions as they were packed."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from pathlib import Path

_ZIP_SUFFIXES = (".zip", ".whl", ".egg", ".jar")


def is_archive(path: Path) -> bool:
    """Return whether `unpack` can read a file."""
    if not path.is_file():
        return False
    if path.suffix in _ZIP_SUFFIXES:
        return zipfile.is_zipfile(path)
    return tarfile.is_tarfile(path) or zipfile.is_zipfile(path)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip or tar file into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as content:
            for entry in content.infolist():
                _extract(content, entry, folder)
        return
    with tarfile.open(archive) as content:
        if hasattr(tarfile, "tar_filter"):
            # Links may point anywhere: a virtual environment has one to its interpreter.
            content.extractall(folder, filter="tar")
        else:
            content.extractall(folder)


def _extract(content: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    # The module itself forgets the permissions of a file, and writes a link as a file.
    mode = entry.external_attr >> 16
    made = Path(content.extract(entry, folder))
    if stat.S_ISLNK(mode):
        target = made.read_bytes()
        made.unlink()
        os.symlink(target, os.fsencode(made))
    elif mode and not entry.is_dir():
        made.chmod(stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IWUSR)
