"""Deal out what subtasks keep beside keyed and operator state when there are more or fewer of them.

The rules, for an operator whose parallelism is another one than before:

- **attributes of functions** belong to no key: subtask i goes on with those of subtask i. A new
  subtask begins as `open()` leaves it; what a subtask had that is no more is dropped, with a
  warning.
- **accumulators** are added up, and the first subtask goes on with the sum.
- **watermarks** are the least that any subtask had, so that nothing is late that was not.
- **watermark generators** go with their splits, and those of a stream are the slowest one's.
- **sinks** deal out the state of their writers themselves (`Sink.redistribute`).
- **exchanges** begin their rounds anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.pickling import dumps, loads
from penstock.core.time import MIN_WATERMARK
from penstock.graph.plan import PlanOperator
from penstock.graph.specs import SinkSpec
from penstock.runtime.savepoint.format import OperatorInfo, PlainState

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Deal:
    """Who deals what out to whom."""

    operator: PlanOperator
    subtask: int
    before: OperatorInfo
    #: By the subtask that left it.
    left: Mapping[int, PlainState]

    @property
    def rescaled(self) -> bool:
        """Tell whether there are more or fewer subtasks than before."""
        return self.operator.parallelism != self.before.parallelism


def operator_snapshot(deal: Deal) -> dict[str, Any]:
    """Return what the operator's `restore` takes."""
    snapshots = {i: state.operator for i, state in deal.left.items() if state.operator is not None}
    if not deal.rescaled:
        return dict(snapshots.get(deal.subtask, {}))
    names = {name for snapshot in snapshots.values() for name in snapshot}
    dealt: dict[str, Any] = {}
    for name in sorted(names):
        values = {i: snapshot.get(name) for i, snapshot in sorted(snapshots.items())}
        how = _RULES.get(name, _of_the_same_subtask)
        if (share := how(values, deal)) is not None:
            dealt[name] = share
    return dealt


Values = Mapping[int, Any]


def _of_the_same_subtask(values: Values, deal: Deal) -> Any:
    lost = [
        i for i, value in values.items() if value is not None and i >= deal.operator.parallelism
    ]
    if lost and deal.subtask == 0:
        _logger.warning(
            "%s has fewer subtasks than before: attributes of the functions of subtasks %s are "
            "dropped; keep what must not be lost in state",
            deal.operator.describe(),
            ", ".join(map(str, lost)),
        )
    return values.get(deal.subtask)


def _metrics(values: Values, deal: Deal) -> Any:
    return values.get(deal.subtask)


def _accumulators(values: Values, deal: Deal) -> Any:
    if deal.subtask:
        return None
    totals: dict[str, Any] = {}
    for data in values.values():
        for name, accumulator in (loads(data) if data else {}).items():
            if name in totals:
                totals[name].merge(accumulator)
            else:
                totals[name] = accumulator
    return dumps(totals) if totals else None


def _time(values: Values, deal: Deal) -> Any:
    times = [(MIN_WATERMARK, False) if value is None else value for value in values.values()]
    # What had ended says the largest watermark of all.
    going_on = [watermark for watermark, finished in times if not finished]
    finished = not going_on
    watermark = max(mark for mark, _ in times) if finished else min(going_on)
    return watermark, finished


def _splits(values: Values, deal: Deal) -> Any:
    """Give everybody the generators of all splits: an operator keeps those of its own."""
    return {split: saved for value in values.values() for split, saved in (value or {}).items()}


def _marks(values: Values, deal: Deal) -> Any:
    """Return the generator whose watermark, which stands first, is the lowest."""
    return min(
        (value for value in values.values() if value is not None), key=lambda saved: saved[0]
    )


def _writers(values: Values, deal: Deal) -> Any:
    spec = deal.operator.spec
    assert isinstance(spec, SinkSpec)
    states = [None] * deal.before.parallelism
    for subtask, data in values.items():
        states[subtask] = None if data is None else loads(data)
    share = spec.sink.redistribute(states, deal.operator.parallelism)[deal.subtask]
    return None if share is None else dumps(share)


_RULES: dict[str, Callable[[Values, Deal], Any]] = {
    "accumulators": _accumulators,
    "metrics": _metrics,
    "time": _time,
    "checkpoints": lambda values, deal: max(value or 0 for value in values.values()),
    "splits": _splits,
    "idle": lambda values, deal: all(value for value in values.values()),
    "marks": _marks,
    "writer": _writers,
}


@dataclass(frozen=True)
class _Channel:
    watermark: int = MIN_WATERMARK
    active: bool = True
    ended: bool = False


def gate_snapshot(deal: Deal, channels: Sequence[tuple[str, int]]) -> tuple[Any, ...] | None:
    """Return what the `restore` of a gate takes; None if nothing is known.

    :param channels: those of the new gate, in its order: name of the edge, and sender.
    """
    gates = {i: state for i, state in deal.left.items() if state.gate is not None}
    own = gates.get(deal.subtask)
    if own is not None and not deal.rescaled and list(own.channels) == list(channels):
        return own.gate
    if not gates:
        return None
    known = _known_channels(list(gates.values()))
    mine = {} if own is None or deal.rescaled else _known_channels([own])
    found = [
        mine[edge][sender][0]
        if sender in mine.get(edge, ())
        else _channel(known, edge, sender, channels)
        for edge, sender in channels
    ]
    watermark = min(state.gate[4] for state in gates.values() if state.gate is not None)
    ended = all(channel.ended for channel in found)
    return (
        tuple(channel.watermark for channel in found),
        tuple(channel.active for channel in found),
        # One that is new, or behind, counts once it has caught up.
        tuple(channel.active and channel.watermark >= watermark for channel in found),
        tuple(channel.ended for channel in found),
        watermark,
        not any(channel.active for channel in found),
        ended,
    )


def _known_channels(left: list[PlainState]) -> dict[str, dict[int, list[_Channel]]]:
    known: dict[str, dict[int, list[_Channel]]] = {}
    for state in left:
        assert state.gate is not None
        watermarks, active, _, ended = state.gate[:4]
        parts = zip(state.channels, watermarks, active, ended, strict=True)
        for (edge, sender), *facts in parts:
            known.setdefault(edge, {}).setdefault(sender, []).append(_Channel(*facts))
    return known


def _channel(
    known: dict[str, dict[int, list[_Channel]]],
    edge: str,
    sender: int,
    channels: Sequence[tuple[str, int]],
) -> _Channel:
    """Return what a channel is taken to have said: what the same one said, or the least of all."""
    senders = known.get(edge, {})
    now = {other for name, other in channels if name == edge}
    if now == set(senders):
        return _least(senders[sender])
    return _least([channel for said in senders.values() for channel in said])


def _least(said: list[_Channel]) -> _Channel:
    if not said:
        return _Channel()
    live = [channel for channel in said if not channel.ended]
    if not live:
        return said[0]
    return _Channel(
        min(channel.watermark for channel in live), any(channel.active for channel in live)
    )


def writer_snapshot(deal: Deal, edge: str, same_ends: bool) -> Any:
    """Return what the `restore` of an exchange writer takes, None to begin anew.

    :param same_ends: whether as many subtasks take the records as before, by the same rule.
    """
    saved = {i: state.writers.get(edge) for i, state in deal.left.items()}
    if same_ends and not deal.rescaled:
        return saved.get(deal.subtask)
    # Those that had nothing to say were neither idle nor at their end.
    states = [value or (False, False, 0, ()) for value in saved.values()]
    if not states:
        return None
    idle, ended = (all(state[i] for state in states) for i in (0, 1))
    own = saved.get(deal.subtask)
    return idle, ended, 0, () if own is None else own[3]
