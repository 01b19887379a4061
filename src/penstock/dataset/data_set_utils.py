"""What is done to data sets now and then: numbering, sampling, counting by partition."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.core.functions.batch import MapPartitionFunction
from penstock.dataset.checks import check_count
from penstock.dataset.data_set import DataSet
from penstock.errors import ConfigurationError, show_value
from penstock.graph.call_site import capture_call_site
from penstock.graph.dataset.nodes import SampleNode, ZipNode


class DataSetUtils:
    """Flink's `DataSetUtils`.

    >>> from penstock.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.create_collections_environment()
    >>> DataSetUtils.zip_with_index(env.from_elements("a", "b")).collect()
    [(0, 'a'), (1, 'b')]
    """

    @staticmethod
    def zip_with_index(data: DataSet) -> DataSet:
        """Pair each record with a number: `(number, record)`, from zero on without gaps."""
        return data._add(ZipNode, "ZipWithIndex", consecutive=True)

    @staticmethod
    def zip_with_unique_id(data: DataSet) -> DataSet:
        """Pair each record with a number that no other has: `(number, record)`."""
        return data._add(ZipNode, "ZipWithUniqueId", consecutive=False)

    @staticmethod
    def sample(
        data: DataSet, with_replacement: bool, fraction: float, seed: int | None = None
    ) -> DataSet:
        """Keep each record with a probability, or `fraction` times on average.

        :param fraction: from 0 to 1 without replacement, from 0 with it.
        """
        if fraction < 0 or (fraction > 1 and not with_replacement):
            raise ConfigurationError(
                "the fraction of a sample without replacement is from 0 to 1, with it from 0",
                where=f"sample() at {capture_call_site()}",
                got=show_value(fraction),
            )
        return data._add(
            SampleNode,
            "Sample",
            with_replacement=with_replacement,
            fraction=fraction,
            seed=_seed(seed),
            keeps=True,
        )

    @staticmethod
    def sample_with_size(
        data: DataSet, with_replacement: bool, num_samples: int, seed: int | None = None
    ) -> DataSet:
        """Keep a number of records, by chance."""
        check_count("sample_with_size()", num_samples, 0)
        return data._add(
            SampleNode,
            "SampleWithSize",
            with_replacement=with_replacement,
            size=num_samples,
            seed=_seed(seed),
            keeps=True,
        )

    @staticmethod
    def count_elements_per_partition(data: DataSet) -> DataSet:
        """Return `(subtask, number of its records)`."""
        return data.map_partition(_CountPartition()).name("CountElementsPerPartition")

    @staticmethod
    def partition_by_range(data: DataSet, *fields: Any) -> DataSet:
        """Do what `DataSet.partition_by_range` does."""
        return data.partition_by_range(*fields)


class _CountPartition(MapPartitionFunction[Any, tuple[int, int]]):
    def map_partition(self, values: Iterable[Any]) -> Iterator[tuple[int, int]]:
        subtask = self.get_runtime_context().get_index_of_this_subtask()
        yield subtask, sum(1 for _ in values)


def _seed(seed: int | None) -> int:
    return random.randrange(1 << 62) if seed is None else seed
