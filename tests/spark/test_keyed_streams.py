"""Keyed streams on Spark: totals are right, every key stays in one slot, cuts do not matter."""

from __future__ import annotations

import pytest

from tests.spark.conftest import MakeEnvironment

RECORDS = [(f"key-{n % 7}", n) for n in range(200)]
TOTALS = {f"key-{k}": sum(range(k, 200, 7)) for k in range(7)}


@pytest.mark.parametrize("batch", ["200", "60"])
def test_rolling_sums(make_env: MakeEnvironment, batch: str) -> None:
    env = make_env(**{"penstock.batch.max-records": batch})
    sums = env.from_collection(RECORDS).key_by(lambda pair: pair[0]).sum(1)
    with sums.execute_and_collect() as results:
        rolling = list(results)
    assert len(rolling) == len(RECORDS)
    assert dict(rolling) == TOTALS
    for key in TOTALS:
        of_key = [total for name, total in rolling if name == key]
        assert of_key == sorted(of_key)


def test_more_slots_than_cores_and_two_exchanges(make_env: MakeEnvironment) -> None:
    env = make_env(parallelism=3)
    counted = (
        env.from_collection(RECORDS)
        .key_by(lambda pair: pair[0])
        .sum(1)
        .map(lambda pair: (pair[0][-1] in "135", 1))
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    with counted.execute_and_collect() as results:
        last = dict(results)
    odd = sum(name[-1] in "135" for name, _ in RECORDS)
    assert last == {True: odd, False: len(RECORDS) - odd}


def test_no_exchange_at_all(make_env: MakeEnvironment) -> None:
    env = make_env(parallelism=1)
    with env.from_collection([1, 2, 3]).map(lambda n: n * n).execute_and_collect() as results:
        assert list(results) == [1, 4, 9]
