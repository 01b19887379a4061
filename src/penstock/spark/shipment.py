"""How the workers get a job: a small handle with every task, the job itself from a file.

A task's command is sent anew in every batch, so it holds only a token and a place. The job is
read and unpickled once in each worker process.
"""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext, SparkFiles

from penstock.runtime.job import Job, known_job, load_job
from penstock.spark.worker_setup import activate_dependencies

_ready = False


@dataclass(frozen=True)
class Shipment:
    """Where a worker finds a job.

    :param token: names the job in the workers' caches; new for each start of the query.
    :param path: the file, if the worker is on the same machine or file system.
    :param name: the file's name among those that Spark distributes.
    """

    token: str
    path: str
    name: str

    def job(self) -> Job:
        """Return the job, in a worker."""
        job = known_job(self.token)
        if job is None:
            activate_dependencies()
            job = load_job(self.token, self._read())
            _settle_down()
        return job

    def _read(self) -> bytes:
        path = self.path if os.path.exists(self.path) else SparkFiles.get(self.name)
        return Path(path).read_bytes()


def ship(context: SparkContext, token: str, blob: bytes, folder: str) -> Shipment:
    """Put a job where the workers will find it."""
    for before in Path(folder).glob("job-*.bin"):
        before.unlink()  # of an attempt that has ended
    name = f"job-{token}.bin"
    path = Path(folder) / name
    path.write_bytes(blob)
    if not is_local(context):
        # Executors are other processes, maybe on other machines: Spark takes the file there.
        context.addFile(str(path))
    return Shipment(token, str(path), name)


def is_local(context: SparkContext) -> bool:
    """Return whether the workers are children of this process's own JVM."""
    return str(context.master).partition("[")[0] == "local"


def _settle_down() -> None:
    """Take everything that is loaded by now out of the garbage collector's sight.

    Spark's worker runs a full collection after every task: it would look at every module and
    function again and again.
    """
    global _ready
    if not _ready:
        _ready = True
        gc.collect()
        gc.freeze()
