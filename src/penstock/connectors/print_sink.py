"""Print records on the standard output of the user's process."""

from __future__ import annotations

import sys
from typing import Any

from penstock.common.status_line import STATUS
from penstock.connectors.journal import LastBatch
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)


class PrintSink(Sink):
    """Print each record as `prefix:2> value`, the number being the subtask's, counted from 1.

    Without a prefix: `2> value`; in a sink of parallelism 1: `prefix> value`, or `value` alone.

    :param stderr: print on standard error instead.
    """

    def __init__(self, prefix: str | None = None, stderr: bool = False) -> None:
        self._prefix = prefix or ""
        self._stderr = stderr

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _PrintWriter(line_start(self._prefix, context.subtask, context.parallelism))

    def create_committer(self, context: CommitterContext) -> Committer:
        return _PrintCommitter(context, self._stderr)


def line_start(prefix: str, subtask: int, parallelism: int) -> str:
    """Return what stands in front of every value.

    >>> line_start("words", 1, 4)
    'words:2> '
    """
    parts = [prefix] if prefix else []
    if parallelism > 1:
        parts.append(str(subtask + 1))
    return ":".join(parts) + "> " if parts else ""


class _PrintWriter(SinkWriter):
    def __init__(self, start: str) -> None:
        self._start = start
        self._lines: list[str] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._lines.append(f"{self._start}{value!s}\n")

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        # Formatted text may hold any character that a str may, half a surrogate pair too.
        text = "".join(self._lines).encode("utf-8", "surrogatepass")
        self._lines.clear()
        return [text] if text else []


class _PrintCommitter(Committer):
    def __init__(self, context: CommitterContext, stderr: bool) -> None:
        self._published = LastBatch(context.directory, fresh=not context.restored)
        self._stderr = stderr

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        # Looked up now: a notebook or a test may have put something else in its place.
        stream = sys.stderr if self._stderr else sys.stdout
        for committable in sorted(committables, key=lambda c: c.subtask):
            text = committable.payload.decode("utf-8", "surrogatepass")
            STATUS.clear()
            stream.write(printable(text, stream))
        stream.flush()
        self._published.advance(batch_id)


def printable(text: str, stream: Any) -> str:
    """Return the text, with characters written as escapes if the stream cannot show them all."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        # A terminal that lacks a character is no reason to fail a job.
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text
