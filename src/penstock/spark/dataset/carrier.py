"""Partitions of a DataSet program as RDDs: Spark shuffles, spills, and runs lost tasks again.

Stages in a row are one function in Spark's eyes, so one pass in Python. Records are exchanged in
chunks that the sender has pickled: Spark moves few large rows.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from pyspark import RDD, StorageLevel
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.shuffle import Aggregator, ExternalGroupBy, ExternalMerger, ExternalSorter

from penstock.core.pickling import dumps, loads
from penstock.graph.dataset.keys import Key
from penstock.runtime.dataset.carrier import Carrier, Partitions, Tools
from penstock.runtime.dataset.failure import describe
from penstock.runtime.dataset.groups import GroupTable
from penstock.runtime.dataset.sorting import Sorting
from penstock.runtime.dataset.stage import Stage, run_stages
from penstock.spark.dataset.session import BatchSession
from penstock.spark.shipment import Shipment
from penstock.spark.transport import carried

#: Records that are added to a table between two looks at the memory.
_LOOK = 1 << 14
#: Records of two inputs by key.
Tables = tuple[defaultdict[Any, list[Any]], defaultdict[Any, list[Any]]]
_PAGE = resource.getpagesize()


class SpillingTools(Tools):
    """Tables in memory while they fit; then pyspark's own, which use the disk.

    :param megabytes: memory that a worker may use before it spills.
    """

    def __init__(self, megabytes: int) -> None:
        self._megabytes = megabytes

    def pack(self, tag: int, content: Any) -> Any:
        return dumps((tag, content))

    def unpack(self, chunk: Any) -> tuple[int, Any]:
        tag, content = loads(chunk)
        return tag, content

    def size(self, chunk: Any) -> int:
        return len(chunk)

    def merge(
        self, pairs: Iterator[tuple[Any, Any]], combine: Callable[[Any, Any], Any]
    ) -> Iterator[tuple[Any, Any]]:
        merged: dict[Any, Any] = {}
        for key, value in pairs:
            if key in merged:
                merged[key] = combine(merged[key], value)
            else:
                merged[key] = value
                if not len(merged) % _LOOK and self.is_full():
                    return self._merge_on_disk(merged, pairs, combine)
        return iter(merged.items())

    def _merge_on_disk(
        self,
        merged: dict[Any, Any],
        pairs: Iterator[tuple[Any, Any]],
        combine: Callable[[Any, Any], Any],
    ) -> Iterator[tuple[Any, Any]]:
        how = Aggregator(_itself, combine, combine)
        merger: ExternalMerger[Any, Any, Any] = ExternalMerger(
            how, self._megabytes, CPickleSerializer()
        )
        merger.mergeCombiners(iter(merged.items()))
        merged.clear()
        merger.mergeCombiners(pairs)
        return iter(merger.items())

    def group(self, chunks: Iterator[Any], key: Key) -> Iterator[tuple[Any, Iterable[Any]]]:
        table = GroupTable(key)
        for chunk in chunks:
            table.add(*self.unpack(chunk))
            if self.is_full():
                rest = self._grouped(chunks, key)
                return self._group_on_disk(chain(table.take(), rest))
        return table.take()

    def _grouped(self, chunks: Iterator[Any], key: Key) -> Iterator[tuple[Any, list[Any]]]:
        table = GroupTable(key)
        for chunk in chunks:
            table.add(*self.unpack(chunk))
            yield from table.take()

    def _group_on_disk(
        self, groups: Iterator[tuple[Any, list[Any]]]
    ) -> Iterator[tuple[Any, Iterable[Any]]]:
        lists: Any = Aggregator(_one, _append, _extend)
        grouping: ExternalGroupBy[Any, Any] = ExternalGroupBy(
            lists, self._megabytes, CPickleSerializer()
        )
        grouping.mergeCombiners(groups)
        return iter(grouping.items())

    def co_group(
        self, chunks: Iterator[Any], keys: tuple[Key, Key]
    ) -> Iterator[tuple[Any, list[Any], list[Any]]]:
        tables: Tables = (defaultdict(list), defaultdict(list))
        for chunk in chunks:
            tag, records = self.unpack(chunk)
            table = tables[tag]
            for group, record in zip(keys[tag].of_all(records), records, strict=True):
                table[group].append(record)
            if self.is_full():
                return self._co_group_on_disk(tables, chunks, keys)
        return _both_sides(*tables)

    def _co_group_on_disk(
        self,
        tables: Tables,
        chunks: Iterator[Any],
        keys: tuple[Key, Key],
    ) -> Iterator[tuple[Any, list[Any], list[Any]]]:
        held = (
            (group, [(tag, value) for value in table.pop(group)])
            for tag, table in enumerate(tables)
            for group in list(table)
        )
        rest = (
            (group, [(tag, record)])
            for tag, records in map(self.unpack, chunks)
            for group, record in zip(keys[tag].of_all(records), records, strict=True)
        )
        for group, members in self._group_on_disk(chain(held, rest)):
            sides: tuple[list[Any], list[Any]] = ([], [])
            for tag, value in members:
                sides[tag].append(value)
            yield group, *sides

    def sort(self, values: Iterable[Any], sorting: Sorting) -> Iterator[Any]:
        if type(values) is list:
            sorting.apply(values)
            return iter(values)
        values = iter(values)
        held: list[Any] = []
        while more := list(islice(values, _LOOK)):
            held += more
            if self.is_full():
                sorter: Any = ExternalSorter(
                    self._megabytes, BatchedSerializer(CPickleSerializer())
                )
                return iter(sorter.sorted(chain(held, values), key=sorting.place))
        sorting.apply(held)
        return iter(held)

    def is_full(self) -> bool:
        return _memory() > self._megabytes << 20


def _memory() -> int:
    """Return the bytes of memory that this process has now."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        # Not on macOS. There it is the most that the process has ever had: it spills too early.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _both_sides(
    first: defaultdict[Any, list[Any]], second: defaultdict[Any, list[Any]]
) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    for key, records in first.items():
        yield key, records, second.pop(key, [])
    for key, records in second.items():
        yield key, [], records


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
            # Spark leaves an exchange out if it believes that everything is where it belongs.
            keep = all(stage.stays for stage in self._stages)
            self._made = self._base.mapPartitionsWithIndex(work, preservesPartitioning=keep)
        return self._made

    def through(self, stage: Stage) -> Partitions:
        if self._made is not None and self._stages:
            return RddPartitions(self._session, self._made, (stage,), self.count)
        return RddPartitions(self._session, self._base, (*self._stages, stage), self.count)

    def exchange(self, sender: Stage, count: int) -> Partitions:
        made = self.through(sender)
        with self._session.functions():
            sent = _rdd_of(made).partitionBy(count, _itself)
            chunks = sent.mapPartitions(_chunks, preservesPartitioning=True)
        return RddPartitions(self._session, chunks, count=count)

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


def _chunks(pairs: Iterable[Any]) -> Iterator[Any]:
    for _, chunk in pairs:
        yield chunk


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
