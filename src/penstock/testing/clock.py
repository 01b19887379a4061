"""A clock that stands still until it is moved."""

from __future__ import annotations


class ManualClock:
    """Processing time under a test's control; can be called as the runtime's clock is.

    >>> clock = ManualClock(1000)
    >>> clock.advance(500)
    >>> clock()
    1500
    """

    def __init__(self, time: int = 0) -> None:
        self.time = time

    def __call__(self) -> int:
        return self.time

    def set(self, time: int) -> None:
        """Set the time in epoch milliseconds."""
        self.time = time

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self.time += milliseconds
