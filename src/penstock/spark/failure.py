"""What the user learns when Spark fails: the reason in one line, and where to read the rest."""

from __future__ import annotations

import re
import time
from pathlib import Path

from penstock.errors import JobFailedError, PenstockError
from penstock.spark import last_words, transport
from penstock.spark.gateway import jvm_end, jvm_pid
from penstock.spark.internals import active_gateway
from penstock.spark.session import is_own_jvm, log_path, own_jvm_has_ended, told_status

_FRAME = re.compile(r"^\s*(at\s+[\w.$/<>]+\(|\.\.\. \d+ more)")
_NOISE = re.compile(
    r"^(=== |Current |-+$|Driver stacktrace|Traceback|\s+File |\[STREAM_FAILED\]|"
    r"An error occurred while calling|py4j\.|\s*$)"
)
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_ERROR = re.compile(r"^(\w+\.)*\w*(Error|Exception)(:|$)")
_JVM_CLASS = re.compile(r"^(?:Caused by: |: )?(?:[a-z][\w$]*\.)+([A-Z][\w$]*(?:Exception|Error))")


_JVM_SECONDS = 5.0
_DEAD_WORKER = ("Python worker exited unexpectedly", "EOFException", "Connection reset")
_OUT_OF_MEMORY = "OutOfMemoryError"
#: Said of a job when a thread of Spark's has met its end, and the JVM is about to.
_SHUT_DOWN = "SparkContext was shut down"
_FULL = re.compile(r"(No space left on device|Disk quota exceeded)(?:: '?([^'\n]+))?")


def translate(error: BaseException, notes: Path | None = None) -> PenstockError:
    """Return a Penstock error for whatever Spark raised.

    An error that a worker sent is returned as it was raised there.

    :param notes: where the workers note what they do.
    """
    if isinstance(error, PenstockError):
        return _of_full_disk(error.got or "") if _is_disks(error) else error
    text = str(error)
    carried = transport.unpack(text)
    if carried is not None:
        return _of_full_disk(carried.got or "") if _is_disks(carried) else carried
    if _FULL.search(text):
        return _of_full_disk(text)
    ended = _end_of_jvm()
    if ended is not None:
        return ended
    if notes is not None and any(sign in text for sign in _DEAD_WORKER):
        death = last_words.told_by(notes)
        if death is not None:
            return death
    if _OUT_OF_MEMORY in text or (_SHUT_DOWN in text and _ran_out_of_memory()):
        return _of_memory(_reason(text))
    path = log_path()
    return JobFailedError(
        "Spark could not run the job",
        got=_reason(text) or type(error).__name__,
        todo=f"see Spark's log: {path}" if path else "see the log of the Spark driver",
    )


def _end_of_jvm() -> JobFailedError | None:
    """Return the error for a JVM that is gone. Who lost the connection may be first to know."""
    # Its process may take a moment longer to end than its connections.
    deadline = time.monotonic() + _JVM_SECONDS
    while (status := jvm_end()) is None:
        if jvm_pid() is None or _is_answered() or time.monotonic() > deadline:
            return None
        time.sleep(0.05)
    if not is_own_jvm():
        return own_jvm_has_ended(status)
    if _ran_out_of_memory():
        return _of_memory(told_status(status))
    return JobFailedError(
        "Spark's JVM has ended", got=told_status(status), todo=f"see Spark's log: {log_path()}"
    )


def _ran_out_of_memory() -> bool:
    path = log_path()
    return path is not None and _OUT_OF_MEMORY in Path(path).read_text(errors="replace")


def _of_memory(got: str) -> JobFailedError:
    return JobFailedError(
        "Spark's JVM ran out of memory",
        got=got,
        todo=f"give it more: spark.driver.memory (1g by default); its log: {log_path()}",
    )


def _is_answered() -> bool:
    try:
        active_gateway().jvm.System.nanoTime()
    except Exception:
        return False
    return True


def _is_disks(error: PenstockError) -> bool:
    """Tell whether something of the engine's own, and not a function or a sink, found no room."""
    return type(error) is JobFailedError and _FULL.search(error.got or "") is not None


def _of_full_disk(text: str) -> JobFailedError:
    found = _FULL.search(text)
    assert found is not None
    return JobFailedError(
        "there is no room on the disk for what the job must keep",
        where=found.group(2),
        got=found.group(1),
        todo="make room there, or let execution.checkpointing.dir and TMPDIR name another disk; "
        "with a checkpoint directory the job goes on where it was",
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
