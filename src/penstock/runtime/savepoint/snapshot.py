"""Write the state of a task into a savepoint, and read a task's log without its program."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from penstock.core.key_groups import key_group
from penstock.graph.plan import sender_of
from penstock.runtime.savepoint.format import Changes, OperatorInfo, Part, PartWriter, PlainState
from penstock.runtime.state.all_tables import TABLES
from penstock.runtime.state.keyed_backend import KEY_TIMERS, TIMER_KINDS
from penstock.runtime.state.operator_state import is_operator_state
from penstock.runtime.state.tables import Table
from penstock.runtime.task import CHANNELS, WRITERS
from penstock.runtime.timers import TimerQueue

#: An entry of an inventory: operator, place, kind, keys, and how to dump some of them.
Entry = tuple[str, str, str, list[Any], Callable[[list[Any]], Any]]


class TaskState(Protocol):
    """What is asked of a task whose state is written; its batch must be over."""

    def inventory(self) -> Iterator[Entry]:
        """List what is written by key."""

    def full_plain_state(self) -> dict[Any, bytes]:
        """Return the rest."""


class LooseState:
    """The state of a task without the task: what its deltas amount to."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], tuple[str, Table | TimerQueue]] = {}
        self._plain: dict[Any, bytes] = {}

    def apply(self, delta: Mapping[Any, Any]) -> None:
        """Lay a delta of the task over the state."""
        for name, changes in delta.items():
            if isinstance(name, tuple):
                self._plain[name] = changes
                continue
            for place, (kind, part) in changes.items():
                self._part(name, place, kind).apply(part)

    def settle(self) -> None:
        """Nothing works on this state."""

    def take_delta(self) -> dict[Any, Any]:
        """Nothing changes this state."""
        return {}

    def inventory(self) -> Iterator[Entry]:
        """See `TaskState.inventory`."""
        for (uid, place), (kind, part) in self._places.items():
            if isinstance(part, TimerQueue):
                yield uid, place, kind, part.timers(), part.dump
            elif part.data:
                yield uid, place, kind, list(part.keys()), part.dump

    def full_plain_state(self) -> dict[Any, bytes]:
        """See `TaskState.full_plain_state`."""
        return self._plain

    def _part(self, uid: str, place: str, kind: str) -> Table | TimerQueue:
        found = self._places.get((uid, place))
        if found is None:
            made = TimerQueue() if kind in TIMER_KINDS else TABLES[kind]()
            found = self._places[uid, place] = (kind, made)
        return found[1]


def write_parts(
    state: TaskState, infos: Mapping[str, OperatorInfo], subtask: int, folder: str
) -> list[Part]:
    """Write the state of all operators of a task to a file of its own.

    :param infos: the job's operators by uid.
    :param folder: of the savepoint.
    """
    writer = PartWriter(folder)
    try:
        plain = _plain_states(state.full_plain_state())
        by_uid: dict[str, list[Entry]] = {uid: [] for uid in plain}
        for entry in state.inventory():
            by_uid.setdefault(entry[0], []).append(entry)
        return [
            _write_part(writer, infos[uid], subtask, plain.get(uid), entries)
            for uid, entries in by_uid.items()
        ]
    finally:
        writer.close()


def _write_part(
    writer: PartWriter,
    info: OperatorInfo,
    subtask: int,
    plain: PlainState | None,
    entries: list[Entry],
) -> Part:
    own: Changes = {}
    places: dict[int, list[tuple[Entry, list[Any]]]] = {}
    for entry in entries:
        _, place, kind, keys, dump = entry
        if is_operator_state(kind):
            own[place] = (kind, dump(keys))
            continue
        for group, members in _by_group(kind, keys, info.max_parallelism).items():
            places.setdefault(group, []).append((entry, members))
    groups = {}
    for group, parts in sorted(places.items()):
        changes = {place: (kind, dump(keys)) for (_, place, kind, _, dump), keys in parts}
        groups[group] = writer.write(changes)
    return Part(
        info.uid,
        subtask,
        None if plain is None else writer.write(plain),
        writer.write(own) if own else None,
        groups,
        {place: kind for _, place, kind, _, _ in entries},
    )


def owner_of(kind: str, key: Any) -> Any:
    """Return the user's key that an entry of a table or queue belongs to."""
    if kind in TIMER_KINDS:
        return key[1] if kind == KEY_TIMERS else key[1][0]
    return key[0] if TABLES[kind].namespaced else key


def _by_group(kind: str, keys: Iterable[Any], max_parallelism: int) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    known: dict[Any, int] = {}
    for key in keys:
        owner = owner_of(kind, key)
        group = known.get(owner)
        if group is None:
            group = known[owner] = key_group(owner, max_parallelism)
        groups.setdefault(group, []).append(key)
    return groups


def _plain_states(plain: Mapping[Any, bytes]) -> dict[str, PlainState]:
    """Sort what a task keeps beside its tables by operator."""
    found = {name[0]: pickle.loads(data) for name, data in plain.items()}
    channels = found.pop(CHANNELS, {})
    remembered, _ = found.pop(WRITERS, ({}, None))
    writers: dict[str, dict[str, Any]] = {}
    for edge, saved in remembered.items():
        writers.setdefault(sender_of(edge), {})[edge] = saved
    return {
        uid: PlainState(operator, gate, tuple(channels.get(uid, ())), writers.get(uid, {}))
        for uid, (operator, gate) in found.items()
    }
