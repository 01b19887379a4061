"""Files of a job: the one place that knows which file system a job's directory is on.

Today that is the local one. Another file system is added here, by a class with the methods of
`JobDirectory`. A write is atomic for a process that dies: a reader sees the old content or the
new, never a part. Nothing is flushed past the operating system's cache, as the engine's own logs
on a local disk are not: both survive a killed process, neither a power failure.
"""

from __future__ import annotations

import contextlib
import os
from urllib.parse import quote

from penstock.connectors.journal import UNFINISHED, replace_file


class JobDirectory:
    """A folder on the local file system. Names are relative and use `/`."""

    def __init__(self, path: str) -> None:
        self.path = path
        os.makedirs(path, exist_ok=True)

    def write(self, name: str, data: bytes) -> None:
        """Create or replace a file."""
        target = os.path.join(self.path, name)
        replace_file(target, data)

    def read(self, name: str) -> bytes | None:
        """Return a file's content, None if there is no such file."""
        try:
            with open(os.path.join(self.path, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(self.path, name))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; files half written are left out."""
        try:
            found = os.listdir(os.path.join(self.path, folder))
        except FileNotFoundError:
            return []
        return sorted(name for name in found if not name.endswith(UNFINISHED))

    def write_below(self, name: str, data: bytes) -> None:
        """Create or replace a file, and the folders that it lies in."""
        os.makedirs(os.path.dirname(os.path.join(self.path, name)), exist_ok=True)
        self.write(name, data)

    def files_below(self, folder: str) -> list[str]:
        """Return the names of all files below a folder; half written ones are left out."""
        found = []
        for path, _, names in os.walk(os.path.join(self.path, folder)):
            inside = os.path.relpath(path, self.path)
            found += [f"{inside}/{name}" for name in names if not name.endswith(UNFINISHED)]
        return sorted(found)

    def folder(self, *parts: str) -> str:
        """Create a folder if needed and return its path; a part may hold any character."""
        path = os.path.join(self.path, *(quote(part, safe=" ") for part in parts))
        os.makedirs(path, exist_ok=True)
        return path
