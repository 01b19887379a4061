"""Answers about the whole session."""

from __future__ import annotations

import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.execution.facts.masking import masked
from penstock.execution.facts.snapshot import JobSnapshot
from penstock.server.answers.jobs import ENDED, overview_of
from penstock.server.answers.metrics import values
from penstock.server.answers.taskmanagers import executors
from penstock.server.answers.tasks import span

#: The Flink whose answers these are: clients compare it.
FLINK_VERSION = "2.3.0"


def overview(jobs: Iterable[JobSnapshot], version: str) -> dict[str, Any]:
    """Answer `/overview`."""
    jobs = list(jobs)
    found = executors(jobs)
    states = Counter(job.state for job in jobs)
    return {
        "taskmanagers": len(found),
        "slots-total": sum(executor.slots for executor in found),
        "slots-available": sum(executor.slots - executor.busy_slots for executor in found),
        "jobs-running": sum(count for state, count in states.items() if state not in ENDED),
        "jobs-finished": states["FINISHED"],
        "jobs-cancelled": states["CANCELED"],
        "jobs-failed": states["FAILED"],
        "flink-version": FLINK_VERSION,
        "flink-commit": "penstock",
        "penstock-version": version,
    }


def config(version: str, *, submit: bool, cancel: bool, history: bool) -> dict[str, Any]:
    """Answer `/config`: what the dashboard may do."""
    return {
        "refresh-interval": 3000,
        "timezone-name": time.tzname[0],
        "timezone-offset": -time.timezone * 1000,
        "flink-version": FLINK_VERSION,
        "flink-revision": f"penstock {version}",
        "features": {
            "web-submit": submit,
            "web-cancel": cancel,
            "web-rescale": False,
            "web-history": history,
        },
    }


def jobs_with_ids(jobs: Iterable[JobSnapshot]) -> dict[str, Any]:
    """Answer `/jobs`."""
    return {"jobs": [{"id": job.job_id, "status": job.state} for job in jobs]}


def jobs_overview(jobs: Iterable[JobSnapshot]) -> dict[str, Any]:
    """Answer `/jobs/overview`."""
    return {"jobs": [overview_of(job) for job in jobs]}


def applications_overview(jobs: Iterable[JobSnapshot]) -> dict[str, Any]:
    """Answer `/applications/overview`: a job is an application of its own."""
    return {
        "applications": [
            {
                "id": job.job_id,
                "name": job.name,
                **span(job.start_time, job.end_time, job.at),
                "status": job.state,
                "jobs": {job.state: 1},
            }
            for job in jobs
        ]
    }


def settings(found: Mapping[str, object]) -> list[dict[str, str]]:
    """Answer `/jobmanager/config`, without secrets."""
    return [{"key": key, "value": value} for key, value in sorted(masked(found).items())]


def environment() -> dict[str, Any]:
    """Answer `/jobmanager/environment`: the interpreter stands where Flink has its JVM."""
    return {
        "jvm": {
            "version": f"{platform.python_implementation()} {platform.python_version()}",
            "arch": platform.machine(),
            "options": [],
        },
        "classpath": [path for path in sys.path if path],
    }


def no_threads(_: object) -> dict[str, Any]:
    """Answer a dump of threads: none is taken."""
    return {"threadInfos": []}


def metrics(jobs: Iterable[JobSnapshot], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Answer `/jobmanager/metrics`."""
    jobs = list(jobs)
    found = executors(jobs)
    readings = {
        "numRegisteredTaskManagers": len(found),
        "numRunningJobs": sum(job.state not in ENDED for job in jobs),
        "taskSlotsTotal": sum(executor.slots for executor in found),
        "taskSlotsAvailable": sum(executor.slots - executor.busy_slots for executor in found),
    }
    return values(readings, query)
