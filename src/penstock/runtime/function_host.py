"""Host a user function: open and close it, and carry its attributes from batch to batch.

Users keep things in plain attributes (a counter, an order map), so these are part of the state.
Attributes as `open()` left them are not saved, nor is what cannot be pickled (connections) or
belongs to the runtime (state handles).
"""

from __future__ import annotations

import io
import pickle
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cloudpickle

from penstock.core.functions import (
    Accumulator,
    CheckpointedFunction,
    FunctionSnapshotContext,
    RuntimeContext,
)
from penstock.core.functions.base import bind_runtime_context
from penstock.core.metrics import Metric, MetricGroup
from penstock.core.state import State
from penstock.runtime.checkpointed import InitializationContextImpl
from penstock.runtime.codec import PROTOCOL
from penstock.runtime.context import OperatorRuntimeContext

_LARGE = 1 << 20
#: What belongs to the runtime, and is kept by it.
_OWNED = (State, Metric, MetricGroup, RuntimeContext)
_PLAIN = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


class FunctionHost:
    """One user function in one subtask."""

    def __init__(self, function: Any, context: OperatorRuntimeContext) -> None:
        self.function = function
        #: Whether the function keeps operator state.
        self.checkpointed = isinstance(function, CheckpointedFunction)
        self._context = context
        self._has_attributes = not isinstance(function, _PLAIN) and hasattr(function, "__dict__")
        self._saved: bytes | None = None  # attributes as they were saved last
        self._fresh: bytes | None = None  # attributes as open() left them
        self._fresh_names: set[str] = set()
        self._left_out: set[str] = set()  # attributes that cannot be pickled
        self._by_value = False  # some are of classes that have no importable name
        self._warned = False

    def open(self) -> None:
        """Open the function. A plain callable has nothing to open."""
        bind_runtime_context(self.function, self._context)
        if self.checkpointed:
            self.function.initialize_state(InitializationContextImpl(self._context))
        opener = getattr(self.function, "open", None)
        if callable(opener) and self._has_attributes:
            opener(self._context)
        self._fresh = self._dump()
        self._fresh_names = set(vars(self.function)) if self._has_attributes else set()

    def close(self) -> None:
        """Close the function."""
        closer = getattr(self.function, "close", None)
        if callable(closer) and self._has_attributes:
            closer()

    def save_operator_state(self, context: FunctionSnapshotContext) -> None:
        """Have the function bring its operator state up to date."""
        if self.checkpointed:
            self.function.snapshot_state(context)

    def snapshot(self) -> bytes | None:
        """Return the attributes if they differ from what `open` made, else None."""
        dumped = self._dump()
        if dumped != self._fresh or self._saved is not None:
            self._saved = dumped
        return self._saved

    def restore(self, saved: bytes) -> None:
        """Lay saved attributes over what `open` made."""
        with _loading_for(self):
            attributes = pickle.loads(saved)
        held = vars(self.function)
        for name in [name for name in held if name not in attributes]:
            # Made here in an earlier batch, and gone since in another worker.
            if name not in self._fresh_names and not self._stays(name, held[name]):
                del held[name]
        held.update(attributes)
        self._saved = saved

    def _dump(self) -> bytes | None:
        if not self._has_attributes:
            return None
        attributes = {
            name: value
            for name, value in vars(self.function).items()
            if not self._stays(name, value)
        }
        if not attributes:
            return None
        try:
            # All at once: attributes that share an object share it after loading too.
            data = self._pickled(attributes)
        except Exception:
            self._sort_out(attributes)
            return self._dump()
        if len(data) > _LARGE and not self._warned:
            self._warned = True
            self._warn(attributes)
        return data

    def _stays(self, name: str, value: Any) -> bool:
        """Tell whether an attribute stays in this worker."""
        return name in self._left_out or isinstance(value, _OWNED)

    def _pickled(self, value: Any) -> bytes:
        stream = io.BytesIO()
        pickler = _ByValuePickler if self._by_value else _Pickler
        pickler(self, stream).dump(value)
        return stream.getvalue()

    def _sort_out(self, attributes: dict[str, Any]) -> None:
        """Find the attributes that cannot be pickled, or only together with their class."""
        some_by_value = False
        for name, value in attributes.items():
            self._by_value = False
            if self._picklable(value):
                continue
            self._by_value = True
            # A function does not change: as the program made it, it is there in any worker.
            if isinstance(value, types.FunctionType) or not self._picklable(value):
                self._left_out.add(name)
            else:
                some_by_value = True
        self._by_value = some_by_value

    def _picklable(self, value: Any) -> bool:
        try:
            self._pickled(value)
        except Exception:
            return False
        return True

    def reference(self, thing: Any) -> Any:
        """Return how to pickle a thing that belongs to the runtime: by a reference to it."""
        if thing is self.function:
            return _refer, ("function",)
        if isinstance(thing, Accumulator):
            for name, accumulator in self._context.accumulators.items():
                if accumulator is thing:
                    return _refer, ("accumulator", name)
        elif isinstance(thing, RuntimeContext):
            return _refer, ("context",)
        elif isinstance(thing, _OWNED):
            raise TypeError("a thing of the runtime cannot be pickled")
        return NotImplemented

    def referred(self, kind: str, name: str | None = None) -> Any:
        """Undo `reference`."""
        if kind == "function":
            return self.function
        return self._context if kind == "context" else self._context.accumulators[str(name)]

    def _warn(self, attributes: dict[str, Any]) -> None:
        sizes = {name: len(self._pickled(value)) for name, value in attributes.items()}
        name, size = max(sizes.items(), key=lambda item: item[1])
        warnings.warn(
            f"attribute {name!r} of {type(self.function).__name__} has {size >> 20} MB and is "
            "looked at after every batch; keep large data in keyed state, or load it in open() "
            "into an object that does not pickle",
            stacklevel=2,
        )


class _Pickler(pickle.Pickler):
    """Pickle attributes; a helper object may hold on to its function or to an accumulator."""

    def __init__(self, host: FunctionHost, stream: io.BytesIO) -> None:
        super().__init__(stream, PROTOCOL)
        self._host = host

    def reducer_override(self, obj: Any) -> Any:
        return self._host.reference(obj)


class _ByValuePickler(cloudpickle.Pickler):
    """The same for objects of classes that have no importable name."""

    def __init__(self, host: FunctionHost, stream: io.BytesIO) -> None:
        super().__init__(stream, PROTOCOL)
        self._host = host

    def reducer_override(self, obj: Any) -> Any:
        reference = self._host.reference(obj)
        return super().reducer_override(obj) if reference is NotImplemented else reference


_hosts: list[FunctionHost] = []  # the one that attributes are being loaded for stands last


@contextmanager
def _loading_for(host: FunctionHost) -> Iterator[None]:
    _hosts.append(host)
    try:
        yield
    finally:
        _hosts.pop()


def _refer(kind: str, name: str | None = None) -> Any:
    # Whoever only looks at saved state sees what is referred to.
    return _hosts[-1].referred(kind, name) if _hosts else (kind, name)
