"""Nothing of Spark or the JVM reaches the terminal: only results, and the user's own error."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "quiet.py"


def test_what_a_program_shows() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "('a', 1)\n('a', 3)\n"
    assert done.returncode == 1
    error = done.stderr[done.stderr.index("penstock.errors") :]
    assert error == (
        "penstock.errors.UserFunctionError: check() of operator 'Map' raised ValueError: "
        "three is too many\n"
        f"  where: operator 'Map', built at {PROGRAM}:17\n"
        "  got:   record 3\n"
        "  to do: correct the function, or catch the exception inside it\n"
        "Traceback (most recent call last):\n"
        f'  File "{PROGRAM}", line 8, in check\n'
        '    raise ValueError("three is too many")\n'
        "ValueError: three is too many\n"
    )
    before = done.stderr[: done.stderr.index("penstock.errors")]
    assert before.startswith("Traceback (most recent call last):\n")
    for word in ("java", "py4j", "pyspark", "WARN", "during handling"):
        assert word not in before


def on_a_terminal(program: Path, folder: Path) -> tuple[str, str]:
    """Run a program; return its output, and what the terminal showed beside it."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=end, cwd=folder, text=True
    ) as process:
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # Linux tells so that the last writer has gone
            while part := os.read(terminal, 65536):
                shown += part
        assert process.stdout is not None
        output = process.stdout.read()
    os.close(terminal)
    return output, shown.decode()


@pytest.mark.parametrize("wanted", [True, False])
def test_what_a_program_shows_on_a_terminal(wanted: bool, tmp_path: Path) -> None:
    (tmp_path / "penstock-conf.yaml").write_text(f"penstock.progress: {str(wanted).lower()}\n")
    output, shown = on_a_terminal(PROGRAM, tmp_path)
    assert output == "('a', 1)\n('a', 3)\n"
    status, _, error = shown.partition("Traceback")
    if wanted:
        assert status.startswith("\r\x1b[Kstarting Spark ...\r\x1b[K")
        assert "running: the first batch, 0:0" in status
        # Nothing of it is left when the error comes.
        assert status.endswith("\r\x1b[K")
    else:
        assert status == ""
    assert "ValueError: three is too many" in error


def test_a_job_says_how_far_it_is(tmp_path: Path) -> None:
    output, shown = on_a_terminal(PROGRAM.with_name("progress.py"), tmp_path)
    assert output == "19\n20\n"
    lines = re.findall(
        r"running: (\[[#-]+\]) batch \d+, (\d+) records, watermark 1970-01-01 00:00:(\d\d)",
        shown,
    )
    # Which of the batches are seen depends on how fast the machine is.
    expected = {
        ("[##--------]", "5", "04"),
        ("[#####-----]", "10", "09"),
        ("[#######---]", "15", "14"),
    }
    assert lines
    assert set(lines) <= expected
    assert shown.endswith("\r\x1b[K")
