"""Carry an error from a worker to the user's process, through the text of Spark's exception."""

from __future__ import annotations

import base64
import pickle
import re
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import JobFailedError, PenstockError
from penstock.runtime.failure import describe_exit
from penstock.spark.worker_output import shown_to_user

_MARK = "penstock-error"
_MARKED = re.compile(rf"<{_MARK}:([A-Za-z0-9+/=]+)>")


class WorkerError(Exception):
    """What a worker raises to Spark: a Penstock error as one line of text."""


@contextmanager
def carried() -> Iterator[None]:
    """Run a block of user's code in a worker.

    Any exception becomes one that `unpack` can read from Spark's text. What the block prints goes
    to the user, before Spark learns of a failure.
    """
    try:
        with shown_to_user():
            yield
    except WorkerError:
        raise
    except PenstockError as error:
        raise pack(error) from None
    except (SystemExit, KeyboardInterrupt) as error:
        raise pack(describe_exit(error)) from None
    except Exception as error:
        raise pack(_described(error)) from None


def pack(error: PenstockError) -> WorkerError:
    """Return the exception to raise in a worker."""
    data = base64.b64encode(zlib.compress(pickle.dumps(error))).decode("ascii")
    return WorkerError(f"<{_MARK}:{data}>")


def unpack(text: str) -> PenstockError | None:
    """Return the error that is in the text of Spark's exception, None if there is none."""
    found = _MARKED.search(text)
    if found is None:
        return None
    error = pickle.loads(zlib.decompress(base64.b64decode(found.group(1))))
    return error if isinstance(error, PenstockError) else None


def _described(error: Exception) -> JobFailedError:
    """Describe an exception that is neither the user's nor expected."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return JobFailedError("a task failed", where=place, got=text)
