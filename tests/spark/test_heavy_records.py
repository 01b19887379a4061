"""Much data in few records: more than Spark's JVM could hold passes through a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.runtime.envelope import RECORD_BYTES
from tests.spark.conftest import MakeEnvironment


@pytest.mark.timeout(300)
def test_four_hundred_megabytes_in_one_batch(make_env: MakeEnvironment, tmp_path: Path) -> None:
    env = make_env(**{"execution.checkpointing.dir": str(tmp_path)})
    size = 200_000
    records = env.from_collection(list(range(2000))).map(lambda n: (n % 10, bytes(size)))
    sizes = records.key_by(lambda record: record[0]).map(lambda record: (record[0], record[1]))
    total = [0] * 10
    with sizes.execute_and_collect("heavy") as results:
        for key, data in results:
            total[key] += len(data)
    assert total == [200 * size] * 10
    assert list(tmp_path.iterdir()) == []


def test_a_record_of_many_megabytes(make_env: MakeEnvironment) -> None:
    env = make_env(parallelism=1)
    size = RECORD_BYTES // 4
    records = env.from_collection([1]).map(lambda n: bytes(size)).key_by(lambda _: 0).map(len)
    with records.execute_and_collect("heaviest") as results:
        assert list(results) == [size]
