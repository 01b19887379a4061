"""A session: a queue of scripts, their processes, and what is known of their jobs."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.errors import RequestError
from penstock.execution.configuration import load_configuration
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.answers.jobs import ENDED as ENDED_STATES
from penstock.server.jobs import Jobs, Submission
from penstock.server.session.by_hand import ByHand
from penstock.server.session.driver import end_driver, start_driver, was_killed
from penstock.server.session.live import LiveJobs
from penstock.server.session.store import ENDED, QUEUED, STARTED, Entry, Record, Store

_log = logging.getLogger(__name__)

#: How often the session looks after its processes.
_LOOK_SECONDS = 0.3
#: A process that is killed so often within a minute each is not started again.
_MOST_STARTS = 10
_STEADY_MS = 60_000
#: So many ended scripts are kept, with what is known of their jobs.
_KEPT_ENDED = 200
#: Longest pause before a killed process is started again.
_LONGEST_PAUSE_MS = 30_000


class Session(Jobs):
    """Run scripts and serve what is known of them.

    :param max_running: how many processes may run at the same time; further scripts wait.
    :param max_queued: how many may wait; further ones are refused.
    """

    takes_scripts = True
    takes_orders = True

    def __init__(self, folder: Path, *, max_running: int = 8, max_queued: int = 1000) -> None:
        self._store = Store(folder)
        self._max_running = max_running
        self._max_queued = max_queued
        self._live = LiveJobs()
        self._by_hand = ByHand(folder / "by-hand", self._live)
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._pids: dict[str, int] = {}
        self._ended_snapshots: dict[str, list[JobSnapshot]] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._look_after, name="penstock-session")
        #: What ends the server; set by whoever runs it.
        self.on_shut_down: Callable[[], None] = self.close

    def start(self) -> None:
        """Find the jobs of an earlier session, and begin to look after all of them."""
        for entry in self._store.load():
            self._entries[entry.record.id] = entry
        self._thread.start()

    def close(self) -> None:
        """Let the jobs run on their own."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    # ---- what the app asks ---------------------------------------------------------------------

    def all(self) -> list[JobSnapshot]:
        """Return what is known of every job, the latest first."""
        with self._lock:
            entries = sorted(self._entries.values(), key=lambda entry: -entry.record.at)
        found = [snapshot for entry in entries for snapshot in self._shown(entry)]
        return sorted([*found, *self._by_hand.all()], key=lambda job: -job.start_time)

    def one(self, job_id: str) -> JobSnapshot:
        with self._lock:
            entry = self._entries.get(job_id)
        for snapshot in () if entry is None else self._shown(entry):
            if snapshot.job_id == job_id:
                return snapshot
        return super().one(job_id)

    def _shown(self, entry: Entry) -> list[JobSnapshot]:
        return [entry.with_output(snapshot) for snapshot in self._snapshots(entry)]

    def _snapshots(self, entry: Entry) -> list[JobSnapshot]:
        """Return a record's jobs: what they say now, or have left, or that there is none yet."""
        if entry.record.phase == ENDED:
            return self._last_snapshots(entry)
        left = {snapshot.job_id: snapshot for snapshot in entry.snapshots()}
        waits = entry.record.phase == QUEUED
        for job_id in (entry.record.id, *left):
            known = left.get(job_id)
            if known is not None and known.state in ENDED_STATES:
                continue
            told = None if waits else self._live.snapshot(job_id)
            if told is not None:
                left[job_id] = told
            elif known is not None and (waits or known.at < entry.record.started):
                # Left by a process that was killed; the next one is on its way.
                left[job_id] = replace(known, state="RESTARTING")
        if entry.record.id not in left:
            left[entry.record.id] = entry.placeholder()
        return list(left.values())

    def _last_snapshots(self, entry: Entry) -> list[JobSnapshot]:
        known = self._ended_snapshots.get(entry.record.id)
        if known is None:
            known = entry.snapshots()
            if entry.record.state or not known:
                # It did not get to say so itself: what it said last, with the end that it had.
                known = [snapshot for snapshot in known if snapshot.state in ENDED_STATES]
                if entry.record.id not in {snapshot.job_id for snapshot in known}:
                    known.append(entry.placeholder())
            self._ended_snapshots[entry.record.id] = known
        return known

    def ask(self, job_id: str, what: str, **arguments: Any) -> Any:
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is not None and what == "cancel" and self._live.find(job_id) is None:
                return self._cancel_early(entry)
        return self._live.ask(job_id, what, **arguments)

    def _cancel_early(self, entry: Entry) -> None:
        """Cancel what has no job yet."""
        if entry.record.phase == STARTED and (pid := self._pids.get(entry.record.id)):
            end_driver(pid)
        self._end(entry, "CANCELED")

    def submit(self, submission: Submission) -> str:
        with self._lock:
            waiting = sum(entry.record.phase == QUEUED for entry in self._entries.values())
            if waiting >= self._max_queued:
                raise RequestError(503, f"{waiting} scripts are waiting already; submit it later.")
            record = Record(
                id=uuid.uuid4().hex,
                name=submission.name,
                at=_now(),
                settings=dict(submission.settings),
            )
            self._entries[record.id] = self._store.add(record, submission)
            return record.id

    def facts_folder(self) -> Path:
        return self._by_hand.folder

    def settings(self) -> Mapping[str, object]:
        return load_configuration().to_dict()

    def settings_of(self, job_id: str) -> Mapping[str, object]:
        entry = self._entries.get(job_id)
        return {} if entry is None else {**self.settings(), **entry.record.settings}

    def logs(self) -> Iterable[Path]:
        return sorted(self._store.folder.glob("*.log"))

    def uploads(self) -> Path:
        return self._store.uploads

    def shut_down(self) -> None:
        self.on_shut_down()

    # ---- processes -----------------------------------------------------------------------------

    def _look_after(self) -> None:
        while not self._closed.wait(_LOOK_SECONDS):
            try:
                self.look()
            except Exception:
                # One bad record must not end the care for all others.
                _log.exception("the session could not look after its jobs")

    def look(self) -> None:
        """Start what waits, and see what has ended."""
        with self._lock:
            entries = [e for e in self._entries.values() if e.record.phase != ENDED]
            for entry in entries:
                if entry.record.phase == STARTED and not entry.is_alive():
                    self._settle(entry)
            running = sum(entry.record.phase == STARTED for entry in entries)
            for entry in sorted(entries, key=lambda entry: entry.record.at):
                if running >= self._max_running:
                    break
                if entry.record.phase == QUEUED and _now() >= self._not_before(entry):
                    self._start(entry)
                    running += 1

    def _not_before(self, entry: Entry) -> int:
        """Return when a process may be started: at once, or after a pause if it was killed."""
        starts = entry.record.starts
        pause = min(1000 << (starts - 1), _LONGEST_PAUSE_MS) if starts else 0
        return entry.record.started + pause if starts else 0

    def _start(self, entry: Entry) -> None:
        entry.record.phase = STARTED
        entry.record.starts += 1
        entry.record.started = _now()
        # First the note: a session that ends here finds a process that is gone, and starts it.
        entry.save()
        self._pids[entry.record.id] = start_driver(entry, self._store.checkpoints)

    def _settle(self, entry: Entry) -> None:
        """Find out how a process has ended, and what follows from it."""
        record, code = entry.record, entry.exit_code()
        left = {snapshot.job_id: snapshot for snapshot in entry.snapshots()}
        over = bool(left) and all(one.state in ENDED_STATES for one in left.values())
        for job_id in (record.id, *left):
            self._live.forget(job_id)
        if over and (record.id in left):
            self._end(entry, "")
        elif not was_killed(code):
            state = "FINISHED" if code == 0 else "FAILED"
            self._end(entry, state, entry.last_lines() if code else "")
        else:
            self._resume(entry, code)

    def _resume(self, entry: Entry, code: int | None) -> None:
        record = entry.record
        if _now() - record.started > _STEADY_MS:
            record.starts = 1
        if record.starts >= _MOST_STARTS:
            text = f"its process was killed {record.starts} times\n{entry.last_lines()}"
            self._end(entry, "FAILED", text)
            return
        _log.warning("job %s: its process was killed (%s); it goes on", record.id, code)
        record.phase = QUEUED
        entry.save()

    def _end(self, entry: Entry, state: str, failure: str = "") -> None:
        entry.record.phase = ENDED
        entry.record.state = state
        entry.record.failure = failure
        entry.record.ended = _now()
        entry.save()
        ended = [one for one in self._entries.values() if one.record.phase == ENDED]
        for old in sorted(ended, key=lambda one: one.record.ended)[:-_KEPT_ENDED]:
            del self._entries[old.record.id]
            self._ended_snapshots.pop(old.record.id, None)
            self._store.remove(old)


def _now() -> int:
    return int(time.time() * 1000)
