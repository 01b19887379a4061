"""Names of jobs."""

from __future__ import annotations

import uuid


class JobID:
    """The unique name of a job: 32 hexadecimal digits.

    :param value: an id to take over; a new one if left out.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str | None = None) -> None:
        self._value = uuid.uuid4().hex if value is None else str(value)

    def to_hex_string(self) -> str:
        """Return the digits."""
        return self._value

    def __str__(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"JobID({self._value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)
