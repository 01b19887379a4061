"""The events of all partial matches of one key, each held once.

An event that a stage has taken is a *node*. Its edges lead to the nodes before it, one for each way
in which matches came here, and carry the version of the match that made them. Nodes and edges count
the matches that need them, and go with the last one.

The buffer remembers what changed since it was last written, so that a batch writes that only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.runtime.cep.dewey import Version, is_compatible, run_of
from penstock.runtime.cep.match_queue import EventId, NodeId
from penstock.runtime.codec import Frozen, freeze

#: [how many matches need it, its edges by run]; an edge is [node before, version, how many].
#: A run is the first digit of a version: no match ever follows an edge of another one.
Node = list[Any]
#: Dropped nodes, written nodes, dropped events, written events.
BufferDelta = tuple[
    list[NodeId], list[tuple[NodeId, Any]], list[EventId], list[tuple[EventId, Any]]
]


class SharedBuffer:
    """Events, and which matches they belong to."""

    __slots__ = ("_dropped", "_dropped_events", "_events", "_frozen", "_new_events", "_new_nodes",
                 "_nodes", "_touched")  # fmt: skip

    def __init__(self) -> None:
        self._nodes: dict[NodeId, Node] = {}
        self._events: dict[EventId, list[Any]] = {}  # [number of its nodes, the event]
        # What changed since the last delta. New nodes and events are not in the log yet.
        self._new_nodes: set[NodeId] = set()
        self._new_events: set[EventId] = set()
        self._touched: set[NodeId] = set()
        self._dropped: list[NodeId] = []
        self._dropped_events: list[EventId] = []
        self._frozen: dict[EventId, Frozen] = {}  # events as they were written, if read since

    def __len__(self) -> int:
        return len(self._nodes)

    def put(
        self, stage: str, event_id: EventId, event: Any, previous: NodeId | None, version: Version
    ) -> NodeId:
        """Add an event behind another, for a match of that version, and return its node.

        The node before must be locked for it: the new edge leads there.
        """
        node_id = (event_id, stage)
        node = self._nodes.get(node_id)
        if node is not None:
            node[1].setdefault(run_of(version), []).append([previous, version, 0])
            return node_id
        self._nodes[node_id] = [0, {run_of(version): [[previous, version, 0]]}]
        self._new_nodes.add(node_id)
        entry = self._events.get(event_id)
        if entry is None:
            self._events[event_id] = [1, event]
            self._new_events.add(event_id)
        else:
            entry[0] += 1
        return node_id

    def lock(self, node_id: NodeId, version: Version) -> None:
        """Note that a match of that version needs a node, and the edges that it may follow."""
        node = self._nodes.get(node_id)
        if node is None:
            return
        node[0] += 1
        for edge in node[1].get(run_of(version), ()):
            if is_compatible(version, edge[1]):
                edge[2] += 1
        self._touched.add(node_id)

    def release(self, node_id: NodeId | None, version: Version) -> None:
        """Note that a match of that version is gone, and drop what nobody needs any more."""
        if node_id is None:
            return
        waiting = [(node_id, version)]
        while waiting:
            node_id, version = waiting.pop()
            node = self._nodes.get(node_id)
            if node is None:
                continue
            kept = []
            run = run_of(version)
            for edge in node[1].get(run, ()):
                if not is_compatible(version, edge[1]):
                    kept.append(edge)
                elif edge[2] > 1:
                    edge[2] -= 1
                    kept.append(edge)
                elif edge[0] is not None:
                    waiting.append((edge[0], edge[1]))
            if node[0] <= 1:
                self._drop(node_id)
                continue
            node[0] -= 1
            if kept:
                node[1][run] = kept
            else:
                node[1].pop(run, None)
            self._touched.add(node_id)

    def _drop(self, node_id: NodeId) -> None:
        del self._nodes[node_id]
        self._touched.discard(node_id)
        if node_id in self._new_nodes:
            self._new_nodes.discard(node_id)
        else:
            self._dropped.append(node_id)
        event_id = node_id[0]
        entry = self._events[event_id]
        entry[0] -= 1
        if entry[0]:
            return
        del self._events[event_id]
        self._frozen.pop(event_id, None)
        if event_id in self._new_events:
            self._new_events.discard(event_id)
        else:
            self._dropped_events.append(event_id)

    # ---- reading -----------------------------------------------------------------------------

    def extract(self, node_id: NodeId | None, version: Version) -> dict[str, list[EventId]]:
        """Return the events of a match by stage, from its first one on."""
        if node_id is None:
            return {}
        nodes = self._nodes
        # Depth first; a path is a chain of pairs from the match's first event to its last.
        waiting: list[tuple[NodeId | None, Version, Any]] = [(node_id, version, None)]
        while waiting:
            current, version, path = waiting.pop()
            if current is None:
                return _by_stage(path)
            node = nodes.get(current)
            if node is None:
                continue
            for target, edge_version, _ in node[1].get(run_of(version), ()):
                if is_compatible(version, edge_version):
                    waiting.append((target, edge_version, (current, path)))
        return {}

    def events(self, match: dict[str, list[EventId]]) -> dict[str, list[Any]]:
        """Return the events themselves. Whoever gets them must not change them."""
        event = self._event
        return {stage: [event(each) for each in ids] for stage, ids in match.items()}

    def _event(self, event_id: EventId) -> Any:
        entry = self._events[event_id]
        event = entry[1]
        if type(event) is Frozen:
            self._frozen[event_id] = event
            event = entry[1] = event.thaw()
        return event

    # ---- state -------------------------------------------------------------------------------

    def take_delta(self) -> BufferDelta:
        """Return what changed since the last call; all events are frozen then."""
        nodes, events = self._nodes, self._events
        self.freeze_again()
        for event_id in self._new_events:
            entry = events[event_id]
            entry[1] = freeze(entry[1])
        delta = (
            self._dropped,
            [(each, _plain(nodes[each])) for each in sorted(self._touched | self._new_nodes)],
            self._dropped_events,
            [(each, events[each][1]) for each in sorted(self._new_events)],
        )
        self._dropped, self._dropped_events = [], []
        self._new_nodes.clear()
        self._new_events.clear()
        self._touched.clear()
        return delta

    def freeze_again(self) -> None:
        """Forget what was made of the events that were read: what is written counts."""
        for event_id, frozen in self._frozen.items():
            self._events[event_id][1] = frozen
        self._frozen.clear()

    @property
    def was_read(self) -> bool:
        """Tell whether there is anything to freeze again."""
        return bool(self._frozen)

    def apply(self, delta: BufferDelta) -> None:
        """Lay a delta over the buffer.

        What it builds upon may be missing, if the whole buffer comes with a later delta.
        """
        dropped, nodes, dropped_events, events = delta
        for event_id in dropped_events:
            self._events.pop(event_id, None)
        for event_id, event in events:
            self._events.setdefault(event_id, [0, None])[1] = event
        for node_id in dropped:
            if self._nodes.pop(node_id, None) is not None and node_id[0] in self._events:
                self._events[node_id[0]][0] -= 1
        for node_id, (count, edges) in nodes:
            if node_id not in self._nodes:
                self._events.setdefault(node_id[0], [0, None])[0] += 1
            by_run: dict[int, list[Any]] = {}
            for edge in edges:
                by_run.setdefault(run_of(edge[1]), []).append(list(edge))
            self._nodes[node_id] = [count, by_run]

    def dump(self) -> BufferDelta:
        """Return all there is as a delta. Events must be frozen."""
        nodes: Iterable[tuple[NodeId, Any]] = self._nodes.items()
        return (
            [],
            [(node_id, _plain(node)) for node_id, node in nodes],
            [],
            [(event_id, entry[1]) for event_id, entry in self._events.items()],
        )


def _plain(node: Node) -> tuple[int, tuple[tuple[Any, ...], ...]]:
    return node[0], tuple([tuple(edge) for edges in node[1].values() for edge in edges])


def _by_stage(path: Any) -> dict[str, list[EventId]]:
    match: dict[str, list[EventId]] = {}
    while path is not None:
        (event_id, stage), path = path
        events = match.get(stage)
        if events is None:
            match[stage] = [event_id]
        else:
            events.append(event_id)
    return match
