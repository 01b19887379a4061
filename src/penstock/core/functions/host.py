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
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cloudpickle

from penstock.core.functions import (
    Accumulator,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    RuntimeContext,
)
from penstock.core.functions.base import bind_runtime_context
from penstock.core.metrics import Metric, MetricGroup
from penstock.core.pickling import PROTOCOL
from penstock.core.state import State

_LARGE = 1 << 20
#: What belongs to the runtime, and is kept by it.
_OWNED = (State, Metric, MetricGroup, RuntimeContext)
_PLAIN = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


class HostContext(RuntimeContext):
    """A runtime context, as whoever hosts a function knows it."""

    #: Those that the function has registered, by name.
    accumulators: dict[str, Accumulator[Any, Any]]

    @abstractmethod
    def initialization(self) -> FunctionInitializationContext:
        """Return what a function with operator state is told when it gets it."""


class FunctionHost:
    """One user function in one subtask: of an operator, of an exchange, or of a source.

    :param call: calls a method of the function by name; for those who describe what it raises.
    """

    def __init__(
        self,
        function: Any,
        context: HostContext,
        call: Callable[..., Any] | None = None,
    ) -> None:
        self.function = function
        self._call = call or self._call_plainly
        #: Whether the function keeps operator state.
        self.checkpointed = isinstance(function, CheckpointedFunction)
        self._context = context
        self._has_attributes = not isinstance(function, _PLAIN) and hasattr(function, "__dict__")
        self._saved: bytes | None = None  # attributes as they were saved last
        self._fresh: bytes | None = None  # attributes as open() left them
        self._fresh_names: set[str] = set()
        self._fresh_parts: dict[str, bytes] = {}
        self._seen: bytes | None = None  # attributes as they were looked at last
        self._left_out: set[str] = set()  # attributes that cannot be pickled
        self._by_value = False  # some are of classes that have no importable name
        self._warned = False

    def _call_plainly(self, method: str, *arguments: Any) -> Any:
        return getattr(self.function, method)(*arguments)

    def open(self) -> None:
        """Open the function. A plain callable has nothing to open."""
        bind_runtime_context(self.function, self._context)
        if self.checkpointed:
            self._call("initialize_state", self._context.initialization())
        opener = getattr(self.function, "open", None)
        if callable(opener) and self._has_attributes:
            self._call("open", self._context)
        self._fresh = self._dump()
        if self._has_attributes:
            self._fresh_names = set(vars(self.function))
            self._fresh_parts = {n: self._pickled(v) for n, v in self._attributes().items()}

    def close(self) -> None:
        """Close the function."""
        closer = getattr(self.function, "close", None)
        if callable(closer) and self._has_attributes:
            self._call("close")

    def save_operator_state(self, context: FunctionSnapshotContext) -> None:
        """Have the function bring its operator state up to date."""
        if self.checkpointed:
            self._call("snapshot_state", context)

    def snapshot(self) -> bytes | None:
        """Return the attributes if they differ from what `open` made, else None."""
        dumped = self._dump()
        if dumped != self._seen and (dumped != self._fresh or self._saved is not None):
            self._seen = dumped
            self._saved = None if dumped is None else self._with_unchanged(dumped)
        return self._saved

    def _with_unchanged(self, dumped: bytes) -> bytes:
        """Return the attributes, and the names of those that are as `open` made them."""
        parts = self._fresh_parts
        held = self._attributes().items()
        same = [name for name, value in held if parts.get(name) == self._pickled(value)]
        return pickle.dumps((dumped, same), PROTOCOL)

    def restore(self, saved: bytes) -> None:
        """Lay saved attributes over what `open` made.

        Those that nobody has changed are the program's: it may have other ones after a restart.
        """
        dumped, same = pickle.loads(saved)
        with _loading_for(self):
            attributes = pickle.loads(dumped)
        held = vars(self.function)
        parts = self._fresh_parts
        for name in same:
            if name in parts and name in held and self._pickled(held[name]) == parts[name]:
                attributes.pop(name, None)
        for name in [name for name in held if name not in attributes and name not in same]:
            # Made here in an earlier batch, and gone since in another worker.
            if name not in self._fresh_names and not self._stays(name, held[name]):
                del held[name]
        held.update(attributes)
        self._saved, self._seen = saved, dumped

    def _dump(self) -> bytes | None:
        if not self._has_attributes:
            return None
        attributes = self._attributes()
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

    def _attributes(self) -> dict[str, Any]:
        held = vars(self.function).items()
        return {name: value for name, value in held if not self._stays(name, value)}

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
