"""Attributes of a function that runs in the user's process: saved with its records."""

from __future__ import annotations

import logging
import pickle
from typing import Any

from penstock.core.functions.accumulators import Accumulator
from penstock.core.functions.runtime_context import RuntimeContext
from penstock.core.metrics import Metric, MetricGroup
from penstock.core.pickling import PROTOCOL, dumps, loads
from penstock.core.state.interfaces import State

_log = logging.getLogger(__name__)

_LARGE = 1 << 20
#: What a function is given and others keep.
_OWNED = (State, Accumulator, Metric, MetricGroup, RuntimeContext)


class FunctionAttributes:
    """Save and restore the attributes that have changed since the function was opened.

    Attributes that cannot be pickled, such as connections, are left out: `open` makes them anew.

    :param function: as it is after `open`.
    """

    def __init__(self, function: Any, operator: str) -> None:
        self._attributes: dict[str, Any] = getattr(function, "__dict__", {})
        self._operator = operator
        self._warned: set[str] = set()
        self._opened = self._pickled()

    def save(self) -> bytes:
        """Return what has changed since `open`."""
        current = self._pickled()
        changed = {name: d for name, d in current.items() if self._opened.get(name) != d}
        gone = [name for name in self._opened if name not in self._attributes]
        return dumps((changed, gone))

    def restore(self, saved: bytes | None) -> None:
        """Lay saved attributes over those of the function."""
        if saved is None:
            return
        changed, gone = loads(saved)
        for name, data in changed.items():
            self._attributes[name] = loads(data)
        for name in gone:
            self._attributes.pop(name, None)

    def _pickled(self) -> dict[str, bytes]:
        pickled = {}
        for name, value in list(self._attributes.items()):
            if isinstance(value, _OWNED):
                continue
            try:
                data = pickle.dumps(value, PROTOCOL)
            except Exception as error:
                _log.debug("attribute %r of %r is not saved: %s", name, self._operator, error)
                continue
            pickled[name] = data
            if len(data) > _LARGE and name not in self._warned:
                self._warned.add(name)
                _log.warning(
                    "attribute %r of source %r has %d bytes and is looked at with every flush of "
                    "its records: load it in run() into a local variable instead",
                    name,
                    self._operator,
                    len(data),
                )
        return pickled
