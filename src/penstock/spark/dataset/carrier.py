"""Partitions of a DataSet program as RDDs: Spark shuffles, spills, and runs lost tasks again.

Stages in a row are one function in Spark's eyes, so one pass in Python. What one exchange sends is
pickled in batches by the sender and never looked into by the JVM.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pyspark import RDD, StorageLevel
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.shuffle import Aggregator, ExternalGroupBy, ExternalMerger, ExternalSorter

from penstock.runtime.dataset.carrier import Carrier, Partitions, Tools
from penstock.runtime.dataset.failure import describe
from penstock.runtime.dataset.stage import Stage, run_stages
from penstock.spark.dataset.session import BatchSession
from penstock.spark.shipment import Shipment
from penstock.spark.transport import carried


class SpillingTools(Tools):
    """pyspark's own grouping and sorting, which use the disk when memory is short.

    :param megabytes: memory for one table or sort.
    """

    def __init__(self, megabytes: int) -> None:
        self._megabytes = megabytes

    def merge(
        self, pairs: Iterator[tuple[Any, Any]], combine: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[Any, Any]]:
        merger: ExternalMerger[Any, Any, Any] = ExternalMerger(
            Aggregator(_itself, combine, combine), self._megabytes * 0.9, CPickleSerializer()
        )
        merger.mergeCombiners(pairs)
        return iter(merger.items())

    def group(self, pairs: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Iterable[Any]]]:
        lists: Any = Aggregator(_one, _append, _extend)
        grouping: ExternalGroupBy[Any, Any] = ExternalGroupBy(
            lists, self._megabytes * 0.9, CPickleSerializer()
        )
        grouping.mergeValues(pairs)
        return iter(grouping.items())

    def sort(self, values: Iterable[Any], key: Callable[[Any], Any]) -> Iterator[Any]:
        sorter: Any = ExternalSorter(self._megabytes * 0.9, BatchedSerializer(CPickleSerializer()))
        return iter(sorter.sorted(values, key=key))

    def is_full(self) -> bool:
        # In kilobytes, and the most that it has been: a process does not give memory back.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > self._megabytes * 1024


class _Pass:
    """Stages in a row, as the function of one RDD."""

    def __init__(self, shipment: Shipment, stages: tuple[Stage, ...]) -> None:
        self._shipment = shipment
        self._stages = stages

    def __call__(self, partition: int, values: Iterable[Any]) -> Iterator[Any]:
        with carried():
            # Before the first record is unpickled: it may be of a class of the user's script.
            self._shipment.job()
            try:
                yield from run_stages(self._stages, partition, iter(values))
            except Exception as error:
                raise describe(error) from None


class RddPartitions(Partitions):
    """An RDD, and the stages that are still to be applied to it."""

    def __init__(
        self,
        session: BatchSession,
        rdd: RDD[Any],
        stages: tuple[Stage, ...] = (),
        count: int | None = None,
    ) -> None:
        self._session = session
        self._base = rdd
        self._stages = stages
        self._made: RDD[Any] | None = None if stages else rdd
        self.count = rdd.getNumPartitions() if count is None else count

    @property
    def rdd(self) -> RDD[Any]:
        """The RDD with all stages applied."""
        if self._made is None:
            work = _Pass(self._session.shipment, self._stages)
            # Spark leaves an exchange out if it believes that keys are where they belong.
            keep = all(stage.keeps_keys for stage in self._stages)
            self._made = self._base.mapPartitionsWithIndex(work, preservesPartitioning=keep)
        return self._made

    def through(self, stage: Stage) -> Partitions:
        if self._made is not None and self._stages:
            return RddPartitions(self._session, self._made, (stage,), self.count)
        return RddPartitions(self._session, self._base, (*self._stages, stage), self.count)

    def exchange(self, route: Callable[[Any], int], count: int) -> Partitions:
        with self._session.functions():
            sent = self.rdd.partitionBy(count, route)
        return RddPartitions(self._session, sent, count=count)

    def union(self, others: list[Partitions]) -> Partitions:
        rdd = self.rdd
        with self._session.functions():
            for other in others:
                rdd = rdd.union(_rdd_of(other))
        return RddPartitions(self._session, rdd)

    def merged(self, other: Partitions) -> Partitions:
        with self._session.functions():
            together = self.rdd.union(_rdd_of(other))
        # Spark sees that both were sent by the same function. Else partitions would stand side by
        # side, and records of one key apart.
        assert together.getNumPartitions() == self.count
        return RddPartitions(self._session, together, count=self.count)

    def fewer(self, count: int) -> Partitions:
        with self._session.functions():
            return RddPartitions(self._session, self.rdd.coalesce(count), count=count)

    def cross(self, other: Partitions) -> Partitions:
        with self._session.functions():
            return RddPartitions(self._session, self.rdd.cartesian(_rdd_of(other)))

    def keep(self) -> Partitions:
        with self._session.functions():
            self.rdd.persist(StorageLevel.MEMORY_AND_DISK)
        return RddPartitions(self._session, self.rdd, count=self.count)

    def settled(self) -> Partitions:
        kept = self.keep()
        assert isinstance(kept, RddPartitions)
        kept.rdd.localCheckpoint()
        self._session.run(kept.rdd.count)
        return kept

    def release(self) -> None:
        self._session.forget(self.rdd)

    def collect(self) -> list[Any]:
        with self._session.functions():
            self.rdd.getNumPartitions()  # hands the functions over, with this job's environment
        return list(self._session.run(self.rdd.collect))


def _rdd_of(partitions: Partitions) -> RDD[Any]:
    assert isinstance(partitions, RddPartitions)
    return partitions.rdd


class RddCarrier(Carrier):
    """Makes RDDs."""

    def __init__(self, session: BatchSession) -> None:
        self._session = session
        self.tools = SpillingTools(session.worker_megabytes)

    def read(self, stage: Stage, pieces: Sequence[Sequence[Any]]) -> Partitions:
        context = self._session.context
        with self._session.functions():
            lists = context.parallelize(pieces, len(pieces))
            opened = lists.mapPartitions(_opened)
        return RddPartitions(self._session, opened, (stage,), len(pieces))

    def broadcast(self, values: list[Any]) -> Any:
        return self._session.broadcast(values)


def _opened(lists: Iterable[Sequence[Any]]) -> Iterator[Any]:
    for pieces in lists:
        yield from pieces


def _itself(value: Any) -> Any:
    return value


def _one(value: Any) -> list[Any]:
    return [value]


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _extend(values: list[Any], more: list[Any]) -> list[Any]:
    values.extend(more)
    return values
