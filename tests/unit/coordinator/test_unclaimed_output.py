"""Recorded output whose sink is not in the program any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.io import Committable
from penstock.errors import StateError
from penstock.runtime.coordinator.publisher import Publisher
from penstock.runtime.coordinator.records import BatchRecord, JobState, RecordLog
from penstock.runtime.coordinator.storage import JobDirectory
from tests.unit.coordinator.fakes import SteeredSink, SteeredSource, plan_of


@pytest.mark.parametrize("dropped", [False, True])
def test_output_without_a_sink_is_refused_or_dropped(dropped: bool, tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    log, sink = RecordLog(directory), SteeredSink()
    output = {"gone": [Committable(0, b"x")], "uid 90": [Committable(0, b"y")]}
    log.write(BatchRecord(0, {"sources": {}, "time": 0, "control": {}}, output, JobState()))
    key = "execution.state-recovery.ignore-unclaimed-state"
    publisher = Publisher(
        plan_of(SteeredSource(a=1), sink=sink),
        directory,
        log,
        job_id="job",
        interval_ms=None,
        settings={key: "true"} if dropped else {},
    )
    publisher.start(restored=True, now=0)
    if dropped:
        publisher.publish(0)
        assert sink.published == [(0, [b"y"])]
        return
    with pytest.raises(StateError) as caught:
        publisher.publish(0)
    assert str(caught.value) == (
        "the program has no sink for output that has not been published\n"
        f"  where: job directory {tmp_path}\n"
        "  got:   output of batch 0 for the sink with uid 'gone'\n"
        "  to do: give the sink that the output belongs to that uid, with .uid('...'), or set "
        f"{key}: true to drop it"
    )
