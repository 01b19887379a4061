"""Find the line of the user's program that is calling into Penstock."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


def find_caller() -> tuple[str, int] | None:
    """Return file and line of the innermost frame outside the package, None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None
