"""Generated code in a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.relational.codegen.program import Program
from penstock.runtime.operators.base import Operator


class OperatorClock:
    """What generated code may ask of its operator."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def now(self) -> int:
        """Return the processing time."""
        return self._operator.scope.time

    def watermark(self) -> int | None:
        """Return the watermark, None before the first."""
        watermark = self._operator.watermark
        return None if watermark <= -(1 << 63) else watermark


def load_program(operator: Operator, program: Program) -> dict[str, Callable[..., Any]]:
    """Load generated code; functions of the user that it calls are opened with the operator."""
    for function in program.user_functions():
        operator.host(function.function)
    return program.load(OperatorClock(operator))
