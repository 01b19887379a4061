"""Jobs that follow each other in one process leave nothing behind."""

from __future__ import annotations

import os
import threading
import time

from penstock.execution.process_folder import process_folder
from tests.spark.conftest import MakeEnvironment


def held() -> tuple[int, int, int]:
    """Return how many threads, open files and files in the process's folder there are.

    Without what Spark has in its own temporary folder until its JVM ends, the list of jobs, the
    logs of the last jobs (how many is a test of `job_log`), and the notes of workers that are
    there or were killed.
    """
    kept = ("spark", "jobs", "logs", "notes")
    places = [path for path in process_folder().path.iterdir() if not path.name.startswith(kept)]
    files = sum(len(names) for place in places for _, _, names in os.walk(place))
    return threading.active_count(), len(os.listdir("/proc/self/fd")), files


def settled() -> tuple[int, int, int]:
    """Return the least that is held while what has been told to end does so."""
    least = held()
    for _ in range(40):
        time.sleep(0.05)
        least = tuple(map(min, least, held()))  # type: ignore[assignment]
    return least


def run(make_env: MakeEnvironment, jobs: int) -> None:
    for _ in range(jobs):
        env = make_env(parallelism=1)
        stream = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0]).sum(1)
        with stream.execute_and_collect("again") as results:
            assert list(results) == [("a", 1), ("a", 3)]


def test_threads_files_and_folders(make_env: MakeEnvironment) -> None:
    run(make_env, 2)
    before = settled()
    run(make_env, 6)
    grown = [now - then for now, then in zip(settled(), before, strict=True)]
    assert max(grown) < 3, f"threads, open files, files on disk: {grown} more after 6 jobs"
