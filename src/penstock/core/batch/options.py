"""Small vocabularies of the DataSet API: orders, aggregations, hints, write modes."""

from __future__ import annotations

from enum import Enum


class Order(Enum):
    """In which direction to sort."""

    NONE = 0
    ASCENDING = 1
    DESCENDING = 2
    ANY = 3

    @property
    def descends(self) -> bool:
        """Whether large values come first."""
        return self is Order.DESCENDING


class Aggregations(Enum):
    """How `aggregate` makes one value of many."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"


class JoinHint(Enum):
    """How to run a join.

    The two BROADCAST hints send one side whole to every worker and leave the other where it is;
    all others send both sides to where their keys belong.
    """

    OPTIMIZER_CHOOSES = 0
    BROADCAST_HASH_FIRST = 1
    BROADCAST_HASH_SECOND = 2
    REPARTITION_HASH_FIRST = 3
    REPARTITION_HASH_SECOND = 4
    REPARTITION_SORT_MERGE = 5


class JoinKind(Enum):
    """Which records of a join appear without a partner."""

    INNER = (False, False)
    LEFT = (True, False)
    RIGHT = (False, True)
    FULL = (True, True)

    @property
    def keeps_left(self) -> bool:
        """Whether a record of the first input appears without a partner."""
        return self.value[0]

    @property
    def keeps_right(self) -> bool:
        """Whether a record of the second input appears without a partner."""
        return self.value[1]


class CombineHint(Enum):
    """How records are combined before they are sent. One way is used for all of them."""

    OPTIMIZER_CHOOSES = 0
    SORT = 1
    HASH = 2
    NONE = 3


class CrossHint(Enum):
    """Which side of a cross product is small."""

    OPTIMIZER_CHOOSES = 0
    FIRST_IS_SMALL = 1
    SECOND_IS_SMALL = 2
