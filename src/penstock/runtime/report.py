"""What a batch tells the coordinator: output to publish, timers, counts, level-0 state."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.core.io import Committable
from penstock.graph.plan import ExecutionPlan
from penstock.runtime.envelope import (
    ACCUMULATORS,
    ALIGNMENT,
    COMMITTABLE,
    COUNTS,
    LEVEL0_STATE,
    METRICS,
    SAVEPOINT,
    TIMER,
    Header,
    body_of,
    header_of,
)
from penstock.runtime.meter import TaskCounts, decode
from penstock.runtime.savepoint.format import Part

#: Stands in front of a source's number in what its tasks report about timers: others have their
#: level there.
SOURCE_ADDRESSES = 1 << 16

#: A subtask of an operator, by uid; or of a task: a source's uid, or `level n`, and the slot.
SubtaskId = tuple[str, int]


@dataclass
class BatchReport:
    """The sink-bound envelopes of one batch, opened. Operators go by their uids.

    Envelopes have numbers, which are good for one run of one plan only.
    """

    committables: dict[str, list[Committable]] = field(default_factory=dict)
    #: What goes back to the heads of iterations, by their uids.
    feedback: dict[str, list[bytes]] = field(default_factory=dict)
    #: State of the tasks of a source, by its uid and subtask.
    level0: dict[SubtaskId, bytes] = field(default_factory=dict)
    #: Next processing-time timer of a task, None when it has no more; changed ones only.
    timers: dict[SubtaskId, int | None] = field(default_factory=dict)
    #: Accumulators of an operator's subtask so far; changed ones only.
    accumulators: dict[SubtaskId, dict[str, Any]] = field(default_factory=dict)
    #: Metrics of an operator's subtask by name, kind and reading; changed ones only.
    metrics: dict[SubtaskId, dict[str, tuple[str, Any]]] = field(default_factory=dict)
    #: By task, what it wrote to the batch's savepoint; or why it could not.
    savepoint: dict[SubtaskId, list[Part] | str] = field(default_factory=dict)
    #: By subtask of an aligned source, how far it is.
    alignment: dict[SubtaskId, int] = field(default_factory=dict)
    #: By task, what it did.
    counts: dict[SubtaskId, TaskCounts] = field(default_factory=dict)

    @classmethod
    def collect(cls, payloads: Iterable[bytes], plan: ExecutionPlan) -> BatchReport:
        """Open the sink-bound envelopes of a whole batch.

        Output of a sink is ordered by subtask, so that a replay records the same sequence.
        """
        uids = {operator.id: operator.uid for operator in plan.operators}
        report = cls()
        for payload in payloads:
            header = header_of(payload)
            body = body_of(payload)
            if header.kind == SAVEPOINT:
                report.savepoint[_task(header, uids)] = pickle.loads(body)
                continue
            if header.kind == COUNTS:
                report.counts[_task(header, uids)] = decode(pickle.loads(body))
                continue
            if header.kind == TIMER:
                report.timers[_task(header, uids)] = pickle.loads(body)
                continue
            sender = (uids[header.node], header.channel)
            if header.kind == COMMITTABLE:
                output = report.committables.setdefault(sender[0], [])
                output.extend(Committable(header.channel, data) for data in pickle.loads(body))
            elif header.kind == LEVEL0_STATE:
                report.level0[sender] = bytes(body)
            elif header.kind == ACCUMULATORS:
                report.accumulators[sender] = pickle.loads(body)
            elif header.kind == METRICS:
                report.metrics[sender] = pickle.loads(body)
            elif header.kind == ALIGNMENT:
                report.alignment[sender] = pickle.loads(body)
        for output in report.committables.values():
            output.sort(key=lambda committable: committable.subtask)
        for tail, head in plan.feedback().items():
            back = report.committables.pop(tail, [])
            report.feedback[head] = [committable.payload for committable in back]
        return report


def _task(header: Header, uids: dict[int, str]) -> SubtaskId:
    if header.node >= SOURCE_ADDRESSES:
        return uids[header.node - SOURCE_ADDRESSES], header.channel
    return f"level {header.node}", header.channel
