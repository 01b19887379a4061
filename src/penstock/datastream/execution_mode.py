"""Streaming or batch."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """How a job works on its input.

    STREAMING answers records as they come. BATCH needs bounded sources and gives one final result
    a key. AUTOMATIC is BATCH if all sources are bounded, else STREAMING.
    """

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
