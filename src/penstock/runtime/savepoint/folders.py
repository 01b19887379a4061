"""Find the savepoints in a folder."""

from __future__ import annotations

from penstock.connectors.file_paths import absolute, store_of
from penstock.runtime.savepoint.format import METADATA, Savepoint


def list_savepoints(directory: str) -> list[Savepoint]:
    """Return the savepoints in a folder, the oldest first; what was not completed is left out."""
    folder = absolute(directory)
    store = store_of(folder)
    if not store.exists(folder):
        return []
    files = store.list_files(folder, recursive=True, hidden=True)
    found = [f.path for f in files if f.path.rpartition("/")[2] == METADATA]
    savepoints = [Savepoint.open(path) for path in found]
    return sorted(savepoints, key=lambda each: (each.manifest.created, each.manifest.batch))
