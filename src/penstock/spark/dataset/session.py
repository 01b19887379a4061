"""What the partitions of one execution share: Spark, the user's classes, output, retries."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import cloudpickle
from pyspark import RDD, AccumulatorParam, SparkContext

from penstock.errors import JobFailedError, PenstockError
from penstock.spark.failure import translate
from penstock.spark.shipment import Shipment
from penstock.spark.worker_environment import WorkerEnvironment

R = TypeVar("R")

_MEMORY = "spark.python.worker.memory"
_UNITS = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
#: How often an action is tried whose workers died. Spark itself tries no task twice on a local
#: master; what the first try has shuffled is still there for the next.
_TRIES = 4
_SHOW_SECONDS = 0.05


class LatestReports(AccumulatorParam[Any]):
    """Reports of subtasks by place. A task that was run twice has reported the same place."""

    def zero(self, value: Any) -> Any:
        return {}

    def addInPlace(self, value1: Any, value2: Any) -> Any:
        value1.update(value2)
        return value1


class BatchSession:
    """Spark as one execution of a DataSet program sees it."""

    def __init__(
        self, context: SparkContext, shipment: Shipment, workers: WorkerEnvironment
    ) -> None:
        self.context = context
        self.shipment = shipment
        self._workers = workers
        memory = str(context.getConf().get(_MEMORY, "512m")).lower()
        self.worker_megabytes = int(float(memory[:-1]) * _UNITS[memory[-1]])

    @contextmanager
    def functions(self) -> Iterator[None]:
        """Hand functions to Spark inside this block: they get the job's environment."""
        with self._workers.of_functions(self.context):
            yield

    def run(self, action: Callable[[], R]) -> R:
        """Run an action of Spark; what workers print is shown meanwhile.

        :raises PenstockError: whatever went wrong.
        """
        with self._showing():
            for left in reversed(range(_TRIES)):
                try:
                    return action()
                except Exception as error:
                    told = translate(error)
                    if not left or not isinstance(told, JobFailedError) or not _was_killed(error):
                        raise told from None
        raise AssertionError("the last try returns or raises")

    def broadcast(self, values: list[Any]) -> Any:
        """Give a list to all workers."""
        return _Broadcast(self.context.broadcast(cloudpickle.dumps(values)))

    def forget(self, rdd: RDD[Any]) -> None:
        """Remove what Spark has kept of an RDD; if Spark has gone there is nothing to remove."""
        with contextlib.suppress(Exception):
            rdd.unpersist()

    @contextmanager
    def _showing(self) -> Iterator[None]:
        ended = threading.Event()

        def show() -> None:
            while not ended.wait(_SHOW_SECONDS):
                self._workers.show_output()

        thread = threading.Thread(target=show, name="penstock-output", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._workers.show_output(ended=True)


def _was_killed(error: BaseException) -> bool:
    text = str(error)
    return not isinstance(error, PenstockError) and (
        "Python worker exited unexpectedly" in text
        or "EOFException" in text
        or "Connection reset" in text
    )


class _Broadcast:
    """A list in every worker, unpickled once in each."""

    def __init__(self, blob: Any) -> None:
        self._blob = blob
        self._values: list[Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_blob": self._blob, "_values": None}

    @property
    def value(self) -> list[Any]:
        if self._values is None:
            values: list[Any] = cloudpickle.loads(self._blob.value)
            self._values = values
        return self._values
