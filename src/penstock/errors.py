"""Every error class of Penstock.

An error says what is wrong, where, what was found there and what to do about it. The parts are
kept as fields; all errors can be pickled, since most of them travel from a worker to the user.
"""

from __future__ import annotations

import os
import traceback
from typing import Any

# Files of the package, and code that it generates.
_NOT_USERS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, "<generated ")
_LONGEST_RECORD = 500
_NO_RECORD = object()


def show_value(value: Any, limit: int = _LONGEST_RECORD) -> str:
    """Return `repr(value)`, shortened, even if the value's own `__repr__` fails."""
    try:
        text = repr(value)
    except Exception as error:
        # A broken __repr__ of the user's must not hide the error that is being reported.
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _rebuild(cls: type[PenstockError], fields: dict[str, Any]) -> PenstockError:
    error = cls.__new__(cls)
    Exception.__init__(error, fields.get("what", ""))
    error.__dict__.update(fields)
    return error


class PenstockError(Exception):
    """Base of all errors that Penstock raises on purpose.

    :param what: one sentence without a full stop: what is wrong.
    :param where: operator, option or place in the user's program.
    :param got: the value that was found.
    :param todo: what to do about it.

    >>> print(PenstockError("slide must be above zero", where="window 'w'", got="0"))
    slide must be above zero
      where: window 'w'
      got:   0
    """

    #: Where it was raised, as far as a task knows: the operator, its subtask, and the process.
    uid = ""
    subtask = -1
    worker = ""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        got: str | None = None,
        todo: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.got = got
        self.todo = todo

    def __str__(self) -> str:
        parts = (("where:", self.where), ("got:", self.got), ("to do:", self.todo))
        lines = [self.what]
        for label, text in parts:
            if text is not None:
                indented = str(text).replace("\n", "\n" + " " * 9)
                lines.append(f"  {label:<6} {indented}")
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        # Exception's own way calls __init__ with `args` and would lose the keyword-only parts.
        return _rebuild, (type(self), dict(self.__dict__))


class ConfigurationError(PenstockError, ValueError):
    """A setting or argument has a value that cannot work."""


class ProgramError(PenstockError):
    """The program uses the API in a way that has no meaning."""


class GraphError(ProgramError):
    """The operators of a program do not form a job."""


class NotKeyedError(GraphError, AttributeError):
    """A method that only keyed streams have was called on a stream that is not keyed."""


class WindowConfigError(ConfigurationError):
    """A window, trigger or evictor was given settings that cannot work."""


class MalformedPatternError(ProgramError):
    """A CEP pattern has no meaning."""


class SkipTargetError(PenstockError):
    """A match has no event that its pattern's skip strategy could skip to."""


class TypeMismatchError(PenstockError, TypeError):
    """A value does not have the type that was declared for it."""


class FieldError(TypeMismatchError):
    """A record has no field of that name or at that position."""


class FunctionError(ProgramError):
    """A SQL function is unknown, or does not take the arguments it was called with."""


class EvaluationError(PenstockError):
    """A SQL expression has no value for a row: a division by zero, a text that is no number."""


class SqlParseError(ProgramError):
    """A text is no statement of Flink's SQL; the message underlines the place."""


class ValidationError(ProgramError):
    """A query, table or expression is well formed but makes no sense: a name, a type, a plan."""


class CatalogError(ProgramError):
    """A catalog, database, table or function is missing, or there already."""


class SerializationError(PenstockError):
    """A function, record or state value cannot be sent between processes."""


class RecordTooLargeError(PenstockError):
    """A record weighs more than can be moved between tasks."""


class UnstableKeyError(PenstockError, TypeError):
    """A key cannot be hashed, or would hash differently in another process."""


class StateError(PenstockError):
    """State was used in a way or at a place that does not allow it."""


class MissingTimestampError(PenstockError):
    """A record without an event timestamp reached an operator that works in event time."""


class SourceError(PenstockError):
    """A source cannot be opened or read."""


class SinkError(PenstockError):
    """A sink cannot be opened, written or published."""


class JavaNotFoundError(PenstockError):
    """No usable Java was found; Spark needs one."""


class JobError(PenstockError):
    """A job did not end as FINISHED."""


class JobFailedError(JobError):
    """A job failed for a reason that lies outside the user's functions."""


class JobCancelledError(JobError):
    """The job was cancelled before it finished."""


class JobNotFoundError(JobError):
    """There is no job of that id."""


def _user_traceback(error: BaseException) -> str:
    """Return the traceback of `error` from the first frame on that is not Penstock's own."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next(
        (i for i, frame in enumerate(frames) if not frame.filename.startswith(_NOT_USERS)), 0
    )
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames[first:])]
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()


class SessionError(JobError):
    """A session server does not answer, or refuses."""


class RequestError(PenstockError):
    """A REST request that cannot be answered.

    :param status: HTTP status of the answer.
    """

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


class UserFunctionError(JobError):
    """A function of the user raised.

    Holds text only, so that it can be sent to the user's process whatever the exception was.

    :param operator: name of the operator that the function belongs to.
    :param site: file and line at which the operator was built.
    :param record: `repr` of the record that was being worked on, if there was one.
    :param cause: type and message of what was raised.
    :param traceback_text: the user's part of the traceback.
    """

    def __init__(
        self,
        operator: str,
        *,
        site: str | None = None,
        record: str | None = None,
        cause: str = "an exception",
        traceback_text: str | None = None,
        method: str | None = None,
    ) -> None:
        called = f"{method}() of operator {operator!r}" if method else f"operator {operator!r}"
        super().__init__(
            f"{called} raised {cause}",
            where=f"operator {operator!r}" + (f", built at {site}" if site else ""),
            got=None if record is None else f"record {record}",
            todo="correct the function, or catch the exception inside it",
        )
        self.operator = operator
        self.site = site
        self.record = record
        self.cause = cause
        self.traceback_text = traceback_text
        self.method = method

    @classmethod
    def from_exception(
        cls,
        error: BaseException,
        *,
        operator: str,
        site: object = None,
        record: object = _NO_RECORD,
        method: str | None = None,
    ) -> UserFunctionError:
        """Describe an exception that a user's function raised.

        :param site: anything whose `str` is file and line.
        :param record: the record itself; leave out if the function was not called for a record.
        """
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        return cls(
            operator,
            site=None if site is None else str(site),
            record=None if record is _NO_RECORD else show_value(record),
            cause=text,
            traceback_text=_user_traceback(error),
            method=method,
        )

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n{self.traceback_text}" if self.traceback_text else text
