"""Was the machine quiet? How many cores others used while something was measured."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import monotonic as now
from types import TracebackType

PROC = Path("/proc")
EVERY_S = 0.5
#: Fewer cores than this in the hands of others are quiet.
QUIET_CORES = 0.15


def busy_ticks() -> int:
    """Return the CPU time that the machine has spent at work."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, (PROC / "stat").read_text().splitlines()[0].split()[1:]
    )
    return user + nice + system + irq + softirq


def ticks_of_session(session: int, with_ended: bool = False) -> dict[int, int]:
    """Return the CPU time of each process of a session.

    :param with_ended: whether that of children that have ended counts as their parent's.
    """
    found = {}
    for stat in PROC.glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[3]) == session:
            found[int(stat.parent.name)] = sum(map(int, fields[11 : 15 if with_ended else 13]))
    return found


class Onlooker:
    """Watch a session and the machine while the `with` lasts; `cores` then tells of the others.

    What the session's processes spend between the last look and their end counts as others' work:
    the figure is a little too high, never too low. None where there is no `/proc`.
    """

    def __init__(self, session: int) -> None:
        self.cores: float | None = None
        self._session = session
        self.own: dict[int, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Onlooker:
        if (PROC / "stat").exists():
            self._began, self._busy = now(), busy_ticks()
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
            others = busy_ticks() - self._busy - sum(self.own.values())
            seconds = others / os.sysconf("SC_CLK_TCK")
            self.cores = round(max(0.0, seconds / (now() - self._began)), 2)

    def _watch(self) -> None:
        while not self._done.wait(EVERY_S):
            self.own.update(ticks_of_session(self._session))
