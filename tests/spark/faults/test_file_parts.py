"""A job that writes files is killed again and again while somebody reads what it has finished."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from penstock.spark.directory import folder_name
from tests.spark.conftest import Program, RunProgram
from tests.spark.faults.parts import line

HERE = Path(__file__).parent
#: The whole of it is twenty rounds; every round starts a JVM.
ROUNDS = int(os.environ.get("PENSTOCK_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("PENSTOCK_KILL_SEED", "20240229"))
#: A round lives for some batches of 20 records; what is left is for the last run.
RECORDS = 100 * ROUNDS + 200
SINKS = ("beside", "behind")


@contextmanager
def reading(folder: Path) -> Iterator[Path]:
    """Read finished parts in a process of its own; the report is there afterwards."""
    stop, report = folder / "stop", folder / "report.txt"
    reader = subprocess.Popen([sys.executable, HERE / "reader.py", folder / "out", stop, report])
    try:
        yield report
        stop.touch()
        assert reader.wait(60) == 0
    finally:
        reader.kill()
        reader.wait()


def files(folder: Path) -> object:
    return {str(path) for path in (folder / "out").rglob("*")}


def commits(folder: Path) -> object:
    log = folder / "checkpoints" / folder_name("parts") / "spark" / "commits"
    return {name for name in os.listdir(log) if name.isdigit()} if log.exists() else set()


def wait_for_change(look: Callable[[Path], object], program: Program, folder: Path) -> bool:
    """Wait until the job has done something; tell whether it is still running."""
    before = look(folder)
    deadline = time.monotonic() + 120
    while program.process.poll() is None and look(folder) == before:
        assert time.monotonic() < deadline, "the job does nothing"
        time.sleep(0.05)
    return program.process.poll() is None


def family_of(program: Program) -> dict[int, tuple[str, int]]:
    """Return the command and the parent of everything that a program has started, by id."""
    found = {}
    for process in psutil.Process(program.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it may end while it is looked at
            found[process.pid] = " ".join(process.cmdline()), process.ppid()
    return found


def kill_a_worker(program: Program, chance: random.Random) -> bool:
    """Kill one of the processes in which Spark runs Python."""
    family = family_of(program)
    daemons = {pid for pid, (command, _) in family.items() if "daemon" in command}
    workers = sorted(pid for pid in daemons if family[pid][1] in daemons)
    if workers:
        os.kill(chance.choice(workers), signal.SIGKILL)
    return bool(workers)


def end_the_run(program: Program, chance: random.Random) -> str:
    """Kill the driver alone, its JVM, or the whole family at once; return whom."""
    victim = chance.choice(["driver", "jvm", "all"])
    if victim == "all":
        program.kill()
        return victim
    java = [pid for pid, (command, _) in family_of(program).items() if "java" in command[:200]]
    os.kill(java[0] if victim == "jvm" and java else program.process.pid, signal.SIGKILL)
    program.process.wait(120)
    return victim


def check_output(folder: Path, records: int) -> None:
    expected = sorted(line(number) for number in range(records))
    for sink in SINKS:
        parts = list((folder / "out" / sink).iterdir())
        assert [path.name for path in parts if path.name.startswith(".")] == []
        lines = [text for path in parts for text in path.read_text().splitlines()]
        assert sorted(lines) == expected, sink
        assert all(path.name.startswith(("part-0-", "part-1-")) for path in parts)
        assert len(parts) > 4


@pytest.mark.timeout(1200)
def test_killed_at_random_moments(run_program: RunProgram, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    print(f"seed {SEED}, {ROUNDS} rounds")
    (tmp_path / "out").mkdir()
    arguments = (HERE / "parts.py", tmp_path, f"--records={RECORDS}")
    killed = []
    with reading(tmp_path) as report:
        for _ in range(ROUNDS):
            with run_program(*arguments) as program:
                # Some die in the batch that they begin with, which others have begun before them.
                sign = files if chance.random() < 0.3 else commits
                if not wait_for_change(sign, program, tmp_path):
                    break
                time.sleep(chance.uniform(0, 1))
                if chance.random() < 0.5 and kill_a_worker(program, chance):
                    killed.append("worker")
                time.sleep(chance.uniform(0, 1.5))
                if program.process.poll() is None:
                    killed.append(end_the_run(program, chance))
        with run_program(*arguments) as program:
            program.finish(600)
    print("killed:", *killed)
    looks, *complaints = report.read_text().splitlines()
    assert complaints == []
    assert int(looks) > 10
    assert len(killed) >= ROUNDS // 2
    check_output(tmp_path, RECORDS)
    assert list((tmp_path / "checkpoints").iterdir()) == []


@pytest.mark.timeout(600)
def test_two_executor_processes(run_program: RunProgram, tmp_path: Path) -> None:
    cluster = "--master=local-cluster[2,1,1024]"
    with run_program(HERE / "parts.py", tmp_path, "--records=300", cluster) as program:
        program.finish(500)
    check_output(tmp_path, 300)
