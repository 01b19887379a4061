"""Random programs, and random harm to their processes while they run.

A driver runs one random program after the other. In each round processes are killed or stopped at
random moments; what the program has written in the end is compared with what is right. Programs
go on in the same driver as long as it lives: only one that was killed is started again, and is
given the same round once more. `make chaos ROUNDS=20` prints rounds, lost, doubled, wrong, hung
and left-over processes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.spark.faults.chaos_program import lines_of, right_lines
from tests.spark.faults.harms import HARMS, MARK, harm, processes, small_disk, victims

PROGRAM = Path(__file__).with_name("chaos_program.py")
#: How long the processes of a driver that has ended may take to follow it, in seconds. A child
#: that a program has forked sleeps for 20.
_FOLLOW_SECONDS = 40.0


@dataclass
class Tally:
    """What the rounds came to."""

    rounds: int = 0
    harms: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    hung: int = 0
    left_over: int = 0
    #: Jobs that ended with an error, and were executed again in the same driver.
    failed: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong or self.hung or self.left_over)

    def add(self, other: Tally) -> None:
        self.harms += other.harms
        for name in ("rounds", "lost", "doubled", "wrong", "hung", "left_over", "failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def compare(self, out: Path, expected: Counter[str]) -> None:
        """Count what differs between the files of a sink and what they should have."""
        written = Counter(lines_of(out)) if out.exists() else Counter()
        self.lost += sum((expected - written).values())
        more = written - expected
        self.doubled += sum(count for line, count in more.items() if line in expected)
        self.wrong += sum(count for line, count in more.items() if line not in expected)

    def __str__(self) -> str:
        told = " ".join(f"{name}={count}" for name, count in sorted(self.harms.items()))
        return (
            f"rounds {self.rounds}, lost {self.lost}, doubled {self.doubled}, wrong {self.wrong}, "
            f"hung {self.hung}, left-over processes {self.left_over}, executed again "
            f"{self.failed} ({told})"
        )


class Driver:
    """A process that runs the programs of the rounds, one after the other."""

    def __init__(self, folder: Path, number: int) -> None:
        self.mark = uuid.uuid4().hex
        self._answers = folder / f"answers-{number}"
        self._answers.mkdir()
        self._output = folder / f"output-{number}.txt"
        # Every other one lets Spark repeat a task, so that not each dead worker ends an attempt.
        master = ("local[2]", "local[2,4]")[number % 2]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), master, str(self._answers)],
                env={**os.environ, MARK: self.mark},
                stdin=subprocess.PIPE, stdout=output, stderr=output, text=True,
                start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def begin(self, seed: int, folder: Path, forks: bool) -> None:
        """Let it run the program of a seed."""
        self._answers.joinpath(str(seed)).unlink(missing_ok=True)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            task = {"seed": seed, "folder": str(folder), "forks": forks}
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()

    def answer(self, seed: int) -> str | None:
        """Return how the program of a seed has ended: nothing if well; None while it runs."""
        path = self._answers / str(seed)
        return path.read_text() if path.exists() else None

    def end(self, patience: float) -> bool:
        """Let it end by itself; tell whether it has. If it takes too long it is killed."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def kill(self) -> None:
        """End it and all that it has started."""
        os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Lane:
    """Rounds that follow one another: a driver that is replaced when it dies, and its disk.

    :param keep: where the folder of a round that was not right goes, for whoever looks into it.
    """

    def __init__(self, folder: Path, patience: float, keep: Path | None) -> None:
        self._folder, self._disk = folder, folder / "disk"
        self._patience = patience
        self._keep = keep
        self._numbers = itertools.count()
        self._driver: Driver | None = None
        #: Drivers that have ended, and until when their processes may live.
        self._buried: list[tuple[Driver, float]] = []

    def run(self, seeds: Iterator[int]) -> Iterator[Tally]:
        """Run rounds until there is no seed left."""
        self._disk.mkdir()
        with small_disk(self._disk):
            for seed in seeds:
                yield self._checked(seed)
            yield self._ended()

    def _checked(self, seed: int) -> Tally:
        tally = Tally(rounds=1)
        folder = self._disk / str(seed)
        folder.mkdir()
        self._run_round(folder, seed, tally)
        tally.compare(folder / "out", Counter(right_lines(seed)))
        if not tally.is_clean:
            output = "" if self._driver is None else self._driver.output
            print(f"seed {seed}: {tally}\n{output[-3000:]}", flush=True)
            if self._keep is not None:
                shutil.copytree(folder, self._keep / str(seed), dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        tally.left_over += self._left_over(wait=False)
        return tally

    def _run_round(self, folder: Path, seed: int, tally: Tally) -> None:
        """Run one program to its end, whatever happens to it on the way."""
        chance = random.Random(seed)
        harms = [chance.choice(HARMS) for _ in range(chance.randint(1, 3))]
        forks = "fork" in harms
        if forks:
            tally.harms["fork"] += 1
            harms = [each for each in harms if each != "fork"] or ["driver"]
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            driver = self._living_driver()
            driver.begin(seed, folder, forks)
            while (answer := driver.answer(seed)) is None and driver.is_alive:
                if time.monotonic() > deadline:
                    tally.hung += 1
                    self._show_stacks(driver)
                    driver.kill()
                    return
                # Not before it works: a program that has not begun has nothing to lose.
                if harms and (folder / "checkpoints").exists():
                    time.sleep(chance.uniform(0, 2))
                    if driver.answer(seed) is None and driver.is_alive:
                        harmed = harm(driver.mark, driver.pid, harms[-1], self._disk, chance)
                        tally.harms[harms.pop()] += harmed
                time.sleep(0.05)
            if answer == "":
                return
            if answer is not None:
                tally.failed += 1
                print(f"seed {seed}: executed again after {answer}", flush=True)
        tally.hung += 1

    def _living_driver(self) -> Driver:
        if self._driver is not None and not self._driver.is_alive:
            self._buried.append((self._driver, time.monotonic() + _FOLLOW_SECONDS))
            self._driver = None
        if self._driver is None:
            self._driver = Driver(self._folder, next(self._numbers))
        return self._driver

    def _ended(self) -> Tally:
        """End the last driver, and wait for all processes of all drivers."""
        tally = Tally()
        if self._driver is not None:
            tally.hung += not self._driver.end(60)
            self._buried.append((self._driver, time.monotonic() + _FOLLOW_SECONDS))
        tally.left_over += self._left_over(wait=True)
        return tally

    def _left_over(self, wait: bool) -> int:
        """Count processes that have outlived their driver for too long, and end them."""
        count = 0
        for driver, until in list(self._buried):
            while (left := processes(driver.mark)) and time.monotonic() < until and wait:
                time.sleep(0.5)
            if left and time.monotonic() < until:
                continue
            self._buried.remove((driver, until))
            count += len(left)
            for pid, command in left.items():
                print(f"process {pid} is left over: {command}", flush=True)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return count

    @staticmethod
    def _show_stacks(driver: Driver) -> None:
        """Print where the threads of a driver and of its JVM stand, if the tools are there."""
        spy = Path(sys.executable).with_name("py-spy")
        commands = [[str(spy), "dump", "--pid", str(driver.pid)]]
        commands += [["jstack", str(pid)] for pid in victims(driver.mark, driver.pid, "jvm")]
        for command in commands:
            with contextlib.suppress(OSError):
                told = subprocess.run(command, capture_output=True, text=True, timeout=60)
                print(told.stdout, flush=True)


def run(
    rounds: int,
    seed: int,
    patience: float = 240,
    side_by_side: int = 1,
    seconds: float = float("inf"),
    keep: Path | None = None,
) -> Tally:
    """Run some rounds; each has a seed of its own, which is printed if something was not right.

    :param seconds: no round begins later than that.
    """
    whole = Tally()
    lock = threading.Lock()
    end = time.monotonic() + seconds
    numbers = iter(range(seed, seed + rounds))

    def seeds() -> Iterator[int]:
        while time.monotonic() < end:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            yield number

    def lane() -> None:
        with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
            for tally in Lane(Path(folder), patience, keep).run(seeds()):
                with lock:
                    whole.add(tally)
                    if whole.rounds % 20 == 0:
                        print(whole, flush=True)

    with ThreadPoolExecutor(side_by_side) as pool:
        for ended in [pool.submit(lane) for _ in range(side_by_side)]:
            ended.result()
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--side-by-side", type=int, default=2, help="drivers at the same time")
    parser.add_argument("--patience", type=float, default=240, help="seconds until a round hangs")
    parser.add_argument("--keep", type=Path, help="where folders of rounds that went wrong go")
    options = parser.parse_args()
    tally = run(
        options.rounds,
        options.seed,
        patience=options.patience,
        side_by_side=options.side_by_side,
        keep=options.keep,
    )
    print(tally)
    return 0 if tally.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
