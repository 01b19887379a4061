"""Partial matches in a binary heap, by the event that they began with.

Matches that began with the same event are equal to the heap, and which of them comes first is part
of the result that a user sees. So the heap is spelled out here: Python's own pops equal items in
another order than Flink's queue does.

The place of an item in the list counts too: partial matches are gone through in that order.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.runtime.cep.dewey import Version

#: When an event came and its number among those of the same time.
EventId = tuple[int, int]
#: An event as taken by a stage.
NodeId = tuple[EventId, str]
#: One partial match: its first event, the state that it is in, its version and its last event.
PartialMatch = tuple[EventId, str, Version, NodeId | None]

#: Stands for the first event of a match that has none yet: it comes behind all others.
NO_EVENT: EventId = (1 << 63, 0)


def push(heap: list[PartialMatch], item: PartialMatch) -> None:
    """Add an item."""
    position = len(heap)
    heap.append(item)
    began = item[0]
    while position:
        parent = (position - 1) >> 1
        if began >= heap[parent][0]:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = item


def pop(heap: list[PartialMatch]) -> PartialMatch:
    """Remove and return the first item."""
    first = heap[0]
    last = heap.pop()
    if heap:
        _sift_down(heap, 0, last)
    return first


def remove_if(heap: list[PartialMatch], doomed: Callable[[PartialMatch], bool]) -> None:
    """Remove items, and bring the others into the order of a heap again."""
    kept = [item for item in heap if not doomed(item)]
    if len(kept) == len(heap):
        return
    heap[:] = kept
    for position in range((len(heap) >> 1) - 1, -1, -1):
        _sift_down(heap, position, heap[position])


def _sift_down(heap: list[PartialMatch], position: int, item: PartialMatch) -> None:
    size = len(heap)
    began = item[0]
    while position < size >> 1:
        child = 2 * position + 1
        right = child + 1
        if right < size and heap[child][0] > heap[right][0]:
            child = right
        if began <= heap[child][0]:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = item
