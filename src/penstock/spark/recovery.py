"""What a job on Spark goes on from: its own checkpoint, a savepoint, or a checkpoint of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import SparkSession

from penstock.common.options import IGNORE_UNCLAIMED, RECOVERY_PATH
from penstock.connectors.file_paths import absolute, join, store_of
from penstock.errors import StateError
from penstock.execution.executor import JobRequest
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.coordinator.storage import JobDirectory
from penstock.runtime.savepoint.checkpoint import Checkpoint, recorded_program
from penstock.runtime.savepoint.class_shapes import (
    changed,
    check_slots,
    class_of,
    record_shapes,
    recorded_shapes,
    shapes_of_program,
)
from penstock.runtime.savepoint.format import METADATA
from penstock.runtime.savepoint.program import describe_program, follow, is_same
from penstock.runtime.savepoint.resume import resumed_from
from penstock.spark.directory import JobFolder, checkpoint_of, last_committed, read_run
from penstock.spark.state_logs import BlockFiles, slot_logs

_STATE_VARIABLE = "log"


def recover(request: JobRequest, folder: JobFolder, session: SparkSession) -> ExecutionPlan:
    """Return the plan as it goes on from what there is; keep what is known of its dataclasses.

    :raises StateError: if the program cannot go on.
    """
    if folder.temporary:
        return _recovered(request, folder, session, changed=False)
    directory, now = JobDirectory(folder.penstock), shapes_of_program()
    before = recorded_shapes(directory)
    changes = changed(before, now)
    if changes and folder.last_committed() is not None:
        classes = {name: kind for name in changes if (kind := class_of(name)) is not None}
        check_slots(before, now, classes, f"job directory {folder.path}")
    plan = _recovered(request, folder, session, changed=bool(changes))
    record_shapes(directory, now)
    return plan


def _recovered(
    request: JobRequest, folder: JobFolder, session: SparkSession, *, changed: bool
) -> ExecutionPlan:
    """Return the plan as it goes on from what there is.

    A savepoint that the settings name is begun from once: a job that has a checkpoint since then
    goes on from that. A program whose tasks cannot go on from their state as it is (another
    parallelism, operators that came or went) gets it as from a savepoint.

    :param changed: dataclasses of the program have other fields than before.
    :raises StateError: if the program cannot go on.
    """
    plan, ignore = request.plan, IGNORE_UNCLAIMED.read(request.configuration)
    wanted = RECOVERY_PATH.read(request.configuration)
    has_state = folder.last_committed() is not None
    if wanted is not None and folder.restore != _savepoint_path(wanted, folder):
        path = _as_savepoint(wanted, folder, session, request.configuration)
        plan = resumed_from(plan, path, ignore_unclaimed=ignore)
        folder.begin_anew(path)
        return plan
    if not has_state:
        restore = folder.restore
        return plan if restore is None else resumed_from(plan, restore, ignore_unclaimed=ignore)
    _remove_own(folder)
    recorded = recorded_program(JobDirectory(folder.penstock))
    followed = follow(plan, recorded)
    if is_same(recorded, describe_program(followed)) and not changed:
        return followed
    path = join(folder.path, f"restore-{folder.run + 1}")
    store_of(path).delete_folder(path)
    checkpoint = _checkpoint(folder.path, folder.run, session, request.configuration)
    checkpoint.write_savepoint(path, with_files=False)
    plan = resumed_from(plan, path, ignore_unclaimed=ignore)
    folder.begin_anew(path)
    return plan


def _savepoint_path(wanted: str, folder: JobFolder) -> str:
    path = absolute(wanted).rstrip("/").removesuffix(f"/{METADATA}")
    return path if _is_savepoint(path) else _image(folder, path)


def _is_savepoint(path: str) -> bool:
    return store_of(path).exists(join(path, METADATA))


def _image(folder: JobFolder, path: str) -> str:
    return join(folder.path, f"restored-{path.rpartition('/')[2]}")


def _as_savepoint(
    wanted: str, folder: JobFolder, session: SparkSession, settings: Mapping[str, str]
) -> str:
    """Return a savepoint as it is, and another job's checkpoint as a savepoint."""
    path = absolute(wanted).rstrip("/").removesuffix(f"/{METADATA}")
    if _is_savepoint(path):
        return path
    found = read_run(path)
    if found is None:
        raise StateError(
            "there is nothing to go on from",
            where=f"configuration key {RECOVERY_PATH.key}",
            got=f"{path} is neither a savepoint nor the folder of a job",
            todo="give a folder with a file _metadata, or the folder of a retained checkpoint",
        )
    image = _image(folder, path)
    store_of(image).delete_folder(image)
    _checkpoint(path, found[0], session, settings).write_savepoint(image, with_files=True)
    return image


def _remove_own(folder: JobFolder) -> None:
    """Remove the image of an earlier checkpoint, once there is a checkpoint that came of it."""
    restore = folder.restore
    if restore is not None and restore.rpartition("/")[0] == folder.path:
        store_of(restore).delete_folder(restore)


def _checkpoint(
    path: str, run: int, session: SparkSession, settings: Mapping[str, str]
) -> Checkpoint:
    location = checkpoint_of(path, run)
    last = last_committed(location)
    if last is None:
        raise StateError(
            "the checkpoint holds nothing: no batch of its job was finished",
            where=f"job directory {path}",
            todo="start the job without it",
        )
    slots = _slots(session, location, last)
    return Checkpoint(JobDirectory(join(path, "penstock")), last, slots, settings)


def _slots(session: SparkSession, location: str, batch: int) -> Iterator[tuple[int, BlockFiles]]:
    """Read the slots' logs of all levels out of Spark's state store."""
    if not store_of(location).is_folder(join(location, "state")):
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
        yield from slot_logs(frame, row["numPartitions"], f"{location}-logs")
