"""What a batch tells the coordinator: output to publish, timers, counts, level-0 state."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.core.io import Committable
from penstock.runtime.envelope import (
    ACCUMULATORS,
    COMMITTABLE,
    LEVEL0_STATE,
    METRICS,
    TIMER,
    body_of,
    header_of,
)


@dataclass
class BatchReport:
    """The sink-bound envelopes of one batch, opened."""

    committables: dict[int, list[Committable]] = field(default_factory=dict)
    level0: dict[tuple[int, int], bytes] = field(default_factory=dict)
    #: Next processing-time timer of a (level, slot), None when it has no more; changed ones only.
    timers: dict[tuple[int, int], int | None] = field(default_factory=dict)
    #: Accumulators of an (operator, subtask) so far; changed ones only.
    accumulators: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    #: Readings of the metrics of an (operator, subtask) by name; changed ones only.
    metrics: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def collect(cls, payloads: Iterable[bytes]) -> BatchReport:
        """Open the sink-bound envelopes of a whole batch.

        Output of a sink is ordered by subtask, so that a replay records the same sequence.
        """
        report = cls()
        for payload in payloads:
            header = header_of(payload)
            body = body_of(payload)
            place = (header.node, header.channel)
            if header.kind == COMMITTABLE:
                output = report.committables.setdefault(header.node, [])
                output.extend(Committable(header.channel, data) for data in pickle.loads(body))
            elif header.kind == LEVEL0_STATE:
                report.level0[place] = body
            elif header.kind == TIMER:
                report.timers[place] = pickle.loads(body)
            elif header.kind == ACCUMULATORS:
                report.accumulators[place] = pickle.loads(body)
            elif header.kind == METRICS:
                report.metrics[place] = pickle.loads(body)
        for output in report.committables.values():
            output.sort(key=lambda committable: committable.subtask)
        return report
