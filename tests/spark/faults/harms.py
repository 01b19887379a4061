"""What is done to a program while it runs: processes are killed or stopped, its disk is full."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

#: The variable that all processes of one driver have, those that it forks or starts too.
MARK = "PENSTOCK_CHAOS"
#: What is done, and how often among all. After the first two a new driver or a new JVM has to
#: start, which takes longer than all the rest of a round.
HARMS = (
    *("driver", "jvm"),
    *("worker", "worker", "worker", "daemon", "daemon", "source", "source", "nursery"),
    *("stop", "stop", "fork", "disk"),
)
#: How large the disk of a driver is. A disk can only be made, and made full, by root.
DISK_BYTES = 64 << 20
IS_ROOT = os.geteuid() == 0
#: Who makes the archive of Spark's classes, once per installation, outlives its program.
_ARCHIVING = ("penstock.spark.archiver", "spark/archiver.py", "/penstock/classes-")


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
        if state != "Z" and not any(each in command for each in _ARCHIVING):
            found[int(path.name)] = command
    return found


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def victims(mark: str, driver: int, kind: str) -> list[int]:
    """Return the processes of a driver that a harm may be done to."""
    if kind == "driver":
        return [driver]
    running = processes(mark)
    daemons = [pid for pid, command in running.items() if "penstock.spark.daemon" in command]
    if kind == "jvm":
        return [pid for pid in running if pid != driver and "java" in running[pid].split(" ")[0]]
    if kind == "daemon":
        return [pid for pid in daemons if _parent_of(pid) not in daemons]
    if kind in ("worker", "stop"):
        return [pid for pid in daemons if _parent_of(pid) in daemons]
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


def _fill(folder: Path, seconds: float) -> None:
    """Leave no room on the disk of a folder for some seconds."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    time.sleep(seconds)
    path.unlink()


def harm(mark: str, driver: int, kind: str, disk: Path, chance: random.Random) -> bool:
    """Do one harm; tell whether there was somebody to do it to."""
    if kind == "disk":
        if IS_ROOT:
            _fill(disk, chance.uniform(0.3, 1.5))
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
