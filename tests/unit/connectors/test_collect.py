from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collector, CollectSink, open_collector
from tests.unit.connectors.driver import committer_of, written


def deliver(collector: Collector, directory: Path, *batches: list[Any]) -> None:
    sink = CollectSink(collector.id)
    committer = committer_of(sink, directory)
    for batch, values in enumerate(batches):
        committer.commit(batch, written(sink, values))
    committer.close()


def test_values_of_all_batches_then_the_end(tmp_path: Path) -> None:
    collector = open_collector()
    deliver(collector, tmp_path, [1, {"a": [2]}], [], list(range(10_000)))
    collector.finish()
    assert list(collector) == [1, {"a": [2]}, *range(10_000)]
    assert list(collector) == []


def test_subtasks_in_order(tmp_path: Path) -> None:
    collector = open_collector()
    sink = CollectSink(collector.id)
    parts = [written(sink, [i], subtask=i, parallelism=3) for i in (2, 0, 1)]
    committer_of(sink, tmp_path, parallelism=3).commit(0, [c for part in parts for c in part])
    collector.finish()
    assert list(collector) == [0, 1, 2]


def test_a_batch_is_delivered_once(tmp_path: Path) -> None:
    collector = open_collector()
    deliver(collector, tmp_path, [1], [2])
    deliver(collector, tmp_path, [1], [2], [3])
    collector.finish()
    assert list(collector) == [1, 2, 3]


def test_a_reader_waits_for_values(tmp_path: Path) -> None:
    collector = open_collector()
    threading.Timer(0.05, deliver, (collector, tmp_path, ["late"])).start()
    assert next(collector) == "late"


def test_a_failed_job_raises_behind_its_values(tmp_path: Path) -> None:
    collector = open_collector()
    deliver(collector, tmp_path, [1])
    collector.fail(ValueError("broken"))
    assert next(collector) == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            next(collector)


def test_closing_cancels_once_and_ends_the_iteration(tmp_path: Path) -> None:
    calls: list[str] = []
    with open_collector() as collector:
        collector.on_close(lambda: calls.append("cancel"))
        deliver(collector, tmp_path, [1, 2, 3])
        assert next(collector) == 1
    collector.close()
    collector.fail(RuntimeError("cancelled"))
    assert list(collector) == []
    assert calls == ["cancel"]


def test_closing_wakes_up_a_reader() -> None:
    collector = open_collector()
    threading.Timer(0.05, collector.close).start()
    assert list(collector) == []


def test_values_nobody_wants_are_dropped(tmp_path: Path) -> None:
    collector = open_collector()
    sink = CollectSink(collector.id)
    committer = committer_of(sink, tmp_path)
    del collector
    gc.collect()
    committer.commit(0, written(sink, [1]))


def test_a_value_that_is_changed_after_it_was_written_stays_as_it_was(tmp_path: Path) -> None:
    collector = open_collector()
    sink = CollectSink(collector.id)
    record = {"n": 0}

    def values() -> Any:
        for number in range(3):
            record["n"] = number
            yield record

    committer_of(sink, tmp_path).commit(0, written(sink, values()))
    collector.finish()
    assert list(collector) == [{"n": 0}, {"n": 1}, {"n": 2}]
