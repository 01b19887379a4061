"""The plan of a DataSet program: what is to be computed, as nodes that point at their inputs.

Plain data. An engine walks it from the sinks; nothing here knows one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.core.batch.options import CrossHint, JoinHint, JoinKind
from penstock.graph.dataset.keys import UNKNOWN, Key, SortKey
from penstock.graph.specs import CallSite

_numbers = itertools.count(1)


@dataclass(eq=False, kw_only=True)
class Node:
    """One operator of a program.

    :param parallelism: number of its subtasks if the program set it.
    :param example: a record as the node gives it, if one is known when the program is built.
    """

    name: str
    inputs: tuple[Node, ...] = ()
    site: CallSite | None = None
    parallelism: int | None = None
    example: Any = UNKNOWN
    #: Data sets that every subtask is given whole, by name.
    broadcast: dict[str, Node] = field(default_factory=dict)
    #: What `with_parameters` gave.
    parameters: Any = None
    id: int = field(default_factory=lambda: next(_numbers))

    def describe(self) -> str:
        """Say which operator, and where in the user's program it was made."""
        built = f", built at {self.site}" if self.site else ""
        return f"operator {self.name!r}{built}"


@dataclass(eq=False, kw_only=True)
class SourceNode(Node):
    """Where a data set begins: a bounded `Source`, an `InputFormat` or a list of elements."""

    source: Any


class EachKind(Enum):
    """What a function is called with, and what it gives."""

    MAP = "map"
    FLAT_MAP = "flat_map"
    FILTER = "filter"
    MAP_PARTITION = "map_partition"


@dataclass(eq=False, kw_only=True)
class EachNode(Node):
    """A function over records, where they are."""

    kind: EachKind
    function: Any


@dataclass(eq=False, kw_only=True)
class ReduceNode(Node):
    """Make one record of the records of each group, two by two. `key` None: of all records."""

    key: Key | None
    function: Any


@dataclass(eq=False, kw_only=True)
class GroupReduceNode(Node):
    """Call a function with all records of each group. `key` None: with all records."""

    key: Key | None
    function: Any
    sort: tuple[SortKey, ...] = ()
    #: Only combine what is together already; nothing is sent.
    combine_only: bool = False
    #: Sends a key to a subtask; None: by the key's hash.
    partitioner: Any = None


@dataclass(eq=False, kw_only=True)
class FirstNode(Node):
    """Keep the first records of each group, or of all."""

    key: Key | None
    count: int
    sort: tuple[SortKey, ...] = ()


@dataclass(eq=False, kw_only=True)
class JoinNode(Node):
    """Pair records of two inputs that have equal keys."""

    kind: JoinKind
    keys: tuple[Key, Key]
    function: Any
    hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES
    partitioner: Any = None

    @property
    def broadcast_side(self) -> int | None:
        """Which input is sent whole to every worker; None: both are sent by their keys."""
        # A record that must appear without a partner cannot be in many places.
        if self.hint is JoinHint.BROADCAST_HASH_SECOND and not self.kind.keeps_right:
            return 1
        if self.hint is JoinHint.BROADCAST_HASH_FIRST and not self.kind.keeps_left:
            return 0
        return None


@dataclass(eq=False, kw_only=True)
class CoGroupNode(Node):
    """Call a function with the records of both inputs that have equal keys."""

    keys: tuple[Key, Key]
    function: Any
    sorts: tuple[tuple[SortKey, ...], tuple[SortKey, ...]] = ((), ())
    partitioner: Any = None


@dataclass(eq=False, kw_only=True)
class CrossNode(Node):
    """Pair each record of one input with each of the other."""

    function: Any
    hint: CrossHint = CrossHint.OPTIMIZER_CHOOSES


@dataclass(eq=False, kw_only=True)
class UnionNode(Node):
    """All records of all inputs."""


class PartitionKind(Enum):
    """Where records are sent."""

    REBALANCE = "Rebalance"
    HASH = "Hash-Partition"
    RANGE = "Range-Partition"
    CUSTOM = "Custom Partition"


@dataclass(eq=False, kw_only=True)
class PartitionNode(Node):
    """Send records to other subtasks."""

    kind: PartitionKind
    key: Key | None = None
    sort: tuple[SortKey, ...] = ()
    partitioner: Any = None


@dataclass(eq=False, kw_only=True)
class SortPartitionNode(Node):
    """Sort the records of each subtask."""

    sort: tuple[SortKey, ...]


@dataclass(eq=False, kw_only=True)
class ZipNode(Node):
    """Number the records: from zero on without gaps, or just uniquely."""

    consecutive: bool


@dataclass(eq=False, kw_only=True)
class SampleNode(Node):
    """Keep some records, by chance."""

    with_replacement: bool
    seed: int
    fraction: float | None = None
    size: int | None = None


@dataclass(eq=False, kw_only=True)
class PlaceholderNode(Node):
    """What stands, inside an iteration, for the result of the step before."""


@dataclass(frozen=True)
class IterationAggregator:
    """An aggregator that an iteration was given, and when it ends the iteration."""

    aggregator: Any
    criterion: Any = None


@dataclass(eq=False, kw_only=True)
class BulkIterationNode(Node):
    """Compute `result` from `placeholder` again and again. `inputs`: the initial data set."""

    placeholder: PlaceholderNode
    max_iterations: int
    result: Node
    #: The iteration ends when this is empty after a step.
    termination: Node | None = None
    aggregators: dict[str, IterationAggregator] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class DeltaIterationNode(Node):
    """Change a solution set until the workset is empty. `inputs`: first solution, first workset."""

    solution: PlaceholderNode
    workset: PlaceholderNode
    key: Key
    max_iterations: int
    delta: Node
    next_workset: Node
    aggregators: dict[str, IterationAggregator] = field(default_factory=dict)


class SinkKind(Enum):
    """What becomes of the records at the end."""

    COLLECT = "collect()"
    COUNT = "count()"
    OUTPUT = "DataSink"


@dataclass(eq=False, kw_only=True)
class SinkNode(Node):
    """The end of a data set; `output` is the `OutputFormat` of kind OUTPUT."""

    kind: SinkKind
    output: Any = None
    sort: tuple[SortKey, ...] = ()


def reachable(targets: Sequence[Node]) -> list[Node]:
    """Return some nodes and all that they need, inputs first; each once."""
    found: dict[int, Node] = {}
    waiting: list[tuple[Node, bool]] = [(node, False) for node in reversed(targets)]
    while waiting:
        node, ready = waiting.pop()
        if node.id in found:
            continue
        if ready:
            found[node.id] = node
            continue
        waiting.append((node, True))
        waiting.extend((needed, False) for needed in reversed(needs(node)))
    return list(found.values())


def needs(node: Node) -> list[Node]:
    """Return the nodes that a node reads, those inside an iteration included."""
    needed = [*node.inputs, *node.broadcast.values()]
    if isinstance(node, BulkIterationNode):
        needed += [node.placeholder, node.result]
        needed += [] if node.termination is None else [node.termination]
    elif isinstance(node, DeltaIterationNode):
        needed += [node.solution, node.workset, node.delta, node.next_workset]
    return needed
