"""Files of a job, on whatever file system its folder is.

A file is written as a whole: a reader sees the old content or the new, never a part. How, is the
affair of `connectors.file_stores`.
"""

from __future__ import annotations

from urllib.parse import quote

from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_stores import UNFINISHED


class JobDirectory:
    """A folder, by absolute path or URL. Names are relative and use `/`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._store = store_of(path)
        self._store.make_folder(path)

    def write(self, name: str, data: bytes) -> None:
        """Create or replace a file, and the folders that it lies in."""
        self._store.write_whole(join(self.path, name), data)

    def read(self, name: str) -> bytes | None:
        """Return a file's content, None if there is no such file."""
        return self._store.read_whole(join(self.path, name))

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""
        self._store.delete_whole(join(self.path, name))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; files half written are left out."""
        return self._store.names(join(self.path, folder))

    def files_below(self, folder: str) -> list[str]:
        """Return the names of all files below a folder; half written ones are left out."""
        path = join(self.path, folder)
        if not self._store.is_folder(path):
            return []
        found = self._store.list_files(path, recursive=True, hidden=True)
        names = (file.path.removeprefix(self.path).lstrip("/") for file in found)
        return sorted(name for name in names if not name.endswith(UNFINISHED))

    def folder(self, *parts: str) -> str:
        """Create a folder if needed and return its path; a part may hold any character."""
        path = join(self.path, *(quote(part, safe=" ") for part in parts))
        self._store.make_folder(path)
        return path
