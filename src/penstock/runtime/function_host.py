"""Host a user function: open and close it, and carry its attributes from batch to batch.

Users keep things in plain attributes (a counter, an order map), so these are part of the state.
Attributes as `open()` left them are not saved, nor is what cannot be pickled (connections) or
belongs to the runtime (state handles).
"""

from __future__ import annotations

import pickle
import types
import warnings
from typing import Any

from penstock.core.functions import Accumulator, CheckpointedFunction, RuntimeContext
from penstock.core.functions.base import bind_runtime_context
from penstock.core.metrics import Metric, MetricGroup
from penstock.core.state import State
from penstock.runtime.checkpointed import InitializationContextImpl, SnapshotContextImpl
from penstock.runtime.codec import PROTOCOL
from penstock.runtime.context import OperatorRuntimeContext

_LARGE = 1 << 20
#: What belongs to the runtime, and is kept by it.
_OWNED = (State, Metric, MetricGroup, Accumulator, RuntimeContext)
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
        self._unpicklable: set[str] = set()
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

    def close(self) -> None:
        """Close the function."""
        closer = getattr(self.function, "close", None)
        if callable(closer) and self._has_attributes:
            closer()

    def save_operator_state(self, context: SnapshotContextImpl) -> None:
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
        vars(self.function).update(pickle.loads(saved))
        self._saved = saved

    def _dump(self) -> bytes | None:
        if not self._has_attributes:
            return None
        attributes = {
            name: value
            for name, value in vars(self.function).items()
            if name not in self._unpicklable and not isinstance(value, _OWNED)
        }
        if not attributes:
            return None
        try:
            # All at once: attributes that share an object share it after loading too.
            data = pickle.dumps(attributes, PROTOCOL)
        except Exception:
            self._unpicklable |= {n for n, v in attributes.items() if not _picklable(v)}
            return self._dump()
        if len(data) > _LARGE and not self._warned:
            self._warned = True
            self._warn(attributes)
        return data

    def _warn(self, attributes: dict[str, Any]) -> None:
        sizes = {name: len(pickle.dumps(value, PROTOCOL)) for name, value in attributes.items()}
        name, size = max(sizes.items(), key=lambda item: item[1])
        warnings.warn(
            f"attribute {name!r} of {type(self.function).__name__} has {size >> 20} MB and is "
            "looked at after every batch; keep large data in keyed state, or load it in open() "
            "into an object that does not pickle",
            stacklevel=2,
        )


def _picklable(value: Any) -> bool:
    try:
        pickle.dumps(value, PROTOCOL)
    except Exception:
        return False
    return True
