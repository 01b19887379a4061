"""What a session keeps on disk, so that another one can take over.

`<state dir>/jobs/<id>/` has for each script that was submitted:
`submission.json`, what to run and how far it is; `facts/`, what its jobs leave of themselves;
`lock`, held by its process while it lives; `exit`, the process's exit code; `output.log`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.execution.facts.json_form import from_json
from penstock.execution.facts.masking import Hider
from penstock.execution.facts.snapshot import JOB_STATES, FailureFacts, JobSnapshot, LogFile
from penstock.execution.program_path import UPLOADED
from penstock.server.jobs import Submission
from penstock.server.uploads import given_name

QUEUED, STARTED, ENDED = "QUEUED", "STARTED", "ENDED"
_FILE = "submission.json"


@dataclass
class Record:
    """A script that was submitted."""

    id: str
    name: str
    #: When it came, in epoch milliseconds.
    at: int
    #: What to run.
    command: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    phase: str = QUEUED
    #: How often its process was started, and when last, in epoch milliseconds.
    starts: int = 0
    started: int = 0
    #: State that its job has if it has left no word of its own.
    state: str = ""
    ended: int = -1
    failure: str = ""


class Entry:
    """A record with its folder."""

    def __init__(self, folder: Path, record: Record) -> None:
        self.folder = folder
        self.record = record

    @property
    def facts(self) -> Path:
        """Where its jobs leave what is known of them."""
        return self.folder / "facts"

    @property
    def output(self) -> Path:
        """What its process prints."""
        return self.folder / "output.log"

    @property
    def logs(self) -> Path:
        """Where its jobs log, if the settings name no other folder."""
        return self.folder / "logs"

    def with_output(self, snapshot: JobSnapshot) -> JobSnapshot:
        """Return what is known of a job, with what its process prints among the logs."""
        printed = LogFile(self.output.name, str(self.output), "job")
        return replace(snapshot, logs=[*snapshot.logs, printed])

    @property
    def lock(self) -> Path:
        """What its process holds while it lives."""
        return self.folder / "lock"

    @property
    def exit(self) -> Path:
        """Where the exit code of its process is."""
        return self.folder / "exit"

    def save(self) -> None:
        """Write the record down, as a whole."""
        unfinished = self.folder / f".{_FILE}"
        unfinished.write_text(json.dumps(asdict(self.record)), encoding="utf-8")
        os.replace(unfinished, self.folder / _FILE)

    def is_alive(self) -> bool:
        """Tell whether its process lives: it holds a lock, which goes with it however it ends."""
        try:
            handle = os.open(self.lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(handle)
        return False

    def exit_code(self) -> int | None:
        """Return how its process ended, None if nobody could tell."""
        try:
            return int(self.exit.read_text())
        except (OSError, ValueError):
            return None

    def last_lines(self, count: int = 30) -> str:
        """Return the end of what its process printed."""
        try:
            with open(self.output, "rb") as file:
                file.seek(max(os.path.getsize(self.output) - (1 << 15), 0))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-count:])

    def snapshots(self) -> list[JobSnapshot]:
        """Return what its jobs have left of themselves."""
        found = []
        for path in sorted(self.facts.glob("*.json")) if self.facts.is_dir() else ():
            snapshot = read_snapshot(path)
            if snapshot is not None:
                found.append(snapshot)
        return found

    def placeholder(self) -> JobSnapshot:
        """Return what can be said of its job before there is one, or if there never was."""
        record, now = self.record, int(time.time() * 1000)
        state = record.state or ("CREATED" if record.phase == QUEUED else "INITIALIZING")
        times = {**dict.fromkeys(JOB_STATES, 0), "CREATED": record.at}
        times[state] = record.ended if record.ended >= 0 else record.started or record.at
        failures = []
        if record.failure:
            text = Hider(record.settings)(record.failure)
            kind, _, message = text.strip().splitlines()[-1].partition(": ")
            failures = [FailureFacts(0, max(record.ended, 0), kind, message, text)]
        return JobSnapshot(
            job_id=record.id,
            name=record.name,
            state=state,
            timestamps=times,
            start_time=record.at,
            end_time=record.ended,
            at=now,
            mode="STREAMING",
            attempt=0,
            slots=0,
            levels=0,
            failures=failures,
        )


def read_snapshot(path: Path) -> JobSnapshot | None:
    """Return what a job has left of itself, None if it cannot be read."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return from_json(data)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _copied_program(submission: Submission, folder: Path) -> list[str]:
    if submission.script is None:
        return ["-m", submission.module]
    return [str(shutil.copyfile(submission.script, folder / submission.name))]


def _copy_files(submission: Submission, record: Record, folder: Path) -> None:
    """Give a record copies of the files that its settings name, and name these there."""
    for number, (uploaded, path) in enumerate(submission.files.items()):
        # Each in a folder of its own: a module's folder goes on the program's path.
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        copy = shutil.copyfile(path, place / given_name(path))
        for key, value in record.settings.items():
            record.settings[key] = value.replace(f"{UPLOADED}{uploaded}", str(copy))


class Store:
    """All records of a session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jobs = folder / "jobs"
        self._jobs.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.uploads = folder / "uploads"
        self.uploads.mkdir(exist_ok=True, mode=0o700)

    def add(self, record: Record, submission: Submission | None = None) -> Entry:
        """Keep a new record, before anything is done about it.

        :param submission: makes the record's command; its files are kept as well, as what was
            uploaded may be removed.
        """
        folder = self._jobs / record.id
        folder.mkdir(mode=0o700, exist_ok=True)
        entry = Entry(folder, record)
        entry.facts.mkdir(exist_ok=True)
        if submission is not None:
            program = _copied_program(submission, folder)
            interpreter = submission.interpreter or sys.executable
            record.command = [interpreter, *program, *submission.arguments]
            _copy_files(submission, record, folder / "files")
        entry.save()
        return entry

    @property
    def checkpoints(self) -> Path:
        """Where jobs keep what they need to go on, if their settings say nothing else."""
        return self.folder / "checkpoints"

    def remove(self, entry: Entry) -> None:
        """Forget a record, with all that was kept for it."""
        # The record first: without it nobody knows of the rest.
        (entry.folder / _FILE).unlink(missing_ok=True)
        shutil.rmtree(entry.folder, ignore_errors=True)
        shutil.rmtree(self.checkpoints / entry.record.id, ignore_errors=True)

    def load(self) -> Iterator[Entry]:
        """Yield what an earlier session has left, the oldest first."""
        found = []
        for folder in self._jobs.iterdir():
            try:
                data = json.loads((folder / _FILE).read_text(encoding="utf-8"))
                found.append(Entry(folder, Record(**data)))
            except (OSError, ValueError, TypeError):
                continue  # never completely written: nobody was told of it
        yield from sorted(found, key=lambda entry: entry.record.at)
