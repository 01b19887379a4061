"""Slots land where they should: our hash is Spark's."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.spark.surrogates import spark_hash, surrogates


def test_hash_is_that_of_spark(session: SparkSession) -> None:
    numbers = [*range(500), 2**31 - 1, -1, -(2**31)]
    frame = session.createDataFrame([(n,) for n in numbers], "n INT")
    found = {row.n: row.h for row in frame.selectExpr("n", "hash(n) AS h").collect()}
    assert found == {n: spark_hash(n) for n in numbers}


def test_each_slot_has_a_partition_of_its_own() -> None:
    for slots in (1, 2, 3, 8, 100):
        keys = surrogates(slots)
        assert [spark_hash(key) % slots for key in keys] == list(range(slots))


def test_keys_do_not_change() -> None:
    # They are the grouping keys of the state in every checkpoint that was ever written.
    assert surrogates(1) == (0,)
    assert surrogates(4) == tuple(surrogates(4))
    assert surrogates(2) == (2, 0)
