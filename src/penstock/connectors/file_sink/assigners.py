"""Which folder a record goes to: bucket assigners."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

from penstock.core.date_pattern import compile_pattern, finest_unit
from penstock.errors import ConfigurationError, MissingTimestampError

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DEFAULT_FORMAT = "yyyy-MM-dd--HH"


class BucketAssigner(ABC, Generic[T]):
    """Choose the bucket of a record: a folder below the sink's base path.

    >>> class ByCountry(BucketAssigner[dict[str, str]]):
    ...     def get_bucket_id(self, element, context):
    ...         return "country=" + element["country"]
    """

    class Context(ABC):
        """What is known of a record beside the record itself."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in epoch milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the watermark in front of the sink."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the record's event time in epoch milliseconds, None if it has none."""

    @abstractmethod
    def get_bucket_id(self, element: T, context: BucketAssigner.Context) -> str:
        """Return the bucket's path relative to the base path; empty: the base path itself."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner[Any]:
        """Return an assigner that puts all records into the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = DEFAULT_FORMAT, timezone_id: str | None = None
    ) -> BucketAssigner[Any]:
        """Return an assigner that makes a bucket for each hour, or as the format says.

        :param format_str: a pattern of Java's `DateTimeFormatter`.
        :param timezone_id: for instance `Europe/Amsterdam`; None: the zone of this machine.
        """
        return DateTimeBucketAssigner(format_str, timezone_id)


class BasePathBucketAssigner(BucketAssigner[Any]):
    """Put all records into the base path."""

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return ""


class DateTimeBucketAssigner(BucketAssigner[Any]):
    """Make a bucket for each hour of processing time, or as a format says.

    The zone is that of the process that makes the assigner, if none is given. To take another time
    than the one at which a record is written, override `get_time`; `EventTimeBucketAssigner` does.

    >>> assigner = DateTimeBucketAssigner("yyyy/MM/dd", "Asia/Tokyo")
    >>> assigner.bucket_at(0)
    '1970/01/01'
    """

    def __init__(
        self, format_str: str = DEFAULT_FORMAT, zone_id: str | tzinfo | None = None
    ) -> None:
        compile_pattern(format_str)  # now, so that a mistake shows where it was made
        self.format_str = format_str
        self.zone = _zone(zone_id)
        self._prepare()

    def _prepare(self) -> None:
        self._write = compile_pattern(self.format_str)
        self._unit = finest_unit(self.format_str)
        self._last: tuple[int, str] = (-1, "")

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return self.bucket_at(self.get_time(element, context))

    def get_time(self, element: Any, context: BucketAssigner.Context) -> int:
        """Return the time that decides, in epoch milliseconds: that of the batch."""
        return context.current_processing_time()

    def bucket_at(self, time: int) -> str:
        """Return the bucket of a time in epoch milliseconds."""
        number = time // self._unit
        if number != self._last[0] or time < 0:
            moment = (_EPOCH + timedelta(milliseconds=time)).astimezone(self.zone)
            self._last = (number, self._write(moment))
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        # What was compiled is made anew: functions made inside functions do not pickle.
        made = ("_write", "_unit", "_last")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __repr__(self) -> str:
        return f"DateTimeBucketAssigner({self.format_str!r}, {str(self.zone)!r})"


class EventTimeBucketAssigner(DateTimeBucketAssigner):
    """Make a bucket for each hour of event time, or as a format says.

    >>> assigner = EventTimeBucketAssigner("'day='yyyy-MM-dd", "UTC")
    >>> assigner.bucket_at(86_400_000)
    'day=1970-01-02'
    """

    def get_time(self, element: Any, context: BucketAssigner.Context) -> int:
        """Return the record's own time.

        :raises MissingTimestampError: if it has none.
        """
        timestamp = context.timestamp()
        if timestamp is None:
            raise MissingTimestampError(
                "record has no event timestamp, which its bucket is chosen by",
                got=repr(element),
                todo="call assign_timestamps_and_watermarks(...) on the stream before the sink",
            )
        return timestamp


def constant_bucket(assigner: BucketAssigner[Any]) -> Callable[[int], str] | None:
    """Return how to tell the bucket of all records of a batch from its time.

    None if records of one batch may go to different buckets. Processing time stands still inside
    a batch, so that what depends on it alone need not be asked for each record.
    """
    if type(assigner) is BasePathBucketAssigner:
        return lambda time: ""
    return assigner.bucket_at if type(assigner) is DateTimeBucketAssigner else None


def _zone(zone: str | tzinfo | None) -> tzinfo:
    if isinstance(zone, tzinfo):
        return zone
    name = _local_zone() if zone is None else zone
    try:
        return timezone.utc if name in ("UTC", "Z") else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigurationError(
            "there is no such time zone",
            where="DateTimeBucketAssigner",
            got=repr(name),
            todo="use a name of the IANA database such as 'Europe/Amsterdam', or 'UTC'",
        ) from None


def _local_zone() -> str:
    """Return the name of this machine's zone."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name:
        return name
    _, found, name = os.path.realpath("/etc/localtime").partition("zoneinfo/")
    return name if found else "UTC"
