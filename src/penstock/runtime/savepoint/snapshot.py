"""Write the state of a task into a savepoint, and read a task's log without its program."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from penstock.core.key_groups import key_group
from penstock.graph.plan import sender_of
from penstock.runtime.savepoint.format import (
    Changes,
    Extent,
    OperatorInfo,
    Part,
    PartWriter,
    PlainState,
)
from penstock.runtime.state.all_tables import TABLES
from penstock.runtime.state.backends import make_backend
from penstock.runtime.state.keyed_backend import KEY_TIMERS, TIMER_KINDS, KeyedBackend
from penstock.runtime.state.log import TaskInventory
from penstock.runtime.state.operator_state import OperatorStateBackend, is_operator_state
from penstock.runtime.task import CHANNELS, WRITERS

Entry = TaskInventory
#: So many keys are written at a time: what they hold is in memory meanwhile.
_KEYS_AT_A_TIME = 100_000


class TaskState(Protocol):
    """What is asked of a task whose state is written; its batch must be over."""

    def inventory(self) -> Iterator[Entry]:
        """List what is written by key."""

    def full_plain_state(self) -> dict[Any, bytes]:
        """Return the rest."""

    def flush(self) -> None:
        """Let go of memory, if the state has another place to be held in."""


class LooseState:
    """The state of a task without the task: what its deltas amount to.

    :param settings: of the job that wants it; they say where it is held.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = settings or {}
        self._operators: dict[str, KeyedBackend] = {}
        self._own: dict[str, OperatorStateBackend] = {}
        self._plain: dict[Any, bytes] = {}

    def apply(self, delta: Mapping[Any, Any]) -> None:
        """Lay a delta of the task over the state."""
        for name, changes in delta.items():
            if isinstance(name, tuple):
                self._plain[name] = changes
                continue
            self._backends(name)[1].apply(changes)
            keyed = {
                place: held for place, held in changes.items() if not is_operator_state(held[0])
            }
            if keyed:
                self._apply_keyed(name, keyed)

    def _apply_keyed(self, uid: str, changes: Changes) -> None:
        backend = self._backends(uid)[0]
        for kind, _ in changes.values():
            if kind in TIMER_KINDS:
                backend.timer_kind = kind
        backend.apply(changes)

    def _backends(self, uid: str) -> tuple[KeyedBackend, OperatorStateBackend]:
        if uid not in self._operators:
            self._operators[uid] = make_backend(uid, lambda: 0, self._settings)
            self._own[uid] = OperatorStateBackend(uid)
        return self._operators[uid], self._own[uid]

    def settle(self) -> None:
        """Nothing works on this state."""

    def take_delta(self) -> dict[Any, Any]:
        """Nothing changes this state."""
        return {}

    def inventory(self) -> Iterator[Entry]:
        """See `TaskState.inventory`."""
        for uid, backend in self._operators.items():
            for part in (*backend.inventory(), *self._own[uid].inventory()):
                yield (uid, *part)

    def full_plain_state(self) -> dict[Any, bytes]:
        """See `TaskState.full_plain_state`."""
        return self._plain

    def flush(self) -> None:
        """See `TaskState.flush`."""
        for backend in self._operators.values():
            backend.flush()

    def close(self) -> None:
        """Drop it."""
        for backend in self._operators.values():
            backend.close()


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
            part
            for uid, entries in by_uid.items()
            for part in _operator_parts(writer, infos[uid], subtask, plain.get(uid), entries, state)
        ]
    finally:
        writer.close()


def _operator_parts(
    writer: PartWriter,
    info: OperatorInfo,
    subtask: int,
    plain: PlainState | None,
    entries: list[Entry],
    state: TaskState,
) -> Iterator[Part]:
    """Write what an operator has: one part, or several if it is much."""
    own: Changes = {}
    places = {place: kind for _, place, kind, _, _ in entries}
    keyed = _KeyedWriter(writer, info.max_parallelism)
    extents: list[dict[int, Extent]] = []
    for _, place, kind, keys, dump in entries:
        if is_operator_state(kind):
            own[place] = (kind, dump(list(keys)))
            continue
        keys = iter(keys)
        while some := list(islice(keys, _KEYS_AT_A_TIME - keyed.count)):
            keyed.add(place, kind, some, dump)
            if keyed.count >= _KEYS_AT_A_TIME:
                extents.append(keyed.write())
                state.flush()
    extents.append(keyed.write())
    yield Part(
        info.uid,
        subtask,
        None if plain is None else writer.write(plain),
        writer.write(own) if own else None,
        extents.pop(0),
        places,
    )
    for groups in extents:
        if groups:
            yield Part(info.uid, subtask, groups=groups, states=places)


class _KeyedWriter:
    """Gather what keys hold, by key group."""

    def __init__(self, writer: PartWriter, max_parallelism: int) -> None:
        self._writer = writer
        self._max_parallelism = max_parallelism
        self._groups: dict[int, Changes] = {}
        self.count = 0

    def add(self, place: str, kind: str, keys: list[Any], dump: Callable[[list[Any]], Any]) -> None:
        """Add what some keys hold."""
        for group, members in _by_group(kind, keys, self._max_parallelism).items():
            self._groups.setdefault(group, {})[place] = (kind, dump(members))
        self.count += len(keys)

    def write(self) -> dict[int, Extent]:
        """Write what has been gathered; return where it is."""
        written = {group: self._writer.write(held) for group, held in sorted(self._groups.items())}
        self._groups, self.count = {}, 0
        return written


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
