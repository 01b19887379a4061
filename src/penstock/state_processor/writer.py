"""Write savepoints: from data, or from another savepoint with operators added and removed."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from penstock.common import JobID
from penstock.connectors.file_paths import absolute, join, store_of
from penstock.core.functions import FunctionSnapshotContext, KeySelector
from penstock.core.functions.host import FunctionHost
from penstock.core.key_groups import DEFAULT_MAX_PARALLELISM
from penstock.core.state import MapStateDescriptor
from penstock.datastream import DataStream
from penstock.errors import StateError, TypeMismatchError, show_value
from penstock.runtime.context import KeyedTimerService, OperatorRuntimeContext
from penstock.runtime.coordinator.offsets import make_offset
from penstock.runtime.savepoint.format import (
    METADATA,
    Manifest,
    OperatorInfo,
    Part,
    Savepoint,
    write_manifest,
)
from penstock.runtime.savepoint.snapshot import Entry, write_parts
from penstock.runtime.scope import Scope
from penstock.runtime.state.keyed_backend import KeyedBackend
from penstock.state_processor.context import make_context
from penstock.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    StateBootstrapFunction,
)
from penstock.state_processor.operator_identifier import OperatorIdentifier, uid_of

#: Layout of the state of process functions, which bootstrapped state is for.
_LAYOUT = "function"


class StateBootstrapTransformation(ABC):
    """State that is to be written for one operator. Made by `OperatorTransformation`."""

    @abstractmethod
    def inventory(self, uid: str, max_parallelism: int) -> list[Entry]:
        """Run the function over the data, and list the state that it leaves."""


class OperatorTransformation:
    """Begin to make state from data.

    >>> transformation = (
    ...     OperatorTransformation.bootstrap_with([("a", 1), ("b", 2)]).key_by(lambda r: r[0])
    ... )
    """

    def __init__(self, data: Iterable[Any]) -> None:
        self._data = data

    @staticmethod
    def bootstrap_with(data: Iterable[Any] | DataStream) -> OperatorTransformation:
        """Take the data: anything that can be looped over, or a bounded stream, which is run."""
        if isinstance(data, DataStream):
            return OperatorTransformation(list(data.execute_and_collect()))
        return OperatorTransformation(data)

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector[Any, Any], key_type: Any = None
    ) -> KeyedOperatorTransformation:
        """Say the key of a record, for keyed state."""
        if isinstance(key_selector, KeySelector):
            return KeyedOperatorTransformation(self._data, key_selector.get_key)
        return KeyedOperatorTransformation(self._data, key_selector)

    def transform(
        self, function: StateBootstrapFunction[Any] | BroadcastStateBootstrapFunction[Any]
    ) -> StateBootstrapTransformation:
        """Say what makes operator state, or broadcast state, of the records."""
        kinds = (StateBootstrapFunction, BroadcastStateBootstrapFunction)
        _require(function, "transform()", *kinds)
        return _OperatorBootstrap(self._data, function)


class KeyedOperatorTransformation:
    """Data with keys."""

    def __init__(self, data: Iterable[Any], key: Callable[[Any], Any]) -> None:
        self._data = data
        self._key = key

    def transform(
        self, function: KeyedStateBootstrapFunction[Any, Any]
    ) -> StateBootstrapTransformation:
        """Say what makes keyed state of the records."""
        _require(function, "key_by().transform()", KeyedStateBootstrapFunction)
        return _KeyedBootstrap(self._data, self._key, function)


class SavepointWriter:
    """Collect the operators of a savepoint, then write it.

    The path that is written to holds a whole savepoint, also if it was made from another one.
    """

    def __init__(self, max_parallelism: int, existing: Savepoint | None = None) -> None:
        self._max_parallelism = max_parallelism
        self._existing = existing
        self._removed: set[str] = set()
        self._added: dict[str, StateBootstrapTransformation] = {}

    @staticmethod
    def new_savepoint(
        env: Any = None, max_parallelism: int = DEFAULT_MAX_PARALLELISM, state_backend: Any = None
    ) -> SavepointWriter:
        """Begin a savepoint without anything in it.

        :param env: accepted, as Flink's method has it.
        :param max_parallelism: key groups of its operators.
        """
        return SavepointWriter(max_parallelism)

    @staticmethod
    def from_existing_savepoint(
        env: Any, path: str | None = None, state_backend: Any = None
    ) -> SavepointWriter:
        """Begin with all operators of another savepoint.

        :raises StateError: if there is none.
        """
        existing = Savepoint.open(str(env if path is None else path))
        widths = [info.max_parallelism for info in existing.manifest.operators]
        return SavepointWriter(max(widths, default=DEFAULT_MAX_PARALLELISM), existing)

    def remove_operator(self, operator: str | OperatorIdentifier) -> SavepointWriter:
        """Leave out an operator of the other savepoint."""
        uid = uid_of(operator)
        self._added.pop(uid, None)
        self._removed.add(uid)
        return self

    def with_operator(
        self, operator: str | OperatorIdentifier, transformation: StateBootstrapTransformation
    ) -> SavepointWriter:
        """Add an operator.

        :raises StateError: if the savepoint has one of that uid: remove it first.
        """
        uid = uid_of(operator)
        if uid in self._added or uid in {info.uid for info in self._kept()}:
            raise StateError(
                f"the savepoint has an operator {uid!r} already",
                where="SavepointWriter.with_operator()",
                todo="call remove_operator() first to replace it",
            )
        self._added[uid] = transformation
        return self

    def write(self, path: str) -> None:
        """Write the savepoint. The manifest comes last: a savepoint is complete or not there.

        :raises StateError: if there is one in that folder.
        """
        folder = absolute(path).rstrip("/")
        store = store_of(folder)
        if store.exists(join(folder, METADATA)):
            raise StateError(
                "there is a savepoint in that folder already",
                where=folder,
                todo="write to another folder, or dispose of that one first",
            )
        store.make_folder(folder)
        kept = self._kept()
        parts = self._copy(folder, {info.uid for info in kept})
        infos = [*kept]
        for uid, transformation in self._added.items():
            info = OperatorInfo(uid, uid, 1, self._max_parallelism, _LAYOUT, level=1)
            infos.append(info)
            state = _Written(transformation.inventory(uid, self._max_parallelism))
            parts += write_parts(state, {uid: info}, 0, folder)
        now = int(time.time() * 1000)
        before = self._existing.manifest if self._existing else None
        manifest = before or Manifest((), (), {**make_offset({}, now)}, (), str(JobID()))
        write_manifest(
            folder,
            replace(manifest, operators=tuple(infos), parts=tuple(parts), created=now),
        )

    def _kept(self) -> list[OperatorInfo]:
        existing = self._existing.manifest.operators if self._existing else ()
        return [info for info in existing if info.uid not in self._removed]

    def _copy(self, folder: str, uids: set[str]) -> list[Part]:
        """Copy what the operators that stay have left."""
        if self._existing is None:
            return []
        manifest = self._existing.manifest
        parts = [part for part in manifest.parts if part.uid in uids]
        files = {extent.file for part in parts for extent in part.extents()}
        for name in sorted(files | set(manifest.files)):
            source = join(self._existing.path, name)
            with (
                store_of(source).open_input(source) as read,
                store_of(folder).open_output(join(folder, name)) as written,
            ):
                while block := read.read(1 << 20):
                    written.write(block)
        return parts


class _Written:
    """State that is listed already, in the form that `write_parts` takes."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def inventory(self) -> Any:
        return iter(self._entries)

    def full_plain_state(self) -> dict[Any, bytes]:
        return {}

    def flush(self) -> None:
        pass


class _KeyedBootstrap(StateBootstrapTransformation, KeyedStateBootstrapFunction.Context):
    def __init__(
        self,
        data: Iterable[Any],
        key: Callable[[Any], Any],
        function: KeyedStateBootstrapFunction[Any, Any],
    ) -> None:
        self._data, self._key, self._function = data, key, function
        self._backend: KeyedBackend
        self._timers: KeyedTimerService

    def get_current_key(self) -> Any:
        return self._backend.context.key

    def timer_service(self) -> Any:
        return self._timers

    def inventory(self, uid: str, max_parallelism: int) -> list[Entry]:
        context, self._backend = make_context(uid, max_parallelism, keyed=True)
        self._timers = KeyedTimerService(self._backend, Scope(), lambda: 0, f"operator {uid!r}")
        host = FunctionHost(self._function, context)
        host.open()
        for value in self._data:
            self._backend.context.key = self._key(value)
            self._function.process_element(value, self)
        host.close()
        self._backend.take_delta()  # values that could change are frozen by it
        return [(uid, *entry) for entry in self._backend.inventory()]


class _OperatorBootstrap(StateBootstrapTransformation, BroadcastStateBootstrapFunction.Context):
    def __init__(self, data: Iterable[Any], function: Any) -> None:
        self._data, self._function = data, function
        self._context: OperatorRuntimeContext

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> Any:
        return self._context.operator_state.get_broadcast_state(descriptor)

    def inventory(self, uid: str, max_parallelism: int) -> list[Entry]:
        self._context, _ = make_context(uid, max_parallelism, keyed=False)
        host = FunctionHost(self._function, self._context)
        host.open()
        broadcast = isinstance(self._function, BroadcastStateBootstrapFunction)
        for value in self._data:
            self._function.process_element(value, self if broadcast else self._context)
        host.save_operator_state(FunctionSnapshotContext(0, 0))
        host.close()
        self._context.operator_state.take_delta()
        return [(uid, *entry) for entry in self._context.operator_state.inventory()]


def _require(function: Any, call: str, *kinds: type) -> None:
    if not isinstance(function, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise TypeMismatchError(
            f"{call} needs a {names} object", got=show_value(function), todo=f"subclass {names}"
        )
