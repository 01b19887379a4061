"""Jobs of programs that were not submitted, but name the session in their settings."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.answers.jobs import ENDED
from penstock.server.session.live import LiveJobs
from penstock.server.session.store import read_snapshot

#: A job that has left word of itself may be asked after so long at the latest.
_ANNOUNCED_MS = 30_000


class ByHand:
    """What such jobs have left in a folder, and what they say now."""

    def __init__(self, folder: Path, live: LiveJobs) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True, mode=0o700)
        self._live = live
        self._ended: dict[str, JobSnapshot] = {}

    def all(self) -> list[JobSnapshot]:
        """Return all of them."""
        found = []
        for path in self.folder.glob("*.json"):
            known = self._ended.get(path.stem)
            if known is None:
                known = self._read(path)
            if known is not None:
                found.append(known)
        return found

    def _read(self, path: Path) -> JobSnapshot | None:
        left = read_snapshot(path)
        if left is None:
            return None
        if left.state in ENDED:
            if self._live.find(left.job_id) is None:
                # Its process is gone: nothing changes any more.
                self._ended[left.job_id] = left
            return left
        told = self._live.snapshot(left.job_id)
        if told is not None and self._live.find(left.job_id) is not None:
            return told
        now = int(time.time() * 1000)
        if now - left.at < _ANNOUNCED_MS:
            return told or left
        last = told or left
        times = {**last.timestamps, "FAILED": last.at}
        # Not for good: the program may be started again, and the job go on.
        return replace(last, state="FAILED", end_time=last.at, timestamps=times)
