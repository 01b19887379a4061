"""The job's one streaming source: all sources of the program, with level 0 inside the reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from penstock.core.io import BatchRead
from penstock.runtime.parking import park_heavy
from penstock.runtime.source_task import run_source
from penstock.spark import rpc, transport
from penstock.spark.last_words import busy_with
from penstock.spark.rows import SCHEMA, to_arrow
from penstock.spark.shipment import Shipment

FORMAT = "penstock"


def source_options(
    address: rpc.Address, shipment: Shipment, slots: tuple[int, ...]
) -> dict[str, str]:
    """Return the options that `PenstockSource` is to be loaded with."""
    return {
        **address.options(),
        "job": json.dumps([shipment.token, shipment.path, shipment.name]),
        "slots": json.dumps(slots),
    }


class PenstockSource(DataSource):
    """A data source for Spark that reads whatever the coordinator plans."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return Reader(
            rpc.Address.from_options(self.options),
            Shipment(*json.loads(self.options["job"])),
            tuple(json.loads(self.options["slots"])),
        )


class SubtaskPartition(InputPartition):
    """What one subtask of one source reads in one batch."""

    def __init__(self, read: BatchRead) -> None:
        super().__init__(read)
        self.read = read


class Reader(DataSourceStreamReader):
    """Ask the coordinator in Spark's reader process; run level 0 in its workers."""

    def __init__(self, address: rpc.Address, shipment: Shipment, slots: tuple[int, ...]) -> None:
        self._address = address
        self._shipment = shipment
        self._slots = slots

    def initialOffset(self) -> dict[str, Any]:
        return self._ask("initial_offset")

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        return self._ask("latest_offset", start)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [SubtaskPartition(read) for read in self._ask("plan_batch", start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SubtaskPartition)
        with transport.carried():
            job = self._shipment.job()
            with busy_with(job, 0, partition.read.source_id):
                rows = park_heavy(run_source(job, partition.read), job.plan.settings)
        # Outside: while this generator rests, the worker is Spark's again.
        yield from to_arrow(rows, self._slots)

    def _ask(self, method: str, *arguments: Any) -> Any:
        with transport.carried():
            return rpc.call(self._address, method, *arguments)
