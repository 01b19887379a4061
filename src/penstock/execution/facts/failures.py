"""What is known of why an attempt failed."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable

from penstock.errors import PenstockError, UserFunctionError
from penstock.execution.facts.snapshot import FailureFacts

#: The frames of a traceback's text.
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_SITE = re.compile(r"built at (?P<file>.+?):(?P<line>\d+)")
_OPERATOR = re.compile(r"operator '(?P<name>[^']*)'")
_CAUSE = re.compile(r"^(?P<type>[\w.]+)(?:: (?P<text>.*))?$", re.DOTALL)
#: Lines that are shown on each side of the one that failed.
_AROUND = 3


def failure_facts(
    error: BaseException, attempt: int, at: int, hide: Callable[[str], str]
) -> FailureFacts:
    """Return what to show of an error that ended an attempt.

    :param hide: hides secrets in a text.
    """
    kind, message = _root(error)
    trace = getattr(error, "traceback_text", None) or ""
    where = error.where or "" if isinstance(error, PenstockError) else ""
    file, line = _users_line(trace, where)
    first, source = _lines_around(file, line)
    named = _OPERATOR.search(where)
    return FailureFacts(
        attempt=attempt,
        at=at,
        root_type=kind,
        root_message=hide(message),
        text=hide(f"{type(error).__name__}: {error}"),
        traceback=hide(trace),
        operator_uid=getattr(error, "uid", ""),
        operator_name=named["name"] if named else "",
        subtask=getattr(error, "subtask", -1),
        file=file,
        line=line,
        first_line=first,
        source=[hide(text) for text in source],
        worker=getattr(error, "worker", ""),
    )


def _root(error: BaseException) -> tuple[str, str]:
    """Return class and text of what the user's code raised, or of the error itself."""
    if isinstance(error, UserFunctionError):
        found = _CAUSE.match(error.cause)
        return (found["type"], found["text"] or "") if found else ("", error.cause)
    if isinstance(error, PenstockError):
        return type(error).__name__, error.what
    return type(error).__name__, str(error)


def _users_line(trace: str, where: str) -> tuple[str, int]:
    frames = list(_FRAME.finditer(trace))
    found = frames[-1] if frames else _SITE.search(where)
    return (found["file"], int(found["line"])) if found else ("", 0)


def _lines_around(file: str, line: int) -> tuple[int, list[str]]:
    """Return the number of the first line and the lines, nothing if the file cannot be read."""
    lines = linecache.getlines(file) if file else []
    if not 0 < line <= len(lines):
        return 0, []
    first = max(line - _AROUND, 1)
    return first, [text.rstrip("\n") for text in lines[first - 1 : line + _AROUND]]
