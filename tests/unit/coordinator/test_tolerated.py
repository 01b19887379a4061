"""Output that cannot be published for a while: tolerated as often as the settings say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.runtime.coordinator import publisher
from tests.unit.coordinator.fakes import Engine, SteeredSink, SteeredSource, output, plan_of


@pytest.mark.parametrize(("tolerated", "fails"), [(1, True), (3, False)])
def test_a_committer_that_fails_twice(
    tolerated: int, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_LONGEST_PAUSE", 0.01)
    sink, failures = SteeredSink(), [OSError("away"), OSError("still away")]
    create = sink.create_committer

    def unsteady(context: Any) -> Any:
        committer = create(context)
        commit = committer.commit

        def failing(batch_id: int, committables: Any) -> None:
            if failures:
                raise failures.pop(0)
            commit(batch_id, committables)

        committer.commit = failing  # type: ignore[method-assign]
        return committer

    sink.create_committer = unsteady  # type: ignore[method-assign]
    settings = {"execution.checkpointing.tolerable-failed-checkpoints": str(tolerated)}
    engine = Engine(
        plan_of(SteeredSource(a=1), sink=sink),
        tmp_path,
        options={"settings": settings},
        work=lambda reads: output("one"),
    )
    engine.batch()
    engine.batch()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not sink.published and not engine.coordinator.failure:
        time.sleep(0.01)
    assert bool(engine.coordinator.failure) is fails
    assert bool(sink.published) is not fails
