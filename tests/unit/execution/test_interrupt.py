"""What a program that is interrupted shows."""

from __future__ import annotations

import signal
import subprocess
import sys

PROGRAM = """
from penstock.execution.interrupt import interrupted
{before}
raise {error}
"""


def shown(error: str, before: str = "") -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(error=error, before=before)],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr.splitlines()


def test_one_line_and_the_usual_end() -> None:
    code, lines = shown("interrupted('words')")
    assert lines == ["interrupted: job 'words' was cancelled"]
    assert code == -signal.SIGINT


def test_an_interrupt_that_came_too_late() -> None:
    _, lines = shown("interrupted('words', '; its checkpoint is kept', finished=True)")
    assert lines == ["interrupted: job 'words' had finished, its output is complete"]


def test_other_errors_are_shown_as_ever() -> None:
    _, lines = shown("KeyboardInterrupt", "interrupted('words'); interrupted('words')")
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "KeyboardInterrupt"
    before = (
        "import sys; sys.excepthook = lambda *e: print('mine', file=sys.stderr)\n"
        "interrupted('words')"
    )
    assert shown("ValueError(3)", before) == (1, ["mine"])
