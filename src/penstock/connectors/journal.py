"""Small files that a connector keeps in its own folder, replaced as a whole or not at all."""

from __future__ import annotations

import json
import uuid
from typing import Any

from penstock.connectors.file_paths import join, store_of

#: The name of a numbering. It does not go into savepoints.
NUMBERING_FILE = "numbering.json"


class Journal:
    """One JSON document in a connector's folder."""

    def __init__(self, directory: str, name: str) -> None:
        self.path = join(directory, name)
        self._store = store_of(self.path)

    def read(self) -> Any:
        """Return the document, None if there is none."""
        data = self._store.read_whole(self.path)
        return None if data is None else json.loads(data)

    def write(self, document: Any) -> None:
        """Create or replace the document."""
        self._store.write_whole(self.path, json.dumps(document).encode())


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
