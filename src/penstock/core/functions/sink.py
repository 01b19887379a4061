"""Sinks written as functions: called for every record, with no promise beyond at least once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from penstock.core.functions.base import Function

IN = TypeVar("IN")


class SinkFunction(Function, Generic[IN]):
    """Write every record somewhere.

    >>> class Shout(SinkFunction):
    ...     def invoke(self, value, context):
    ...         print(value.upper())
    """

    class Context(ABC):
        """What is known while a record is written."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the processing time in epoch milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the sink's watermark."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the record's timestamp in epoch milliseconds, or None if it has none."""

    @abstractmethod
    def invoke(self, value: IN, context: Context) -> None:
        """Write one record. A method that takes the value only is fine too."""


RichSinkFunction = SinkFunction
