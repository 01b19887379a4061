"""A function of the user as a node of a plan: what it is called, what it takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.graph.relational.types import LogicalType


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of the user, with its declaration. Two are the same if they are one object.

    :param name: the name that plans show.
    :param kind: `scalar`, `table`, `aggregate` or `table_aggregate`.
    :param function: the instance (`core.functions.table`), opened in the worker.
    :param result_type: of a table function: a ROW of what it emits.
    :param input_types: as declared, or None: then it takes whatever it is given.
    :param deterministic: whether calls with equal arguments may be made once.
    :param vectorized: whether it is called with pandas series, once for a chunk.
    """

    name: str
    kind: str
    function: Any
    result_type: LogicalType
    input_types: tuple[LogicalType, ...] | None = None
    accumulator_type: LogicalType | None = None
    deterministic: bool = True
    vectorized: bool = False
    site: str | None = field(default=None)
