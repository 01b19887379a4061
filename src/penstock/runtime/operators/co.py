"""Operators with two inputs: CoMap, CoFlatMap, CoProcess and KeyedCoProcess."""

from __future__ import annotations

from typing import Any

from penstock.core.functions import CoProcessFunction, KeyedCoProcessFunction
from penstock.runtime.operators.base import Operator
from penstock.runtime.operators.process import (
    ElementContextImpl,
    ResultOperator,
    TimerContextImpl,
    TimerOperator,
)


class CoMapOperator(Operator):
    """One result a record of either input; None is left out, as in PyFlink."""

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.host(self.spec.function)
        super().open()

    def process(self, value: Any) -> None:
        """Take one record of the first input."""
        result = self._function.map1(value)
        if result is not None:
            self.emit(result)

    def process2(self, value: Any) -> None:
        """Take one record of the second input."""
        result = self._function.map2(value)
        if result is not None:
            self.emit(result)


class CoFlatMapOperator(Operator):
    """Any number of results a record of either input."""

    def open(self) -> None:
        """Open the user's function."""
        self._function = self.host(self.spec.function)
        super().open()

    def process(self, value: Any) -> None:
        """Take one record of the first input."""
        results = self._function.flat_map1(value)
        self.emit_results(results)

    def process2(self, value: Any) -> None:
        """Take one record of the second input."""
        results = self._function.flat_map2(value)
        self.emit_results(results)


class _CoElementContext(ElementContextImpl, KeyedCoProcessFunction.Context):
    pass


class _CoTimerContext(TimerContextImpl, KeyedCoProcessFunction.OnTimerContext):
    pass


class _PlainCoContext(ElementContextImpl, CoProcessFunction.Context):
    pass


class CoProcessOperator(ResultOperator):
    """A process function on two streams that are not keyed."""

    def open(self) -> None:
        """Open the user's function."""
        self._context = _PlainCoContext(self)
        self._function = self.host(self.spec.function)
        super().open()

    def process(self, value: Any) -> None:
        """Take one record of the first input."""
        self.send(self._function.process_element1(value, self._context))

    def process2(self, value: Any) -> None:
        """Take one record of the second input."""
        self.send(self._function.process_element2(value, self._context))


class KeyedCoProcessOperator(TimerOperator):
    """A process function on two keyed streams: both inputs share state and timers of a key."""

    def open(self) -> None:
        """Open the user's function."""
        self._context = _CoElementContext(self)
        self.function = self.host(self.spec.function)
        super().open()
        self._timer_context = _CoTimerContext(self)

    def process(self, value: Any) -> None:
        """Take one record of the first input."""
        self.send(self.function.process_element1(value, self._context))

    def process2(self, value: Any) -> None:
        """Take one record of the second input."""
        self.send(self.function.process_element2(value, self._context))
