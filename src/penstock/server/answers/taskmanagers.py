"""Answers about workers: Flink's task managers are Spark's executors here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import RequestError
from penstock.execution.facts.snapshot import JobSnapshot, WorkerFacts
from penstock.server.answers.jobs import ENDED
from penstock.server.answers.metrics import aggregated, values
from penstock.server.answers.tasks import executor_id

_POOLS = ("frameworkHeap", "taskHeap", "frameworkOffHeap", "taskOffHeap", "networkMemory",
    "managedMemory", "jvmMetaspace", "jvmOverhead", "totalFlinkMemory",
    "totalProcessMemory")  # fmt: skip
_JVM = ("heapUsed", "heapCommitted", "heapMax", "nonHeapUsed", "nonHeapCommitted", "nonHeapMax",
    "directCount", "directUsed", "directMax", "mappedCount", "mappedUsed", "mappedMax",
    "nettyShuffleMemorySegmentsAvailable", "nettyShuffleMemorySegmentsUsed",
    "nettyShuffleMemorySegmentsTotal", "nettyShuffleMemoryAvailable", "nettyShuffleMemoryUsed",
    "nettyShuffleMemoryTotal")  # fmt: skip


@dataclass
class ExecutorFacts:
    """One of Spark's executors, with the Python workers in it."""

    id: str
    job: JobSnapshot
    slots: int
    workers: list[WorkerFacts] = field(default_factory=list)

    @property
    def tasks(self) -> int:
        """Subtasks that ran in the last batch."""
        return sum(len(worker.tasks) for worker in self.workers)

    @property
    def busy_slots(self) -> int:
        """Cores that had something to do in the last batch."""
        return min(self.tasks, self.slots)


def executors(jobs: Iterable[JobSnapshot]) -> list[ExecutorFacts]:
    """Return the executors of all jobs that run. A local session has one: the driver."""
    found = []
    for job in jobs:
        if job.state in ENDED:
            continue
        names: dict[str, list[WorkerFacts]] = {}
        for worker in job.workers:
            names.setdefault(worker.executor or worker.id, []).append(worker)
        names = names or {"driver": []}
        slots = max(job.engine_slots // len(names), 1)
        for name, workers in names.items():
            found.append(ExecutorFacts(executor_id(job, name), job, slots, workers))
    return found


def overview(jobs: Iterable[JobSnapshot]) -> dict[str, Any]:
    """Answer `/taskmanagers`."""
    return {"taskmanagers": [_told(executor) for executor in executors(jobs)]}


def find_executor(jobs: Iterable[JobSnapshot], wanted: str) -> ExecutorFacts:
    """Return an executor by id.

    :raises RequestError: if there is none.
    """
    for executor in executors(jobs):
        if executor.id == wanted:
            return executor
    raise RequestError(404, f"Could not find TaskExecutor {wanted}.")


def details(jobs: Iterable[JobSnapshot], wanted: str) -> dict[str, Any]:
    """Answer `/taskmanagers/:taskmanagerid`."""
    executor = find_executor(jobs, wanted)
    slot = {
        "jobId": executor.job.job_id,
        "resource": _resource(executor, 1),
        "assignedTasks": -(-executor.tasks // max(executor.busy_slots, 1)),
    }
    return {
        **_told(executor),
        "allocatedSlots": [slot] * executor.busy_slots,
        # What a JVM knows of itself is not asked for.
        "metrics": {**dict.fromkeys(_JVM, -1), "garbageCollectors": []},
    }


def metrics(
    jobs: Iterable[JobSnapshot], wanted: str, query: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Answer `/taskmanagers/:taskmanagerid/metrics`."""
    return values(_readings(find_executor(jobs, wanted)), query)


def all_metrics(jobs: Iterable[JobSnapshot], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Answer `/taskmanagers/metrics`: all, or those that `taskmanagers=` names."""
    wanted = query["taskmanagers"].split(",") if query.get("taskmanagers") else None
    found = [one for one in executors(jobs) if wanted is None or one.id in wanted]
    return aggregated([_readings(executor) for executor in found], query)


def _readings(executor: ExecutorFacts) -> dict[str, Any]:
    return {
        "Status.Python.Workers": len(executor.workers),
        "Status.Python.Memory.Used": _memory(executor),
        "Status.Tasks.Assigned": executor.tasks,
    }


def _memory(executor: ExecutorFacts) -> int:
    return sum(worker.memory for worker in executor.workers)


def _told(executor: ExecutorFacts) -> dict[str, Any]:
    job, memory = executor.job, _memory(executor)
    seen = max((worker.last_seen for worker in executor.workers), default=job.at)
    return {
        "id": executor.id,
        "path": executor.workers[0].host if executor.workers else job.host,
        "dataPort": -1,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": seen,
        "slotsNumber": executor.slots,
        "freeSlots": executor.slots - executor.busy_slots,
        "assignedTasks": executor.tasks,
        "totalResource": _resource(executor, executor.slots),
        "freeResource": _resource(executor, executor.slots - executor.busy_slots),
        "hardware": {
            "cpuCores": executor.slots,
            "physicalMemory": 0,
            "freeMemory": 0,
            "managedMemory": memory,
        },
        "memoryConfiguration": {**dict.fromkeys(_POOLS, 0), "totalProcessMemory": memory},
        "jobId": job.job_id,
        "workers": [
            {"id": worker.id, "pid": worker.pid, "memory": worker.memory, "tasks": worker.tasks}
            for worker in executor.workers
        ],
    }


def _resource(executor: ExecutorFacts, slots: int) -> dict[str, Any]:
    return {
        "cpuCores": float(slots),
        "taskHeapMemory": 0,
        "taskOffHeapMemory": 0,
        "managedMemory": 0,
        "networkMemory": 0,
        "extendedResources": {},
    }
