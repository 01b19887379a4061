"""The classic assigners: timestamps and watermarks from one object.

`WatermarkStrategy` is the newer way; programs written for the classic names work as they are.
"""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration, Time, to_milliseconds
from penstock.common.watermark import MIN_WATERMARK, Watermark, WatermarkOutput
from penstock.common.watermark_generators import WatermarkGenerator
from penstock.errors import ConfigurationError, show_value

T = TypeVar("T")

_log = logging.getLogger(__name__)


class _TimestampsAndWatermarks(ABC, Generic[T]):
    """What both kinds of assigner have in common: they give timestamps."""

    @abstractmethod
    def extract_timestamp(self, element: T, previous_element_timestamp: int) -> int:
        """Return the record's timestamp in epoch milliseconds.

        :param previous_element_timestamp: the one that the record has already, or `NO_TIMESTAMP`.
        """

    def assign_timestamp(self, element: T, previous_element_timestamp: int) -> int:
        """Return the timestamp. Called by the runtime; the built-in extractors keep books here."""
        return self.extract_timestamp(element, previous_element_timestamp)


class AssignerWithPeriodicWatermarks(_TimestampsAndWatermarks[T]):
    """Give every record a timestamp, and a watermark whenever one is asked for."""

    @abstractmethod
    def get_current_watermark(self) -> Watermark | None:
        """Return the watermark as it is now; None or one that has not risen is not sent."""


class AssignerWithPunctuatedWatermarks(_TimestampsAndWatermarks[T]):
    """Give every record a timestamp, and a watermark after records that say so."""

    @abstractmethod
    def check_and_get_next_watermark(
        self, last_element: T, extracted_timestamp: int
    ) -> Watermark | None:
        """Return the watermark to send behind this record, or None."""


class BoundedOutOfOrdernessTimestampExtractor(AssignerWithPeriodicWatermarks[T]):
    """Lag behind the largest timestamp by a fixed bound: watermark = largest - bound.

    :param max_out_of_orderness: the bound; zero or more.
    """

    _max_timestamp: int | None = None
    _bound_ms: int = 0

    def __init__(self, max_out_of_orderness: Time | Duration) -> None:
        self._bound_ms = to_milliseconds(max_out_of_orderness)
        if self._bound_ms < 0:
            raise ConfigurationError(
                "the bound of out-of-orderness must not be negative",
                where=type(self).__name__,
                got=show_value(max_out_of_orderness),
            )

    @abstractmethod
    def extract_timestamp(self, element: T) -> int:  # type: ignore[override]
        """Return the record's timestamp in epoch milliseconds."""

    def get_max_out_of_orderness_in_millis(self) -> int:
        """Return the bound in milliseconds."""
        return self._bound_ms

    def assign_timestamp(self, element: T, previous_element_timestamp: int) -> int:
        timestamp = self.extract_timestamp(element)
        if self._max_timestamp is None or timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        return timestamp

    def get_current_watermark(self) -> Watermark:
        if self._max_timestamp is None:
            return Watermark(MIN_WATERMARK)
        return Watermark(self._max_timestamp - self._bound_ms)


class AscendingTimestampExtractor(AssignerWithPeriodicWatermarks[T]):
    """Follow timestamps that never fall: watermark = newest - 1.

    A timestamp that falls is kept and reported in the log.
    """

    _current_timestamp: int = MIN_WATERMARK

    @abstractmethod
    def extract_ascending_timestamp(self, element: T) -> int:
        """Return the record's timestamp in epoch milliseconds."""

    def extract_timestamp(self, element: T, previous_element_timestamp: int) -> int:
        timestamp = self.extract_ascending_timestamp(element)
        if timestamp >= self._current_timestamp:
            self._current_timestamp = timestamp
        else:
            _log.warning("Timestamp monotony violated: %s < %s", timestamp, self._current_timestamp)
        return timestamp

    def get_current_watermark(self) -> Watermark:
        current = self._current_timestamp
        return Watermark(current if current == MIN_WATERMARK else current - 1)


class PeriodicAssignerGenerator(WatermarkGenerator[Any]):
    """Make a generator of a periodic assigner."""

    def __init__(self, assigner: AssignerWithPeriodicWatermarks[Any]) -> None:
        self.assigner = assigner

    @classmethod
    def of_copy(cls, assigner: AssignerWithPeriodicWatermarks[Any]) -> PeriodicAssignerGenerator:
        """Return a generator with an assigner of its own: each channel keeps its own books."""
        return cls(copy.deepcopy(assigner))

    def assign_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the timestamp of a record."""
        return self.assigner.assign_timestamp(value, record_timestamp)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        watermark = self.assigner.get_current_watermark()
        if watermark is not None:
            output.emit_watermark(watermark)


class PunctuatedAssignerGenerator(WatermarkGenerator[Any]):
    """Make a generator of a punctuated assigner."""

    def __init__(self, assigner: AssignerWithPunctuatedWatermarks[Any]) -> None:
        self.assigner = assigner

    @classmethod
    def of_copy(
        cls, assigner: AssignerWithPunctuatedWatermarks[Any]
    ) -> PunctuatedAssignerGenerator:
        """Return a generator with an assigner of its own: each channel keeps its own books."""
        return cls(copy.deepcopy(assigner))

    def assign_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the timestamp of a record."""
        return self.assigner.assign_timestamp(value, record_timestamp)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        watermark = self.assigner.check_and_get_next_watermark(event, event_timestamp)
        if watermark is not None:
            output.emit_watermark(watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass
