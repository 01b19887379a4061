"""Workers, executors and drivers die in mid-job: sums and output are exactly right all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.conftest import RunProgram

PROGRAM = Path(__file__).parent / "sums.py"
RECORDS, KEYS = 300, 6
#: The fatal record of a fault inside a task lies in the fourth batch, or in the second.
IN_FOURTH, IN_SECOND = "--fatal=100", "--fatal=40"


def check_output(folder: Path) -> None:
    """Each total of each key once, in order within the key."""
    found: dict[str, list[int]] = {}
    for file in sorted((folder / "sums").iterdir()):
        for line in file.read_text().splitlines():
            key, total = line.split()
            found.setdefault(key, []).append(int(total))
    expected = {}
    for key in range(KEYS):
        numbers = range(key, RECORDS, KEYS)
        expected[str(key)] = [sum(numbers[: n + 1]) for n in range(len(numbers))]
    assert found == expected
    assert not list((folder / "checkpoints").iterdir()), "a finished job leaves nothing behind"


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("fault", "backend"), [("worker", "hashmap"), ("raise", "hashmap"), ("worker", "rocksdb")]
)
def test_a_task_that_fails_once(
    run_program: RunProgram, tmp_path: Path, fault: str, backend: str
) -> None:
    with run_program(PROGRAM, tmp_path, fault, IN_FOURTH, f"--backend={backend}") as program:
        program.finish()
    assert (tmp_path / f"{fault}.happened").exists()
    check_output(tmp_path)


@pytest.mark.timeout(900)
def test_a_driver_that_is_killed_again_and_again(run_program: RunProgram, tmp_path: Path) -> None:
    # Inside a task; inside commit, before and after the batch is recorded; after Spark has logged
    # the batch but before its output is published; after it is published but before that is noted.
    for fault in ("task", "commit", "recorded", "publish", "published"):
        with run_program(PROGRAM, tmp_path, fault, IN_SECOND) as program:
            program.wait_for_death()
        assert (tmp_path / f"{fault}.happened").exists(), fault
    with run_program(PROGRAM, tmp_path, "none") as program:
        program.finish()
    check_output(tmp_path)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", ["none", "executor"])
def test_two_executor_processes(run_program: RunProgram, tmp_path: Path, fault: str) -> None:
    cluster = "--master=local-cluster[2,1,1024]"
    with run_program(PROGRAM, tmp_path, fault, IN_FOURTH, cluster) as program:
        program.finish(500)
    assert (tmp_path / f"{fault}.happened").exists()
    check_output(tmp_path)
