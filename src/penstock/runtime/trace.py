"""Trace an operator: note for each record how the watermark stood and which windows fired.

The tracer stands around the methods of one operator. Operators that are not traced have no part of
it: nothing is asked for each record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.core.watermark_trace import TRACE_TAG, FiredWindow, TraceRow
from penstock.runtime.operators.base import Operator

_MethodMaker = Callable[[Callable[..., Any]], Callable[..., Any]]


def is_traced(operator: Operator) -> bool:
    """Tell whether somebody takes the trace of an operator."""
    return any(edge.output_tag == TRACE_TAG for edge in operator.plan.outputs)


class Tracer:
    """Note what happens at one subtask of an operator, and send it to the trace's side output."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._row: TraceRow | None = None
        self._advanced = False  # whether the watermark has risen behind the row's record
        self._maximum: int | None = None
        keyed = operator.backend is not None
        around: dict[str, _MethodMaker] = {
            "process_keyed" if keyed else "process": self._keyed if keyed else self._single,
            "process_keyed2" if keyed else "process2": self._keyed if keyed else self._single,
            "advance_watermark": self._advance,
            "end_batch": self._end_batch,
            "emit_window": self._emit_window,
            "drop": self._drop,
            "snapshot": self._snapshot,
            "restore": self._restore,
        }
        if not keyed:
            around |= {"process_all": self._all(0), "process_all2": self._all(1)}
        for name, wrap in around.items():
            method = getattr(operator, name, None)
            if method is not None:
                setattr(operator, name, wrap(method))

    # --- records --------------------------------------------------------------------------

    def _keyed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def process_keyed(keys: list[Any], timestamps: list[Any] | None, values: list[Any]) -> None:
            for i, (key, value) in enumerate(zip(keys, values, strict=True)):
                self._begin(key, None if timestamps is None else timestamps[i])
                method([key], timestamps and [timestamps[i]], [value])

        return process_keyed

    def _single(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def process(value: Any) -> None:
            self._begin(None, self._operator.scope.timestamp)
            method(value)

        return process

    def _all(self, index: int) -> _MethodMaker:
        name = "process2" if index else "process"

        def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
            def process_all(values: Iterable[Any]) -> None:
                process = getattr(self._operator, name)
                for value in values:
                    process(value)

            return process_all

        return wrap

    def _begin(self, key: Any, timestamp: int | None) -> None:
        self._flush()
        if timestamp is not None and (self._maximum is None or timestamp > self._maximum):
            self._maximum = timestamp
        self._row = TraceRow(
            True, key, timestamp, self._maximum, self._operator.watermark,
            subtask=self._operator.subtask,
        )  # fmt: skip

    def _current(self) -> TraceRow:
        if self._row is None:
            self._row = TraceRow(False, maximum=self._maximum, subtask=self._operator.subtask)
        return self._row

    def _flush(self) -> None:
        self._advanced = False
        if self._row is not None:
            row = self._row._replace(watermark=self._operator.watermark)
            self._row = None
            scope = self._operator.scope
            before = scope.timestamp
            scope.timestamp = row.timestamp
            self._operator.output.to_side(TRACE_TAG, row)
            scope.timestamp = before

    # --- what happens ---------------------------------------------------------------------

    def _advance(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def advance_watermark(watermark: int) -> None:
            if self._advanced:
                self._flush()  # each watermark is shown, not only the last of several
            self._current()
            self._advanced = True
            method(watermark)

        return advance_watermark

    def _emit_window(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def emit_window(key: Any, namespace: Any, max_timestamp: int, elements: Any) -> None:
            bounds = namespace if type(namespace) is tuple else (None, None)
            row = self._current()
            self._row = row._replace(fired=(*row.fired, FiredWindow(key, *bounds)))
            method(key, namespace, max_timestamp, elements)

        return emit_window

    def _drop(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def drop(value: Any) -> None:
            self._row = self._current()._replace(late=True)
            method(value)

        return drop

    def _end_batch(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def end_batch() -> None:
            method()
            self._flush()

        return end_batch

    # --- from batch to batch --------------------------------------------------------------

    def _snapshot(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def snapshot() -> dict[str, Any]:
            return {**method(), "trace": self._maximum}

        return snapshot

    def _restore(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def restore(state: dict[str, Any]) -> None:
            method(state)
            self._maximum = state.get("trace")

        return restore
