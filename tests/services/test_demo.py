"""The demo shows what it says; on the in-process engine, which is quick to start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.arch.sources import ROOT


def test_the_demo_shows_windows_as_they_come(tmp_path: Path) -> None:
    (tmp_path / "penstock-conf.yaml").write_text("execution.target: in-process\n")
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo_kafka", "--seconds", "2"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "sensor" in line]
    shape = re.compile(r"\d\d:\d\d:\d\d  sensor_\d +\d+ readings, at most \d+\.\d")
    assert len(lines) >= 5
    assert [line for line in lines if not shape.fullmatch(line)] == []
    assert len(lines) == len({tuple(line.split()[:2]) for line in lines})  # each window once
