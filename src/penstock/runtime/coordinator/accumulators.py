"""Totals of accumulators and readings of metrics over the subtasks of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.functions import Accumulator
from penstock.runtime.coordinator.records import JobState
from penstock.runtime.coordinator.sources import HostedSource
from penstock.runtime.report import SubtaskId


def accumulator_values(
    by_subtask: Mapping[SubtaskId, Mapping[str, Accumulator[Any, Any]]],
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


def all_accumulators(state: JobState, sources: Sequence[HostedSource]) -> dict[str, Any]:
    """Return the values of the accumulators of tasks and of functions in the user's process."""
    held = dict(state.accumulators)
    for source in sources:
        held.update(source.accumulators())
    return accumulator_values(held)


def all_metrics(state: JobState, sources: Sequence[HostedSource]) -> dict[str, Any]:
    """Return the readings of the metrics of both, by full name.

    Operators may have the same name. Then their uids stand in front.
    """
    readings = [
        (uid, {name: value for name, (_, value) in read.items()})
        for (uid, _), read in sorted(state.metrics.items(), key=lambda entry: entry[0])
    ]
    readings += [(source.uid, source.metrics()) for source in sources]
    owners: dict[str, set[str]] = {}
    for uid, read in readings:
        for name in read:
            owners.setdefault(name, set()).add(uid)
    return {
        name if len(owners[name]) == 1 else f"{uid}.{name}": value
        for uid, read in readings
        for name, value in read.items()
    }
