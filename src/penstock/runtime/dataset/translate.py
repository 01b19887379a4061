"""Turn the nodes of a DataSet program into partitions of a carrier, node by node."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from penstock.core.batch.formats import InputFormat
from penstock.core.batch.options import CrossHint
from penstock.core.io import Source
from penstock.graph.dataset.keys import Key
from penstock.graph.dataset.nodes import (
    CoGroupNode,
    CrossNode,
    EachNode,
    FirstNode,
    GroupReduceNode,
    JoinNode,
    Node,
    PartitionKind,
    PartitionNode,
    ReduceNode,
    SampleNode,
    SortPartitionNode,
    SourceNode,
    UnionNode,
    ZipNode,
)
from penstock.runtime.dataset import each, grouped, paired
from penstock.runtime.dataset.carrier import Carrier, Partitions
from penstock.runtime.dataset.context import Place, Surroundings
from penstock.runtime.dataset.groups import SendGroups
from penstock.runtime.dataset.routes import CustomRoute, HashRoute, range_route
from penstock.runtime.dataset.sending import (
    ReceiveStage,
    SendByKey,
    SendBySortKey,
    SendInTurn,
)
from penstock.runtime.dataset.sources import element_pieces, source_pieces
from penstock.runtime.dataset.stage import Shipped

#: Where records are sent, by their keys.
Route = Callable[[list[Any]], list[int]]


class Translator:
    """Knows for each kind of node what is to be done; `translate` is the one entry.

    :param parallelism: of nodes that do not say.
    """

    def __init__(self, carrier: Carrier, parallelism: int, around: Surroundings) -> None:
        self.carrier = carrier
        self.around = around
        self.parallelism = parallelism
        self._tools = carrier.tools

    def translate(self, node: Node, inputs: list[Partitions], place: Place) -> Partitions:
        """Return what a node makes of its inputs."""
        return _TRANSLATIONS[type(node)](self, node, inputs, place)

    def width(self, node: Node) -> int:
        """Return the number of subtasks of a node."""
        return node.parallelism or self.parallelism

    # --- records --------------------------------------------------------------------------

    def source(self, node: SourceNode, inputs: list[Partitions], place: Place) -> Partitions:
        source = node.source
        if isinstance(source, Source):
            ranges = source_pieces(source, self.width(node), node.name)
            return self.carrier.read(each.ReadStage(place, source), ranges)
        if isinstance(source, InputFormat):
            source.configure(node.parameters)
            splits = source.create_input_splits(self.width(node))
            dealt = [splits[index :: self.width(node)] for index in range(self.width(node))]
            return self.carrier.read(each.ReadStage(place, source), dealt)
        pieces = element_pieces(source, self.width(node), node.describe())
        return self.carrier.read(each.ElementsStage(place), pieces)

    def each(self, node: EachNode, inputs: list[Partitions], place: Place) -> Partitions:
        stage = each.EACH[node.kind](place, node.function, node.kind.value)
        return self._at_width(node, inputs[0], place).through(stage)

    def union(self, node: UnionNode, inputs: list[Partitions], place: Place) -> Partitions:
        return inputs[0].union(inputs[1:])

    def zip(self, node: ZipNode, inputs: list[Partitions], place: Place) -> Partitions:
        kept = inputs[0].keep() if node.consecutive else inputs[0]
        offsets = self._offsets(kept, place)[:-1] if node.consecutive else None
        return kept.through(each.NumberStage(self._wide(place, kept.count), offsets))

    def sample(self, node: SampleNode, inputs: list[Partitions], place: Place) -> Partitions:
        if node.fraction is not None:
            stage = each.ChanceStage(place, node.fraction, node.with_replacement, node.seed)
            return inputs[0].through(stage)
        kept = inputs[0].keep()
        offsets = self._offsets(kept, place)
        everyone, size = range(offsets[-1]), node.size or 0
        chance = random.Random(node.seed)
        if node.with_replacement and everyone:
            numbers = chance.choices(everyone, k=size)
        else:
            numbers = chance.sample(everyone, min(size, len(everyone)))
        return kept.through(each.PickStage(place, offsets, numbers))

    # --- groups ---------------------------------------------------------------------------

    def reduce(self, node: ReduceNode, inputs: list[Partitions], place: Place) -> Partitions:
        combined = inputs[0].through(
            grouped.CombineStage(place, node.key, node.function, self._tools)
        )
        width = self.width(node) if node.key is not None else 1
        sent = self._send(combined, grouped.PAIR, HashRoute(width), width, place)
        return sent.through(grouped.MergeStage(place, node.function, self._tools))

    def group_reduce(
        self, node: GroupReduceNode, inputs: list[Partitions], place: Place
    ) -> Partitions:
        data, key, function, tools = inputs[0], node.key, node.function, self._tools
        if node.combine_only:
            return data.through(
                grouped.CombineGroupStage(place, key, function, tools, with_keys=False)
            )
        combined = hasattr(function, "combine")
        if combined:
            data = data.through(
                grouped.CombineGroupStage(place, key, function, tools, with_keys=True)
            )
        stage = grouped.GroupReduceStage(place, key, function, node.sort, tools, combined=combined)
        if key is None:
            return self._spread(data, 1, place).through(stage)
        width = self.width(node)
        route = self._route(width, node.partitioner, node)
        sent_by = grouped.PAIR if combined else key
        return data.exchange(SendGroups(place, sent_by, route, width, tools), width).through(stage)

    def first(self, node: FirstNode, inputs: list[Partitions], place: Place) -> Partitions:
        count, tools, key, width = node.count, self._tools, node.key, self.width(node)
        if key is None:
            few = inputs[0].through(each.LimitStage(place, count))
            gathered = few if few.count == 1 else self._spread(few, 1, place)
            return gathered.through(each.LimitStage(place, count))
        early = grouped.FirstOfGroupStage(place, key, count, node.sort, tools, final=False)
        sender = SendGroups(place, key, HashRoute(width), width, tools)
        return (
            inputs[0]
            .through(early)
            .exchange(sender, width)
            .through(grouped.FirstOfGroupStage(place, key, count, node.sort, tools, final=True))
        )

    # --- two inputs -----------------------------------------------------------------------

    def join(self, node: JoinNode, inputs: list[Partitions], place: Place) -> Partitions:
        sent = node.broadcast_side
        if sent is not None:
            return self._broadcast_join(node, inputs[sent], inputs[1 - sent], place, first=not sent)
        together = self._together(node, inputs, place)
        return together.through(
            paired.JoinStage(place, node.keys, node.function, node.kind, self._tools)
        )

    def co_group(self, node: CoGroupNode, inputs: list[Partitions], place: Place) -> Partitions:
        together = self._together(node, inputs, place)
        return together.through(
            paired.CoGroupStage(place, node.keys, node.function, node.sorts, self._tools)
        )

    def cross(self, node: CrossNode, inputs: list[Partitions], place: Place) -> Partitions:
        first, second = inputs
        if node.hint is CrossHint.OPTIMIZER_CHOOSES:
            return first.cross(second).through(paired.CrossStage(place, node.function))
        swapped = node.hint is CrossHint.FIRST_IS_SMALL
        small, large = (first, second) if swapped else (second, first)
        table = self.carrier.broadcast(small.collect())
        return large.through(
            paired.BroadcastCrossStage(place, node.function, table, first_is_broadcast=swapped)
        )

    def _broadcast_join(
        self, node: JoinNode, sent: Partitions, stays: Partitions, place: Place, *, first: bool
    ) -> Partitions:
        table = self.carrier.broadcast(sent.collect())
        keeps = node.kind.keeps_right if first else node.kind.keeps_left
        stage = paired.BroadcastJoinStage(
            place, node.function, node.keys, table, first_is_broadcast=first, keeps=keeps
        )
        return stays.through(stage)

    def _together(
        self, node: JoinNode | CoGroupNode, inputs: list[Partitions], place: Place
    ) -> Partitions:
        width = self.width(node)
        route = self._route(width, node.partitioner, node)
        first, second = (
            side.exchange(SendByKey(place, key, route, width, self._tools, tag), width)
            for tag, (side, key) in enumerate(zip(inputs, node.keys, strict=True))
        )
        return first.merged(second)

    # --- partitions -----------------------------------------------------------------------

    def partition(self, node: PartitionNode, inputs: list[Partitions], place: Place) -> Partitions:
        width = self.width(node)
        if node.kind is PartitionKind.REBALANCE:
            return self._spread(inputs[0], width, place)
        if node.kind is PartitionKind.RANGE:
            data = inputs[0].keep()
            ranges = range_route(data, place, node.sort, width)
            sender = SendBySortKey(place, node.sort, ranges, width, self._tools)
            return data.exchange(sender, width).through(ReceiveStage(place, self._tools))
        assert node.key is not None
        route = self._route(width, node.partitioner, node)
        return self._send(inputs[0], node.key, route, width, place)

    def sort_partition(
        self, node: SortPartitionNode, inputs: list[Partitions], place: Place
    ) -> Partitions:
        data = self._at_width(node, inputs[0], place)
        return data.through(grouped.SortStage(place, node.sort, self._tools))

    # --- parts ----------------------------------------------------------------------------

    def _send(
        self, data: Partitions, key: Key, route: Route, width: int, place: Place
    ) -> Partitions:
        """Return the records where their keys belong."""
        sender = SendByKey(place, key, route, width, self._tools)
        return data.exchange(sender, width).through(ReceiveStage(place, self._tools))

    def _route(self, width: int, partitioner: Any, node: Node | None = None) -> Route:
        if partitioner is None:
            return HashRoute(width)
        where = node.describe() if node is not None else "partition_custom()"
        return CustomRoute(Shipped(partitioner, where), width, where)

    def _spread(self, data: Partitions, width: int, place: Place) -> Partitions:
        sender = SendInTurn(place, width, self._tools)
        return data.exchange(sender, width).through(ReceiveStage(place, self._tools))

    def _at_width(self, node: Node, data: Partitions, place: Place) -> Partitions:
        """Return the data in as many partitions as the node has subtasks."""
        width = self.width(node)
        if data.count == width or (data.count == 1 and node.parallelism is None):
            return data
        return data.fewer(width) if data.count > width else self._spread(data, width, place)

    def _offsets(self, data: Partitions, place: Place) -> list[int]:
        counts = data.through(each.CountStage(place)).collect()
        return list(accumulate(counts, initial=0))

    def _wide(self, place: Place, width: int) -> Place:
        return Place(place.node, place.name, place.site, width, place.surroundings)


_TRANSLATIONS: dict[type[Node], Callable[..., Partitions]] = {
    SourceNode: Translator.source,
    EachNode: Translator.each,
    UnionNode: Translator.union,
    ZipNode: Translator.zip,
    SampleNode: Translator.sample,
    ReduceNode: Translator.reduce,
    GroupReduceNode: Translator.group_reduce,
    FirstNode: Translator.first,
    JoinNode: Translator.join,
    CoGroupNode: Translator.co_group,
    CrossNode: Translator.cross,
    PartitionNode: Translator.partition,
    SortPartitionNode: Translator.sort_partition,
}
