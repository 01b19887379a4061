"""What is kept of a job on disk: its facts, and the archive that a history server reads.

What the answers of an archive are is for the server to say, which this layer does not know: it is
found by the entry point group `penstock.archivers`.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.common.options import ARCHIVE_DIR, FACTS_DIR
from penstock.execution.facts.json_form import to_json
from penstock.execution.facts.snapshot import JobSnapshot

#: Makes the answers of a job: each a `path` and its `json`, as text.
Archiver = Callable[[JobSnapshot], list[dict[str, str]]]
#: Entry point group of these.
ARCHIVERS = "penstock.archivers"

_log = logging.getLogger(__name__)


def write_facts(snapshot: JobSnapshot, settings: Mapping[str, str]) -> Path | None:
    """Leave what is known of a job where the settings say; return the file."""
    folder = FACTS_DIR.read(settings)
    if folder is None:
        return None
    path = local_path(folder) / f"{snapshot.job_id}.json"
    _write(path, to_json(snapshot))
    return path


def archive_job(snapshot: JobSnapshot, settings: Mapping[str, str]) -> Path | None:
    """Write the archive of a job that has ended where the settings say; return the file.

    What goes wrong is logged: the job has ended already, and not because of this.
    """
    folder = ARCHIVE_DIR.read(settings)
    if folder is None:
        return None
    archiver = _find_archiver(entry_points(group=ARCHIVERS))
    if archiver is None:
        _log.warning(
            "the job is not archived (%s): pip install 'penstock[server]' has what it takes",
            ARCHIVE_DIR.key,
        )
        return None
    path = local_path(folder) / snapshot.job_id
    try:
        _write(path, {"archive": archiver(snapshot)})
    except Exception:
        _log.warning("job %s cannot be archived in %s", snapshot.job_id, folder, exc_info=True)
        return None
    return path


def local_path(folder: str) -> Path:
    """Return a folder of this machine that is named by a path or a `file:` address.

    >>> str(local_path("file:///tmp/a%20b"))
    '/tmp/a b'
    """
    return Path(unquote(urlsplit(folder).path)) if folder.startswith("file:") else Path(folder)


def _find_archiver(points: EntryPoints) -> Archiver | None:
    for point in points:
        try:
            archiver: Archiver = point.load()
        except ImportError:
            continue
        return archiver
    return None


def _write(path: Path, content: Any) -> None:
    """Write a file as a whole: whoever looks finds all of it, or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(prefix=".unfinished-", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(unfinished, path)
