"""The input side of an operator: its channels, and the watermark that they agree on.

A channel is one ordered input: an upstream subtask of one edge. The operator's watermark is the
minimum over its live channels and only ever rises. A channel that has said nothing counts as
-infinity; one that is idle or has ended holds nobody back.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK

Channel = tuple[int, int]  # (edge id, upstream subtask)


class GatedOperator(Protocol):
    """What a gate does to its operator."""

    def advance_watermark(self, watermark: int) -> None:
        """Take the risen watermark."""

    def change_idle(self, idle: bool) -> None:
        """Learn that all channels have gone idle, or that one has come back."""

    def finish_input(self) -> None:
        """Learn that all channels have ended."""


class Gate:
    """Merge the watermarks of an operator's channels."""

    def __init__(self, operator: GatedOperator, channels: list[Channel]) -> None:
        self._operator = operator
        self.channels = channels
        self._index = {channel: i for i, channel in enumerate(channels)}
        self._watermarks = [MIN_WATERMARK] * len(channels)
        self._active = [True] * len(channels)
        # A channel that comes back from idleness counts again once it has caught up.
        self._aligned = [True] * len(channels)
        self._ended = [False] * len(channels)
        # Whether the operator's watermark is known to be the minimum. A channel that comes back
        # may be ahead of it, and alone: the next watermark, whoever's, tells the operator.
        self._is_minimum = True
        self.watermark = MIN_WATERMARK
        self.idle = False
        self.finished = False
        if len(channels) == 1:
            self.advance = self._advance_only  # type: ignore[method-assign]

    def advance(self, channel: Channel, watermark: int) -> None:
        """Take a watermark of one channel; what an idle one says does not count."""
        i = self._index[channel]
        before = self._watermarks[i]
        if watermark <= before or not self._active[i]:
            return
        self._watermarks[i] = watermark
        if not self._aligned[i] and watermark >= self.watermark:
            self._aligned[i] = True
        elif self._is_minimum and (before > self.watermark or not self._aligned[i]):
            return  # others hold the minimum back
        self._rise_to_minimum()

    def _advance_only(self, channel: Channel, watermark: int) -> None:
        """Do the same where there is one channel: nobody else has a say.

        Most gates are between operators of one task, and a watermark may follow every record.
        """
        if watermark > self._watermarks[0] and self._active[0]:
            self._watermarks[0] = watermark
            if watermark > self.watermark:
                self.watermark = watermark
                self._operator.advance_watermark(watermark)

    def set_idle(self, channel: Channel, idle: bool) -> None:
        """Learn that a channel has nothing to say, or has something to say again."""
        i = self._index[channel]
        if self._ended[i] or self._active[i] is not idle:
            return
        self._active[i] = not idle
        self._aligned[i] = not idle and self._watermarks[i] >= self.watermark
        self._is_minimum = False
        if idle and self._watermarks[i] == self.watermark:
            if any(self._active):
                self._rise_to_minimum()
            else:  # nobody is left to wait for: the furthest channel counts
                self._rise(max(self._watermarks))
        if self.idle is any(self._active):
            self.idle = not self.idle
            self._operator.change_idle(self.idle)

    def idle_channel(self, channel: Channel) -> bool:
        """Tell whether a channel has said that it is idle."""
        return not self._active[self._index[channel]]

    def end(self, channel: Channel) -> None:
        """Learn that nothing more will come from a channel."""
        i = self._index[channel]
        if self._ended[i]:
            return
        self.set_idle(channel, False)
        self.advance(channel, MAX_WATERMARK)
        self._ended[i] = True
        if all(self._ended):
            self.finished = True
            self._operator.finish_input()

    def have_ended(self, edges: Collection[int]) -> bool:
        """Tell whether all channels of some edges have ended."""
        return all(self._ended[i] for (edge, _), i in self._index.items() if edge in edges)

    def _rise_to_minimum(self) -> None:
        self._is_minimum = True
        if all(self._aligned):
            self._rise(min(self._watermarks))
            return
        aligned = zip(self._watermarks, self._aligned, strict=True)
        marks = [watermark for watermark, counts in aligned if counts]
        if marks:
            self._rise(min(marks))

    def _rise(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            self._operator.advance_watermark(watermark)

    def snapshot(self) -> tuple[Any, ...]:
        """Return what the gate must know in the next batch."""
        lists: tuple[list[Any], ...]
        lists = (self._watermarks, self._active, self._aligned, self._ended)
        return (*(tuple(part) for part in lists), self.watermark, self.idle, self.finished)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Undo `snapshot`."""
        lists = map(list, snapshot[:4])
        self._watermarks, self._active, self._aligned, self._ended = lists
        self.watermark, self.idle, self.finished = snapshot[4:]
        self._is_minimum = False
