"""Several jobs in one process: one after another, side by side, of different parallelism."""

from __future__ import annotations

from pathlib import Path

from penstock.common import JobStatus
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import IntCounter, MapFunction, RuntimeContext
from tests.spark.conftest import MakeEnvironment


class Count(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = IntCounter()
        runtime_context.add_accumulator("seen", self.seen)

    def map(self, value: int) -> int:
        self.seen.add(1)
        return value


def test_execute_twice_in_one_program(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.from_collection([1, 2, 3]).map(Count()).write_as_text(str(tmp_path / "one"))
    first = env.execute("job")
    env.from_collection([4, 5]).map(Count()).write_as_text(str(tmp_path / "two"))
    second = env.execute("job")

    assert first.get_job_id() != second.get_job_id()
    assert first.get_accumulator_result("seen") == 3
    assert second.get_all_accumulator_results() == {"seen": 2}
    assert first.get_net_runtime() > 0


def test_two_jobs_at_the_same_time(make_env: MakeEnvironment) -> None:
    jobs = []
    for parallelism in (1, 3):
        env = make_env(parallelism=parallelism, **{"penstock.batch.max-records": "20"})
        pairs = [(n % 5, n) for n in range(100)]
        env.from_collection(pairs).key_by(lambda pair: pair[0]).sum(1).map(Count()).print()
        jobs.append(env.execute_async(f"parallelism {parallelism}"))

    results = [job.get_job_execution_result().result() for job in jobs]

    assert [r.get_accumulator_result("seen") for r in results] == [100, 100]
    assert [job.get_job_status().result() for job in jobs] == [JobStatus.FINISHED] * 2
