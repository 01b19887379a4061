"""What is true for the record in hand, shared by all operators of a task."""

from __future__ import annotations


class Scope:
    """The current record's event time and the batch's processing time.

    A task works depth first and record by record, so one object can say it for all its operators.
    Whoever changes the timestamp before emitting puts it back afterwards.
    """

    __slots__ = ("time", "timestamp")

    def __init__(self) -> None:
        self.timestamp: int | None = None
        self.time = 0
