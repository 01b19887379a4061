"""The classic switch for the time that `time_window` and its like work in."""

from __future__ import annotations

from enum import Enum


class TimeCharacteristic(Enum):
    """Which time windows follow that do not name one themselves."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
