"""What the user learns when Spark fails: the reason in one line, and where to read the rest."""

from __future__ import annotations

import re

from penstock.errors import JobFailedError, PenstockError
from penstock.spark import transport
from penstock.spark.session import log_path

_FRAME = re.compile(r"^\s*(at\s+[\w.$/<>]+\(|\.\.\. \d+ more)")
_NOISE = re.compile(
    r"^(=== |Current |-+$|Driver stacktrace|Traceback|\s+File |\[STREAM_FAILED\]|"
    r"An error occurred while calling|py4j\.|\s*$)"
)
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_ERROR = re.compile(r"^(\w+\.)*\w*(Error|Exception)(:|$)")
_JVM_CLASS = re.compile(r"^(?:Caused by: |: )?(?:[a-z][\w$]*\.)+([A-Z][\w$]*(?:Exception|Error))")


def translate(error: BaseException) -> PenstockError:
    """Return a Penstock error for whatever Spark raised.

    An error that a worker sent is returned as it was raised there.
    """
    if isinstance(error, PenstockError):
        return error
    text = str(error)
    carried = transport.unpack(text)
    if carried is not None:
        return carried
    path = log_path()
    return JobFailedError(
        "Spark could not run the job",
        got=_reason(text) or type(error).__name__,
        todo=f"see Spark's log: {path}" if path else "see the log of the Spark driver",
    )


def _reason(text: str) -> str:
    """Return the line that says most: the last cause if there is one, else the first line."""
    lines = [line for line in text.splitlines() if not _FRAME.match(line)]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    useful = causes[-1:] or [line for line in lines if not _NOISE.match(line)]
    if not useful:
        return ""
    said = _JVM_CLASS.sub(r"\1", useful[0]).strip()
    raised = [line for line in lines[lines.index(useful[0]) + 1 :] if _PYTHON_ERROR.match(line)]
    if said.endswith(_TRACEBACK) and raised:
        said = said.removesuffix(_TRACEBACK) + raised[0].strip()
    return said[:500]
