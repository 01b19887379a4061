"""Watermark generators: the contract, and the built-in ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from penstock.common.time import Duration
from penstock.common.watermark import MIN_WATERMARK, Watermark, WatermarkOutput
from penstock.errors import ConfigurationError, show_value

T = TypeVar("T")


class WatermarkGenerator(ABC, Generic[T]):
    """Make watermarks from the records of one channel.

    Its attributes are kept from batch to batch and over a restart; it must be picklable.
    """

    @abstractmethod
    def on_event(self, event: T, event_timestamp: int, output: WatermarkOutput) -> None:
        """Look at a record. A generator that marks certain records emits here."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit a watermark, or not. Called after a number of records and at a batch's end."""


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator[Any]):
    """Lag behind the largest timestamp by a fixed bound.

    The watermark is `largest - bound - 1`: a record exactly `bound` late is still in time.
    """

    def __init__(self, max_out_of_orderness: Duration) -> None:
        if max_out_of_orderness.is_negative():
            raise ConfigurationError(
                "the bound of out-of-orderness must not be negative",
                where="BoundedOutOfOrdernessWatermarks",
                got=show_value(max_out_of_orderness),
                todo="give zero or more, for instance Duration.of_seconds(5)",
            )
        self.bound_ms = max_out_of_orderness.to_millis()
        # So that the first watermark, before any record, is MIN_WATERMARK and does not underflow.
        self.max_timestamp = MIN_WATERMARK + self.bound_ms + 1

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp > self.max_timestamp:
            self.max_timestamp = event_timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.max_timestamp - self.bound_ms - 1))


class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """Follow timestamps that never fall; equal ones are in time."""

    def __init__(self) -> None:
        super().__init__(Duration.of_millis(0))


class NoWatermarks(WatermarkGenerator[Any]):
    """Never make a watermark: event time stands still until the input ends."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass
