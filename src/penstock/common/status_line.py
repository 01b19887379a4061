"""A line at the bottom of a terminal that says what is going on, and leaves nothing behind.

Whoever prints to the terminal on the program's behalf clears it first, so that it never stands in
the middle of output. Where standard error is no terminal, nothing is shown.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading

_CLEAR = "\r\x1b[K"


class StatusLine:
    """One line, written over again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = True
        self._shown = False

    def want(self, wanted: bool) -> None:
        """Say whether the line is to be shown at all."""
        self._wanted = wanted

    @property
    def visible(self) -> bool:
        """Whether what is said is seen by anybody."""
        return self._wanted and _is_terminal()

    def say(self, text: str) -> None:
        """Show a text instead of the one before."""
        if self.visible:
            width = shutil.get_terminal_size().columns - 1
            self._write(_CLEAR + text[:width], shown=True)

    def clear(self) -> None:
        """Make room for output; the line comes back with the next text."""
        if self._shown:
            self._write(_CLEAR, shown=False)

    def _write(self, text: str, *, shown: bool) -> None:
        # A terminal that has gone must not end the job.
        with self._lock, contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
            self._shown = shown


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


#: The line of this process: it has one terminal.
STATUS = StatusLine()
