"""What a job on Spark goes on from: its own checkpoint, a savepoint, or a checkpoint of another."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.common.options import IGNORE_UNCLAIMED, RECOVERY_PATH
from penstock.connectors.file_paths import absolute, join, store_of
from penstock.errors import StateError
from penstock.execution.executor import JobRequest
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.savepoint.checkpoint import Checkpoint, recorded_program
from penstock.runtime.savepoint.format import METADATA
from penstock.runtime.savepoint.program import describe_program, follow, is_same
from penstock.runtime.savepoint.resume import resumed_from
from penstock.spark.directory import JobFolder, checkpoint_of, last_committed, read_run

_STATE_VARIABLE = "log"


def recover(request: JobRequest, folder: JobFolder, session: SparkSession) -> ExecutionPlan:
    """Return the plan as it goes on from what there is.

    A savepoint that the settings name is begun from once: a job that has a checkpoint since then
    goes on from that. A program whose tasks cannot go on from their state as it is (another
    parallelism, operators that came or went) gets it as from a savepoint.

    :raises StateError: if the program cannot go on.
    """
    plan, ignore = request.plan, IGNORE_UNCLAIMED.read(request.configuration)
    wanted = RECOVERY_PATH.read(request.configuration)
    has_state = folder.last_committed() is not None
    if wanted is not None and folder.restore != _savepoint_path(wanted, folder):
        path = _as_savepoint(wanted, folder, session)
        plan = resumed_from(plan, path, ignore_unclaimed=ignore)
        folder.begin_anew(path)
        return plan
    if not has_state:
        restore = folder.restore
        return plan if restore is None else resumed_from(plan, restore, ignore_unclaimed=ignore)
    _remove_own(folder)
    recorded = recorded_program(JobDirectory(folder.penstock))
    followed = follow(plan, recorded)
    if is_same(recorded, describe_program(followed)):
        return followed
    path = str(folder.path / f"restore-{folder.run + 1}")
    shutil.rmtree(path, ignore_errors=True)
    _checkpoint(folder.path, folder.run, session).write_savepoint(path, with_files=False)
    plan = resumed_from(plan, path, ignore_unclaimed=ignore)
    folder.begin_anew(path)
    return plan


def _savepoint_path(wanted: str, folder: JobFolder) -> str:
    path = absolute(wanted).rstrip("/").removesuffix(f"/{METADATA}")
    return path if _is_savepoint(path) else str(_image(folder, path))


def _is_savepoint(path: str) -> bool:
    return store_of(path).exists(join(path, METADATA))


def _image(folder: JobFolder, path: str) -> Path:
    return folder.path / f"restored-{Path(path).name}"


def _as_savepoint(wanted: str, folder: JobFolder, session: SparkSession) -> str:
    """Return a savepoint as it is, and another job's checkpoint as a savepoint."""
    path = absolute(wanted).rstrip("/").removesuffix(f"/{METADATA}")
    if _is_savepoint(path):
        return path
    found = None if "://" in path else read_run(Path(path))
    if found is None:
        raise StateError(
            "there is nothing to go on from",
            where=f"configuration key {RECOVERY_PATH.key}",
            got=f"{path} is neither a savepoint nor the folder of a job",
            todo="give a folder with a file _metadata, or the folder of a retained checkpoint",
        )
    image = str(_image(folder, path))
    shutil.rmtree(image, ignore_errors=True)
    _checkpoint(Path(path), found[0], session).write_savepoint(image, with_files=True)
    return image


def _remove_own(folder: JobFolder) -> None:
    """Remove the image of an earlier checkpoint, once there is a checkpoint that came of it."""
    if folder.restore is not None and Path(folder.restore).parent == folder.path:
        shutil.rmtree(folder.restore, ignore_errors=True)


def _checkpoint(path: Path, run: int, session: SparkSession) -> Checkpoint:
    location = checkpoint_of(path, run)
    last = last_committed(location)
    if last is None:
        raise StateError(
            "the checkpoint holds nothing: no batch of its job was finished",
            where=f"job directory {path}",
            todo="start the job without it",
        )
    slots = _slots(session, str(location), last)
    return Checkpoint(JobDirectory(str(path / "penstock")), last, slots)


def _slots(session: SparkSession, location: str, batch: int) -> Iterator[tuple[int, _RowStore]]:
    """Read the slots' logs of all levels out of Spark's state store."""
    if not Path(location, "state").is_dir():
        return  # a job without a stateful level
    metadata = session.read.format("state-metadata").load(location).collect()
    for row in metadata:
        frame = (
            session.read.format("statestore")
            .option("operatorId", row["operatorId"])
            .option("stateVarName", _STATE_VARIABLE)
            .option("batchId", batch)
            .load(location)
        )
        for slot in range(row["numPartitions"]):
            store = _RowStore(frame.filter(frame["partition_id"] == slot).collect())
            if store.read_meta() is not None:
                yield slot, store


class _RowStore:
    """A slot's log, as rows of Spark's state store: see `spark.slots`."""

    def __init__(self, rows: list[Any]) -> None:
        values = {row["key"][0]: bytes(row["value"][0]) for row in rows}
        self._meta = next((value for key, value in values.items() if key >= 0), None)
        self._blocks = {-1 - key: value for key, value in values.items() if key < 0}

    def read_meta(self) -> bytes | None:
        return self._meta

    def read(self, number: int) -> bytes | None:
        return self._blocks.get(number)

    def write_meta(self, data: bytes) -> None:
        raise TypeError("what has been read is not written")

    def write(self, number: int, data: bytes) -> None:
        raise TypeError("what has been read is not written")

    def remove(self, number: int) -> None:
        raise TypeError("what has been read is not written")
