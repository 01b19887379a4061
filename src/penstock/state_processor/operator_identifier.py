"""Which operator of a savepoint is meant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OperatorIdentifier:
    """An operator by its uid.

    >>> OperatorIdentifier.for_uid("totals").uid
    'totals'
    """

    uid: str

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        """Name an operator by the uid that the program gave it."""
        return OperatorIdentifier(uid)

    @staticmethod
    def for_uid_hash(uid_hash: str) -> OperatorIdentifier:
        """Name an operator by the uid that was generated for it."""
        return OperatorIdentifier(uid_hash)


def uid_of(operator: str | OperatorIdentifier) -> str:
    """Return the uid that is meant."""
    return operator.uid if isinstance(operator, OperatorIdentifier) else operator
