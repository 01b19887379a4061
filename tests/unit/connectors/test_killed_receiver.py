"""A process with a source function is killed, over and over: its log and its state agree."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from penstock.connectors.source_function import SourceFunctionSource
from penstock.core.functions.source import SourceFunction
from tests.unit.connectors.driver import SourceDriver

ROOT = Path(__file__).parents[3]


class Numbers(SourceFunction[Any]):
    """Count without end, in tuples; number and count belong together under the lock."""

    def __init__(self) -> None:
        self.next = 0
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext[Any]) -> None:
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect((self.next, "x" * 50))
                self.next += 1

    def cancel(self) -> None:
        self.running = False


class Upto(Numbers):
    """Go on where `Numbers` was, and end soon."""

    def run(self, ctx: SourceFunction.SourceContext[Any]) -> None:
        for _ in range(3):
            with ctx.get_checkpoint_lock():
                ctx.collect((self.next, "last"))
                self.next += 1


def test_killed_at_any_moment(tmp_path: Path) -> None:
    sizes = [0]
    for pause in (0.05, 0.02, 0.083):
        script = (
            "import sys, time\n"
            "from pathlib import Path\n"
            "from tests.unit.connectors.driver import SourceDriver\n"
            "from tests.unit.connectors.test_killed_receiver import Numbers, SourceFunctionSource\n"
            "driver = SourceDriver(SourceFunctionSource(Numbers()), Path(sys.argv[1]))\n"
            "print('running', flush=True)\n"
            "time.sleep(60)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"running\n"
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        sizes.append(sum(path.stat().st_size for path in tmp_path.rglob("*.log")))
    assert sizes == sorted(set(sizes))
    driver = SourceDriver(SourceFunctionSource(Upto()), tmp_path)
    driver.run()
    driver.close()
    numbers = [number for number, _ in driver.values()]
    assert numbers == list(range(len(numbers)))
    assert [text for _, text in driver.values()].count("last") == 3
