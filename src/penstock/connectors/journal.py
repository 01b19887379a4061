"""Small files that a connector keeps in its own folder, replaced as a whole or not at all.

A write survives the death of the process. It is not forced through the operating system's cache,
as the engine's own logs on a local disk are not: a power failure may lose it.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

#: Ends the name of a file that is being written.
UNFINISHED = ".tmp"
#: The name of a numbering. It does not go into savepoints.
NUMBERING_FILE = "numbering.json"


def replace_file(path: str, data: bytes) -> None:
    """Create or replace a file; a reader sees the old content or the new, never a part."""
    unfinished = path + UNFINISHED
    with open(unfinished, "wb") as file:
        file.write(data)
    os.replace(unfinished, path)


class Journal:
    """One JSON document in a connector's folder."""

    def __init__(self, directory: str, name: str) -> None:
        self.path = os.path.join(directory, name)

    def read(self) -> Any:
        """Return the document, None if there is none."""
        try:
            with open(self.path, "rb") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def write(self, document: Any) -> None:
        """Create or replace the document."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        replace_file(self.path, json.dumps(document).encode())


class LastBatch:
    """Remember the last batch that a committer has published.

    :param fresh: the job starts anew: whatever an earlier one has left does not count.
    """

    def __init__(self, directory: str, *, fresh: bool) -> None:
        self._journal = Journal(directory, "published.json")
        known = None if fresh else self._journal.read()
        self._batch: int = -1 if known is None else known["batch"]

    def includes(self, batch_id: int) -> bool:
        """Tell whether a batch has been published."""
        return batch_id <= self._batch

    def advance(self, batch_id: int) -> None:
        """Note that a batch has been published."""
        self._journal.write({"batch": batch_id})
        self._batch = batch_id


def numbering_of(directory: str, *, fresh: bool) -> str:
    """Return the name of the numbering of batches that a sink's folder belongs to.

    Whoever keeps batch numbers outside the folder keeps this name with them: a job that begins
    anew counts its batches from zero again, and one that begins from a savepoint may count again
    what the job that left the savepoint has counted since.

    :param fresh: the job starts anew: it is not the numbering that is there, if there is one.
    """
    journal = Journal(directory, NUMBERING_FILE)
    known = None if fresh else journal.read()
    if known is None:
        known = {"name": uuid.uuid4().hex}
        journal.write(known)
    return str(known["name"])
