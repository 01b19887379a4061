"""Read the state of a savepoint, or of a retained checkpoint's savepoint, without its job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.core.functions.host import FunctionHost
from penstock.core.value_keys import unwrapped
from penstock.core.windowing import WindowAssigner
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import StateError
from penstock.graph.function_checks import require_object
from penstock.runtime.codec import thaw
from penstock.runtime.savepoint.evolution import evolve
from penstock.runtime.savepoint.format import Changes, Savepoint
from penstock.runtime.savepoint.snapshot import LooseState, owner_of
from penstock.runtime.state.keyed_backend import TIMER_KINDS
from penstock.runtime.state.operator_state import (
    OPERATOR_PREFIX,
    OperatorBroadcastTable,
    OperatorListTable,
    OperatorUnionTable,
)
from penstock.runtime.state.tables import TABLES, ListTable, MapTable
from penstock.state_processor.context import make_context
from penstock.state_processor.functions import KeyedStateReaderFunction
from penstock.state_processor.operator_identifier import OperatorIdentifier, uid_of
from penstock.state_processor.rows import StateRow, StateRows
from penstock.state_processor.timers import KeyTimers, Timers
from penstock.state_processor.windows import WindowSavepointReader


class SavepointReader:
    """Read a savepoint.

    `SavepointReader.read(env, path)` gives streams of an environment, as Flink's does; methods
    with `name` in place of a function give plain rows. The whole state of the operator is read
    into memory.
    """

    def __init__(self, env: StreamExecutionEnvironment, savepoint: Savepoint) -> None:
        self._env = env
        self._savepoint = savepoint

    @staticmethod
    def read(
        env: StreamExecutionEnvironment, path: str, state_backend: Any = None
    ) -> SavepointReader:
        """Open a savepoint.

        :param state_backend: accepted; all backends write the same savepoints.
        :raises StateError: if there is none.
        """
        return SavepointReader(env, Savepoint.open(path))

    def operators(self) -> dict[str, dict[str, str]]:
        """Return the operators by uid, each with its states: name and kind."""
        return {
            info.uid: {
                place.removeprefix(OPERATOR_PREFIX): kind
                for part in self._savepoint.manifest.parts_of(info.uid)
                for place, kind in part.states.items()
                if kind not in TIMER_KINDS
            }
            for info in self._savepoint.manifest.operators
        }

    def read_keyed_state(
        self,
        operator: str | OperatorIdentifier,
        function: KeyedStateReaderFunction[Any, Any] | str,
        key_type_info: Any = None,
        out_type_info: Any = None,
    ) -> Any:
        """Read keyed state.

        :param function: called with each key, gives a stream of what it returns; or the name of a
            state: gives its entries as `StateRows`.
        :param key_type_info: accepted; keys are as they were.
        :raises StateError: if there is no such operator or state.
        """
        uid = uid_of(operator)
        if isinstance(function, str):
            return StateRows(self._rows(uid, function))
        return self._stream(list(self._read_keys(uid, function)), out_type_info)

    def read_list_state(
        self, operator: str | OperatorIdentifier, name: str, type_info: Any = None
    ) -> DataStream:
        """Read a list state of an operator: the elements of all subtasks."""
        left = self._operator_state(uid_of(operator), name, OperatorListTable.kind)
        return self._stream([element for elements in left for element in elements], type_info)

    def read_union_state(
        self, operator: str | OperatorIdentifier, name: str, type_info: Any = None
    ) -> DataStream:
        """Read a union list state of an operator: the elements of all subtasks."""
        left = self._operator_state(uid_of(operator), name, OperatorUnionTable.kind)
        return self._stream([element for elements in left for element in elements], type_info)

    def read_broadcast_state(
        self,
        operator: str | OperatorIdentifier,
        name: str,
        key_type_info: Any = None,
        value_type_info: Any = None,
    ) -> DataStream:
        """Read a broadcast state of an operator: `(key, value)`, as one subtask holds them."""
        left = self._operator_state(uid_of(operator), name, OperatorBroadcastTable.kind)
        return self._stream(list(left[0].items()) if left else [], None)

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowSavepointReader:
        """Read windows, in the form that the program made them in.

        reader.window(TumblingEventTimeWindows.of(Time.minutes(1))).aggregate("totals", Total())
        reader.window(GlobalWindows.create()).evictor().process("last", ReadAll())

        :param assigner: of the program.
        """
        require_object("window()", assigner, WindowAssigner)
        return WindowSavepointReader(self._env, self._savepoint, assigner)

    # --- parts ----------------------------------------------------------------------------

    def _stream(self, values: list[Any], type_info: Any) -> DataStream:
        return self._env.from_collection(values, type_info)

    def _changes(self, uid: str) -> Iterator[Changes]:
        info = self._savepoint.manifest.operator(uid)
        for changes in self._savepoint.keyed(uid):
            yield evolve(changes, f"operator {info.name!r}, uid {uid!r}")

    def _read_keys(self, uid: str, function: KeyedStateReaderFunction[Any, Any]) -> Iterator[Any]:
        info = self._savepoint.manifest.operator(uid)
        context, backend = make_context(uid, info.max_parallelism, keyed=True)
        timers = Timers()
        keys: dict[Any, None] = {}
        for changes in self._changes(uid):
            for place, (kind, delta) in changes.items():
                if kind in TIMER_KINDS:
                    timers.take(place, delta, kind)
                else:
                    backend.apply({place: (kind, delta)})
        for table in backend.tables.values():
            keys.update((owner_of(table.kind, entry), None) for entry in table.data)
        keys.update(timers.owners())
        host = FunctionHost(function, context)
        host.open()
        for key in keys:
            backend.context.key = key
            result = function.read_key(unwrapped(key), KeyTimers(timers, key))
            yield from () if result is None else result
        host.close()

    def _rows(self, uid: str, name: str) -> Iterator[StateRow]:
        state, timers = LooseState(), Timers()
        known: set[str] = set()
        for changes in self._changes(uid):
            for place, (kind, delta) in changes.items():
                known.add(place)
                if kind in TIMER_KINDS:
                    timers.take(place, delta, kind)
                elif place == name:
                    state.apply({uid: {place: (kind, delta)}})
        if name not in known:
            shown = sorted(place for place in known if not place.startswith("\0"))
            raise StateError(
                f"the operator has no keyed state {name!r}",
                where=f"uid {uid!r} in {self._savepoint.path}",
                got=f"states: {', '.join(shown) or 'none'}",
            )
        for _, _, kind, entries, dump in state.inventory():
            for entry in entries:
                owner = owner_of(kind, entry)
                yield StateRow(
                    unwrapped(owner),
                    entry[1] if owner is not entry and isinstance(entry, tuple) else None,
                    _content(kind, dump([entry])),
                    sorted(timers.event(owner)),
                    sorted(timers.processing(owner)),
                )

    def _operator_state(self, uid: str, name: str, kind: str) -> list[Any]:
        self._savepoint.manifest.operator(uid)
        left = self._savepoint.operator_state(uid)
        found = []
        for subtask in sorted(left):
            held = left[subtask].get(OPERATOR_PREFIX + name)
            if held is not None and held[0] == kind:
                found.append(_content(*held))
        if not found:
            raise StateError(
                f"the operator has no operator state {name!r} of that kind",
                where=f"uid {uid!r} in {self._savepoint.path}",
                got=f"states: {self.operators()[uid] or 'none'}",
            )
        return found


def _content(kind: str, delta: Any) -> Any:
    """Return what the one entry of a dumped table holds, as the user's objects."""
    if issubclass(TABLES[kind], (ListTable, MapTable)):
        entries = [held for _, held in delta[0]]
    else:
        entries = delta[1]
    return _thawed(entries[0]) if entries else None


def _thawed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: thaw(each) for key, each in value.items()}
    if isinstance(value, list):
        return [thaw(each) for each in value]
    return thaw(value)
