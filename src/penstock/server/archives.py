"""Archives of ended jobs: one file each, with all answers about the job.

The file is named by the job's id and holds `{"archive": [{"path": ..., "json": ...}]}`, where
`json` is a text: Flink's own history server writes and reads them so.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OVERVIEW = "/jobs/overview"
_JOB_ID = re.compile("[0-9a-f]{32}")
#: Jobs whose answers stay in memory; the others are read again when somebody looks at them.
_KEPT = 8


def read_archive(file: Path) -> dict[str, str]:
    """Return the answers of an archive, as JSON texts by path.

    :raises ValueError: if the file is not an archive; the text says why.
    """
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    entries = content.get("archive") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise ValueError("it has no list named 'archive'")
    answers: dict[str, str] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise ValueError("an entry has no path")
        if not isinstance(entry.get("json"), str):
            raise ValueError(f"the answer of {entry['path']} is not a text")
        answers[entry["path"]] = entry["json"]
    return answers


@dataclass(frozen=True)
class _Known:
    """A file as it was when it was read."""

    file: Path
    stamp: tuple[int, int]
    #: What the list of jobs says of it.
    overview: tuple[dict[str, Any], ...] = ()
    #: Why it cannot be read; empty if it can.
    reason: str = ""


class Archives:
    """The archives in some folders. Safe to use from several threads."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._known: dict[str, _Known] = {}
        self._unreadable: list[dict[str, str]] = []
        self._answers: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Look for archives that have come, changed or gone."""
        with self._lock:
            found: dict[str, Path] = {}
            self._unreadable = []
            for folder in self._folders:
                try:
                    names = sorted(os.listdir(folder))
                except OSError as error:
                    reason = error.strerror or str(error)
                    self._unreadable.append({"name": str(folder), "reason": reason})
                    continue
                found.update({name: folder / name for name in names if _JOB_ID.fullmatch(name)})
            for job_id in self._known.keys() - found.keys():
                self._forget(job_id)
            for job_id, file in found.items():
                self._look_at(job_id, file)

    def jobs(self) -> list[dict[str, Any]]:
        """Return what the list of jobs says of each."""
        with self._lock:
            return [job for known in self._known.values() for job in known.overview]

    def broken(self) -> list[dict[str, str]]:
        """Return name and reason of each file or folder that cannot be read."""
        with self._lock:
            files = [known for known in self._known.values() if known.reason]
            told = [{"name": str(known.file), "reason": known.reason} for known in files]
            return self._unreadable + told

    def answer(self, job_id: str, path: str) -> str | None:
        """Return the JSON that a path of a job answers, None if the archive has none."""
        with self._lock:
            known = self._known.get(job_id)
            if known is None or known.reason:
                return None
            if job_id not in self._answers:
                try:
                    self._answers[job_id] = read_archive(known.file)
                except (OSError, ValueError):
                    return None  # it has changed: the next refresh tells
            self._answers.move_to_end(job_id)
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
            return self._answers[job_id].get(path)

    def _look_at(self, job_id: str, file: Path) -> None:
        try:
            status = file.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._known.get(job_id)
            if known is not None and (known.file, known.stamp) == (file, stamp):
                return
            self._forget(job_id)
        except FileNotFoundError:
            return self._forget(job_id)
        try:
            overview = _overview_of(read_archive(file))
            self._known[job_id] = _Known(file, stamp, overview)
        except (OSError, ValueError) as error:
            self._known[job_id] = _Known(file, stamp, reason=str(error))

    def _forget(self, job_id: str) -> None:
        self._known.pop(job_id, None)
        self._answers.pop(job_id, None)


def _overview_of(answers: Mapping[str, str]) -> tuple[dict[str, Any], ...]:
    if _OVERVIEW not in answers:
        raise ValueError(f"it has no answer for {_OVERVIEW}")
    try:
        jobs = json.loads(answers[_OVERVIEW])["jobs"]
        return tuple({**job, "jid": job["jid"]} for job in jobs)
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"its answer for {_OVERVIEW} is not a list of jobs") from None
