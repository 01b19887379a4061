"""From one keyed operator to another of the same task: records that are in their slot already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.core.value_keys import wrapped
from penstock.graph.specs import Hash
from penstock.runtime.calls import method_of
from penstock.runtime.operators.base import Operator


class KeyedCalls:
    """Call an operator with each record under its key, as an exchange would have brought it.

    :param index: which input of the operator.
    """

    def __init__(self, operator: Operator, index: int, partitioner: Hash) -> None:
        assert operator.backend is not None
        self._key_of: Callable[[Any], Any] = method_of(partitioner.key_selector, "get_key")
        self._context = operator.backend.context
        if index == 0:
            self._process, self._process_keyed = operator.process, operator.process_keyed
        else:
            self._process, self._process_keyed = operator.process2, operator.process_keyed2

    def process(self, value: Any) -> None:
        """Take one record."""
        self._context.key = wrapped(self._key_of(value))
        self._process(value)

    def process_all(self, values: Iterable[Any]) -> None:
        """Take many records.

        A lazy iterable works while it is read: watermarks and timers may come between its records,
        so each is done with before the next is asked for.
        """
        key_of = self._key_of
        if type(values) is list:
            self._process_keyed([wrapped(key_of(value)) for value in values], None, values)
            return
        context, process = self._context, self._process
        for value in values:
            context.key = wrapped(key_of(value))
            process(value)
