"""Run DataSet programs on Spark."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark import SparkContext, SparkFiles

from penstock.execution.batch import BatchEngine, BatchRequest, BatchResult
from penstock.execution.process_folder import process_folder
from penstock.runtime.dataset.run import run_program
from penstock.runtime.job import dump_job
from penstock.spark.dataset.carrier import RddCarrier
from penstock.spark.dataset.session import BatchSession, LatestReports
from penstock.spark.dependencies import gather
from penstock.spark.session import open_session
from penstock.spark.shipment import is_local, ship
from penstock.spark.worker_environment import prepare


@dataclass
class _Program:
    """What is shipped once to each worker: the user's classes. Functions travel with tasks."""

    operators: tuple[Any, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


class SparkBatchEngine(BatchEngine):
    """Run each sink as one action of Spark, lazily; what several need is computed once."""

    def run(self, request: BatchRequest) -> BatchResult:
        blob = dump_job(_Program())  # type: ignore[arg-type]
        dependencies = gather(request.configuration)
        spark = open_session(request.configuration, request.parallelism)
        context = spark.sparkContext
        workers = prepare(context, dependencies)
        with tempfile.TemporaryDirectory(
            prefix="dataset-", dir=process_folder().path, ignore_cleanup_errors=True
        ) as folder:
            shipment = ship(context, uuid.uuid4().hex, blob, folder)
            session = BatchSession(context, shipment, workers)
            reports = context.accumulator({}, LatestReports())
            if not is_local(context):
                request = _with_files_sent(request, context)
            return run_program(request, RddCarrier(session), reports, lambda: reports.value)


def _with_files_sent(request: BatchRequest, context: SparkContext) -> BatchRequest:
    """Have Spark take registered files to other machines."""
    for path in request.cached_files.values():
        context.addFile(path, recursive=Path(path).is_dir())
    return replace(request, cached_files=SentFiles(dict(request.cached_files)))


class SentFiles(Mapping[str, str]):
    """Paths of registered files, as each worker has them."""

    def __init__(self, paths: dict[str, str]) -> None:
        self._paths = paths

    def __getitem__(self, name: str) -> str:
        path = self._paths[name]
        return path if os.path.exists(path) else SparkFiles.get(os.path.basename(path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
