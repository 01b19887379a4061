"""Totals of accumulators over the subtasks of a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.core.functions import Accumulator
from penstock.runtime.report import Place


def accumulator_values(
    by_subtask: Mapping[Place, Mapping[str, Accumulator[Any, Any]]],
) -> dict[str, Any]:
    """Return one value a name, merged over all operators and subtasks that have it."""
    totals: dict[str, Accumulator[Any, Any]] = {}
    for _, accumulators in sorted(by_subtask.items(), key=lambda entry: entry[0]):
        for name, accumulator in accumulators.items():
            if name in totals:
                totals[name].merge(accumulator)
            else:
                # A copy: what a record holds must stay as it was written.
                totals[name] = accumulator.clone()
    return {name: total.get_local_value() for name, total in totals.items()}
