"""Ctrl-C while a job runs: the program ends with one line that says what became of the job."""

from __future__ import annotations

import sys
from types import TracebackType

_before = sys.excepthook


class _Told(str):
    """The argument of an interrupt that has been dealt with."""


def interrupted(
    job_name: str, checkpoint: str = "", *, finished: bool = False
) -> KeyboardInterrupt:
    """Return the exception to raise once the job of an interrupted program has ended.

    It is a KeyboardInterrupt as any other, so that a program can catch it and a shell sees what
    ended the program. If nobody catches it, one line is shown: where in Penstock the program waited
    tells the user nothing.

    :param checkpoint: what became of the job's checkpoint, if it had one.
    :param finished: the interrupt came too late: the job had come to its own end.
    """
    global _before
    if sys.excepthook is not _show:
        _before, sys.excepthook = sys.excepthook, _show
    fate = "had finished, its output is complete" if finished else f"was cancelled{checkpoint}"
    return KeyboardInterrupt(_Told(f"interrupted: job {job_name!r} {fate}"))


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    if kind is KeyboardInterrupt and error.args and isinstance(error.args[0], _Told):
        print(error.args[0], file=sys.stderr)
    else:
        _before(kind, error, trace)
