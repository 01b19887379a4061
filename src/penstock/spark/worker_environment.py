"""What is special about the workers of a job: interpreter, dependencies, where output goes.

Spark keeps workers apart whose interpreter or environment variables differ. So a job's modules
are never those of another job, and its working directory is its own.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import SparkContext

from penstock.execution.process_folder import process_folder
from penstock.spark import worker_ends, worker_output, worker_setup
from penstock.spark.dependencies import Dependencies
from penstock.spark.internals import functions_get
from penstock.spark.interpreter import worker_interpreter
from penstock.spark.output_relay import OutputRelay, output_relay
from penstock.spark.shipment import is_local

_changing = threading.Lock()


@dataclass(frozen=True)
class WorkerEnvironment:
    """The environment that the functions of a job are given to Spark with."""

    variables: dict[str, str] = field(default_factory=dict)
    executable: str | None = None
    #: Where the workers' output arrives; None if it stays in Spark's log.
    relay: OutputRelay | None = None
    #: Where workers note what they do; None if they are on other machines.
    notes: Path | None = None

    @contextmanager
    def of_functions(self, context: SparkContext) -> Iterator[None]:
        """Give this environment to every function that is handed to Spark inside the block."""
        with _changing, functions_get(context, self.variables, self.executable):
            yield

    def show_output(self, *, ended: bool = False) -> bool:
        """Print what has come from workers since the last call; return whether anything has.

        :param ended: nothing more will come.
        """
        return self.relay is not None and self.relay.drain(ended=ended)


def prepare(
    context: SparkContext, dependencies: Dependencies, log_level: int | None = None
) -> WorkerEnvironment:
    """Make a job's dependencies known to Spark.

    :param log_level: of the job's own log, if it asks for one.

    :raises ConfigurationError: if the interpreter that was asked for cannot be used.
    """
    here = is_local(context)
    relay = output_relay() if here else None
    # Whatever the shell says: a key's own hash may be made from strings, and state outlives a run.
    variables = {"PYTHONHASHSEED": "0"}
    if relay is not None and relay.place is not None:
        variables[worker_output.VARIABLE] = relay.place
        variables[worker_output.LEVELS_VARIABLE] = json.dumps(worker_output.log_levels(log_level))
    notes = _notes_folder() if here else None
    if notes is not None:
        variables[worker_ends.VARIABLE] = str(notes)
    name = ""
    folder, executable = dependencies.folder, dependencies.executable
    if folder is not None:
        name = f"{folder.name}.tar.gz"
        if not here:
            _distribute(context, folder, name)
        variables[worker_setup.VARIABLE] = json.dumps([str(folder), name])
    master = str(context.master)
    if executable is not None:
        executable = worker_interpreter(executable, folder, master)
    elif master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # A context of the user's own: the first python3 of the path need not know Penstock.
        executable = sys.executable
    return WorkerEnvironment(variables, executable, relay, notes)


def _notes_folder() -> Path:
    # One for all jobs: workers of other variables would be other workers.
    folder = process_folder().path / "notes"
    folder.mkdir(exist_ok=True)
    return folder


def _distribute(context: SparkContext, folder: Path, name: str) -> None:
    packed = folder.with_name(name)
    if not packed.exists():
        unfinished = packed.with_suffix(".tmp")
        with tarfile.open(unfinished, "w:gz") as archive:
            archive.add(folder, arcname=".")
        unfinished.rename(packed)
    # A file that this context distributes already is left as it is.
    context.addArchive(str(packed))
