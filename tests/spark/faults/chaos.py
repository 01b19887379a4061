"""Random programs, and random harm to their processes while they run.

Each round starts a random program, kills or stops its processes at random moments, starts it again
when its driver has died, and compares what it has written in the end with what is right.
`make chaos ROUNDS=20` prints rounds, lost, doubled, wrong, hung and left-over processes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.spark.faults.chaos_program import lines_of, right_lines

PROGRAM = Path(__file__).with_name("chaos_program.py")
MARK = "PENSTOCK_CHAOS"
#: What is done to a program, and how often among all.
HARMS = (
    *("driver", "driver", "jvm", "worker", "worker", "daemon", "source", "nursery"),
    *("stop", "fork", "disk"),
)
#: How large the disk of a round is. A disk can only be made, and made full, by root.
DISK_BYTES = 64 << 20
IS_ROOT = os.geteuid() == 0
#: Who makes the archive of Spark's classes, once per installation, outlives its program.
ARCHIVING = ("penstock.spark.archiver", "spark/archiver.py", "/penstock/classes-")


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

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong or self.hung or self.left_over)

    def add(self, other: Tally) -> None:
        self.harms += other.harms
        for name in ("rounds", "lost", "doubled", "wrong", "hung", "left_over"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        told = " ".join(f"{name}={count}" for name, count in sorted(self.harms.items()))
        return (
            f"rounds {self.rounds}, lost {self.lost}, doubled {self.doubled}, wrong {self.wrong}, "
            f"hung {self.hung}, left-over processes {self.left_over} ({told})"
        )


def processes(mark: str) -> dict[int, str]:
    """Return what runs with a mark in its environment: number and command line."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() not in (path / "environ").read_bytes():
                continue
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state != "Z" and not any(each in command for each in ARCHIVING):
            found[int(path.name)] = command
    return found


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def victims(mark: str, driver: int, kind: str) -> list[int]:
    """Return the processes of a program that a harm may be done to."""
    running = processes(mark)
    daemons = [pid for pid, command in running.items() if "penstock.spark.daemon" in command]
    if kind == "driver":
        return [driver]
    if kind == "jvm":
        return [pid for pid in running if pid != driver and "java" in running[pid].split(" ")[0]]
    if kind == "daemon":
        return [pid for pid in daemons if parent_of(pid) not in daemons]
    if kind in ("worker", "stop"):
        return [pid for pid in daemons if parent_of(pid) in daemons]
    if kind == "nursery":
        return [pid for pid, command in running.items() if "penstock.spark.nursery " in command]
    return [pid for pid, command in running.items() if "python_streaming_source" in command]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Make a folder a disk of its own while the block runs, so that it can be full."""
    if not IS_ROOT:
        yield
        return
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "chaos", str(folder)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def output_of(folder: Path) -> Path:
    """Return where a program's output goes: not to the disk that may be full."""
    return folder.parent / "output.txt"


def fill(folder: Path, seconds: float) -> None:
    """Leave no room on the disk of a folder for some seconds."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    time.sleep(seconds)
    path.unlink()


def harm(mark: str, driver: int, kind: str, folder: Path, chance: random.Random) -> bool:
    """Do one harm; tell whether there was somebody to do it to."""
    if kind == "disk":
        if IS_ROOT:
            fill(folder, chance.uniform(0.5, 3))
        return IS_ROOT
    found = victims(mark, driver, kind)
    if not found:
        return False
    pid = chance.choice(sorted(found))
    try:
        if kind == "stop":
            os.kill(pid, signal.SIGSTOP)
            time.sleep(chance.uniform(0.2, 1.5))
            os.kill(pid, signal.SIGCONT)
        else:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def run_round(folder: Path, seed: int, tally: Tally, patience: float) -> None:
    """Run one program to its end, whatever happens to it on the way."""
    chance = random.Random(seed)
    mark = uuid.uuid4().hex
    expected = Counter(right_lines(seed))
    harms = [chance.choice(HARMS) for _ in range(chance.randint(1, 3))]
    command = [sys.executable, str(PROGRAM), str(folder), str(seed)]
    if "fork" in harms:
        command.append("--forks")
        tally.harms["fork"] += 1
        harms = [each for each in harms if each != "fork"] or ["driver"]
    deadline = time.monotonic() + patience
    tally.rounds += 1
    with output_of(folder).open("ab") as output:
        while time.monotonic() < deadline:
            process = subprocess.Popen(
                command, env={**os.environ, MARK: mark}, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
            while process.poll() is None and time.monotonic() < deadline:
                # Not before it works: a program that has not begun has nothing to lose.
                if harms and (folder / "checkpoints").exists():
                    time.sleep(chance.uniform(2, 8))
                    if process.poll() is None and harm(
                        mark, process.pid, harms[-1], folder, chance
                    ):
                        tally.harms[harms.pop()] += 1
                time.sleep(0.1)
            if process.poll() == 0:
                break
            if process.poll() is None:
                tally.hung += 1
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                break
        else:
            tally.hung += 1
    compare(folder, expected, tally)
    time.sleep(1)
    gone = time.monotonic() + 30
    while (left := processes(mark)) and time.monotonic() < gone:
        time.sleep(0.5)
    tally.left_over += len(left)
    for pid, command in left.items():
        print(f"seed {seed}: process {pid} is left over: {command}", flush=True)
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def compare(folder: Path, expected: Counter[str], tally: Tally) -> None:
    out = folder / "out"
    written = Counter(lines_of(out)) if out.exists() else Counter()
    tally.lost += sum((expected - written).values())
    more = written - expected
    tally.doubled += sum(count for line, count in more.items() if line in expected)
    tally.wrong += sum(count for line, count in more.items() if line not in expected)


def run(rounds: int, seed: int, patience: float = 240, side_by_side: int = 1) -> Tally:
    """Run some rounds; each has a seed of its own, which is printed if something was not right."""

    def one(number: int) -> Tally:
        tally = Tally()
        with tempfile.TemporaryDirectory(prefix="chaos-") as whole_folder:
            folder = Path(whole_folder) / "disk"
            folder.mkdir()
            with small_disk(folder):
                run_round(folder, number, tally, patience)
            output = output_of(folder).read_text(errors="replace")
        if not tally.is_clean:
            print(f"seed {number}: {tally}\n{output[-3000:]}", flush=True)
        return tally

    whole = Tally()
    with ThreadPoolExecutor(side_by_side) as pool:
        for tally in pool.map(one, range(seed, seed + rounds)):
            whole.add(tally)
            if whole.rounds % 20 == 0:
                print(whole, flush=True)
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--side-by-side", type=int, default=2, help="rounds at the same time")
    options = parser.parse_args()
    tally = run(options.rounds, options.seed, side_by_side=options.side_by_side)
    print(tally)
    return 0 if tally.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
