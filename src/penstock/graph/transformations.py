"""The graph that the fluent API grows: one transformation for each call of the user's program.

Operators do something to records. Unions, partitionings and side outputs only say how records
reach the next operator: they disappear when the stream graph is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import Enum
from typing import Any

from penstock.errors import GraphError
from penstock.graph.call_site import capture_call_site
from penstock.graph.specs import CallSite, OperatorSpec, Partitioner

#: Largest number of key groups, as in Flink.
MAX_PARALLELISM_LIMIT = 1 << 15

_ids = itertools.count(1)


class ChainingStrategy(Enum):
    """Whether an operator may run in the same chain as the ones around it."""

    ALWAYS = "always"
    HEAD = "head"  # may start a chain, never continues one
    NEVER = "never"


class Transformation:
    """One step of a program. Ids rise in the order of the program, inputs before their users."""

    def __init__(self, inputs: Sequence[Transformation], output_type: Any = None) -> None:
        self.id = next(_ids)
        self.inputs = tuple(inputs)
        self.output_type = output_type
        self.site: CallSite | None = capture_call_site()


class UnionTransformation(Transformation):
    """Several streams seen as one."""


class PartitionTransformation(Transformation):
    """A stream whose records choose their subtask of the next operator by `partitioner`."""

    def __init__(self, source: Transformation, partitioner: Partitioner) -> None:
        super().__init__([source], source.output_type)
        self.partitioner = partitioner


class SideOutputTransformation(Transformation):
    """The records that an operator sends to one side output."""

    def __init__(self, source: OperatorTransformation, tag_id: str, output_type: Any) -> None:
        super().__init__([source], output_type)
        self.tag_id = tag_id


class OperatorTransformation(Transformation):
    """A step that becomes an operator: a source (no inputs), one or two inputs, or a sink."""

    def __init__(
        self,
        name: str,
        spec: OperatorSpec,
        inputs: Sequence[Transformation],
        parallelism: int,
        output_type: Any = None,
    ) -> None:
        super().__init__(inputs, output_type)
        self.name = name
        self.spec = spec
        self.parallelism = parallelism
        #: True if the user set the parallelism of this very operator.
        self.parallelism_is_own = False
        #: True if the operator runs in one subtask where its only input does, unless the user set
        #: its parallelism: records then keep their order, and an exchange is saved.
        self.follows_input = False
        #: True if records must not overtake each other: the operator has the parallelism of its
        #: inputs, or one subtask if they differ.
        self.keeps_order = False
        self.max_parallelism: int | None = None
        self.non_parallel = False
        self.uid: str | None = None
        self.uid_hash: str | None = None
        self.description: str | None = None
        self.slot_sharing_group: str | None = None
        self.chaining = ChainingStrategy.ALWAYS
        self.buffer_timeout: int | None = None

    def describe(self) -> str:
        """Return name and place, for error messages."""
        return f"{self.name!r}, built at {self.site}" if self.site else repr(self.name)

    def set_parallelism(self, parallelism: int) -> None:
        """Set the number of subtasks.

        :raises GraphError: if it is below 1, or the operator can run in one subtask only.
        """
        self._require_positive("parallelism", parallelism)
        if self.non_parallel and parallelism != 1:
            raise GraphError(
                what="the parallelism of a non-parallel operator must be 1",
                where=self.describe(),
                got=f"set_parallelism({parallelism})",
                todo="leave it at 1, and call rebalance() behind the operator to spread the work",
            )
        self._require_room(parallelism, self.max_parallelism)
        self.parallelism = parallelism
        self.parallelism_is_own = True

    def set_max_parallelism(self, max_parallelism: int) -> None:
        """Set the number of key groups.

        :raises GraphError: if it is out of range or less than the operator's own parallelism.
        """
        self._require_positive("maximum parallelism", max_parallelism)
        if max_parallelism > MAX_PARALLELISM_LIMIT:
            raise GraphError(
                what=f"the maximum parallelism must not exceed {MAX_PARALLELISM_LIMIT}",
                where=self.describe(),
                got=f"set_max_parallelism({max_parallelism})",
                todo=f"choose a number from 1 to {MAX_PARALLELISM_LIMIT}",
            )
        if self.parallelism_is_own:
            self._require_room(self.parallelism, max_parallelism)
        self.max_parallelism = max_parallelism

    def force_non_parallel(self) -> None:
        """Run in one subtask, whatever the environment says."""
        self.parallelism = 1
        self.parallelism_is_own = True
        self.max_parallelism = 1
        self.non_parallel = True

    def _require_positive(self, what: str, value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise GraphError(
                what=f"the {what} of an operator must be a whole number of at least 1",
                where=self.describe(),
                got=repr(value),
                todo="pass 1 or more, or leave it out to use the environment's",
            )

    def _require_room(self, parallelism: int, max_parallelism: int | None) -> None:
        if max_parallelism is not None and parallelism > max_parallelism:
            raise GraphError(
                what="the parallelism of an operator must not exceed its maximum parallelism",
                where=self.describe(),
                got=f"parallelism {parallelism}, maximum parallelism {max_parallelism}",
                todo="lower the parallelism, or call set_max_parallelism with a larger number",
            )
