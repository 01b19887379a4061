"""Classes of the user's own script as record, as key and in state, across a kill of the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "tills.py"
SALES = 400
#: By place: (sales, cents) after all of the input.
EXPECTED = {
    f"{('Bergen', 'Oslo')[start % 2]}-{start % 5}": (
        len(range(start, SALES, 10)),
        sum(range(start, SALES, 10)),
    )
    for start in range(10)
}


@contextmanager
def program(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Run the script; whatever is left of it at the end is killed."""
    with (directory / "stderr.txt").open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(directory / "checkpoints")],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            # A group of its own: the kill takes driver and JVM together, as when a machine fails.
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def parse(line: str) -> tuple[str, int, int]:
    place, sales, cents = line.partition("> ")[2].split()
    return place, int(sales), int(cents)


def all_results(directory: Path) -> list[tuple[str, int, int]]:
    with program(directory) as process:
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, (directory / "stderr.txt").read_text()
    return [parse(line) for line in output.splitlines()]


def totals(results: list[tuple[str, int, int]]) -> dict[str, tuple[int, int]]:
    return {place: (sales, cents) for place, sales, cents in results}


def results_until_killed(directory: Path, after: int) -> list[tuple[str, int, int]]:
    lines = []
    with program(directory) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if len(lines) == after:
                assert process.poll() is None
                os.killpg(process.pid, signal.SIGKILL)  # what is in the pipe is still read
    return [parse(line) for line in lines if line.endswith("\n")]


@pytest.mark.timeout(500)
def test_a_run_killed_half_way_and_started_again(tmp_path: Path) -> None:
    before = results_until_killed(tmp_path, after=130)
    after = all_results(tmp_path)

    assert len(after) < SALES, "the restart went on from the checkpoint, not from the start"
    assert min(sales for _, sales, _ in after) > 1
    assert totals(after) == EXPECTED
    assert sorted({*before, *after}) == sorted(
        (place, number, sum(range(start, start + 10 * number, 10)))
        for start, place in enumerate(EXPECTED)
        for number in range(1, 41)
    )
    # Only the batch in whose printing the process was killed may have been printed twice.
    assert len(before) + len(after) <= SALES + 40


LOCAL_CLASSES = Path(__file__).parent / "programs" / "local_classes.py"


@pytest.mark.timeout(300)
def test_classes_inside_functions_over_a_restart(tmp_path: Path) -> None:
    """State is found again by keys of such classes, with whatever seed the shell has."""
    script = tmp_path / "program" / "local_classes.py"
    script.parent.mkdir()
    script.write_text(LOCAL_CLASSES.read_text())
    (script.parent / "wave.py").write_text("SUFFIX = '!'\n")
    lines: list[str] = []
    for fatal, seed in ((17, "1"), (-1, "2")):
        done = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "checkpoints"), str(fatal)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert (done.returncode == 0) == (fatal < 0), done.stderr
        lines += [line.partition("> ")[2] for line in done.stdout.splitlines()]
    assert sorted(lines) == sorted(
        f"{kind} {'abc'[n % 3]}{suffix} {n} {n // 3 + 1} {2 * n}"
        for kind, suffix in (("Key", ""), ("Named", "!"))
        for n in range(30)
    )
