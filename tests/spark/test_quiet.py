"""Nothing of Spark or the JVM reaches the terminal: only results, and the user's own error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
