"""Records and publishing: in order, once, and right whenever the process dies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.core.io import BatchRead
from penstock.errors import JobFailedError
from penstock.runtime.report import BatchReport
from tests.unit.coordinator.fakes import Engine, SteeredSink, SteeredSource, output, plan_of


@pytest.fixture
def source() -> SteeredSource:
    return SteeredSource(a=1)


@pytest.fixture
def sink() -> SteeredSink:
    return SteeredSink()


@pytest.fixture
def engine(source: SteeredSource, sink: SteeredSink, tmp_path: Path) -> Engine:
    """An engine with two records in each batch, whose output names them."""
    options = {"settings": {"penstock.batch.max-records": 2}}
    return Engine(plan_of(source, sink=sink), tmp_path, options=options, work=name_records)


def name_records(reads: list[BatchRead]) -> BatchReport:
    report = output(*(f"{r.start}-{r.end}" for read in reads for r in read.ranges))
    [read] = reads
    report.level0 = {("uid 1", 0): (read.state or b"") + b"."}
    return report


def records(engine: Engine) -> list[str]:
    return sorted(path.name for path in (engine.directory / "records").iterdir())


def test_nothing_is_published_before_the_engine_has_logged_it(
    engine: Engine, sink: SteeredSink
) -> None:
    engine.batch()
    assert sink.published == []
    engine.batch()
    assert sink.published == [(0, [b"0-1"])]


def test_a_repeated_batch_replaces_its_record(engine: Engine, sink: SteeredSink) -> None:
    engine.ask()
    engine.run()
    engine.work = lambda reads: output("second attempt")
    engine.batch()
    engine.batch()
    assert sink.published == [(0, [b"second attempt"])]


def test_a_repeated_batch_starts_from_the_state_of_the_one_before_it(
    engine: Engine, source: SteeredSource
) -> None:
    engine.batch()
    source.available["a"] = 2
    engine.ask()
    first = engine.run()
    again = engine.run()
    engine.restart()
    after_restart = engine.run()
    assert [read.state for [read] in (first, again, after_restart)] == [b"."] * 3
    assert first == again == after_restart


def test_what_is_recorded_but_not_logged_is_dropped_by_a_restart(
    engine: Engine, source: SteeredSource, sink: SteeredSink
) -> None:
    engine.batch()
    source.available["a"] = 2
    engine.ask()
    engine.run()
    assert records(engine) == ["0.rec", "1.rec"]
    engine.restart()
    assert records(engine) == ["0.rec"]
    engine.work = lambda reads: output("second attempt")
    engine.batch()
    engine.batch()
    assert sink.published == [(0, [b"0-1"]), (1, [b"second attempt"])]


def test_what_is_logged_but_not_published_is_published_by_a_restart(
    engine: Engine, sink: SteeredSink
) -> None:
    engine.batch()
    engine.restart()
    assert sink.published == [(0, [b"0-1"])]
    engine.restart()
    assert sink.published == [(0, [b"0-1"])]
    assert [context.restored for context in sink.contexts] == [False, True, True]


def test_a_kill_between_publishing_and_its_mark_publishes_again(
    engine: Engine, sink: SteeredSink
) -> None:
    engine.batch()
    engine.batch()
    (engine.directory / "published").unlink()
    engine.restart()
    assert sink.published == [(0, [b"0-1"]), (0, [b"0-1"])]


def test_a_restart_in_the_first_batch_begins_where_the_job_began(
    engine: Engine, source: SteeredSource
) -> None:
    initial = engine.coordinator.initial_offset()
    engine.ask()
    source.begin = 1
    engine.restart()
    assert engine.coordinator.initial_offset() == initial
    assert source.enumerator.context.restored == initial["sources"]["uid 1"]
    [read] = engine.batch() or []
    assert (read.ranges[0].start, read.state) == (0, None)


def test_only_the_last_two_records_are_kept(engine: Engine, source: SteeredSource) -> None:
    source.available["a"] = 20
    assert engine.batches() == 10
    assert records(engine) == ["8.rec", "9.rec"]
    engine.restart()
    source.available["a"] = 21
    [read] = engine.batch() or []
    assert read.state == b"." * 10


def test_records_that_wait_for_publishing_are_kept(
    engine: Engine, source: SteeredSource, sink: SteeredSink
) -> None:
    source.available["a"] = 8
    engine.restart(publish_interval_ms=1000)
    assert engine.batches() == 4
    assert sink.published == []
    assert len(records(engine)) == 4
    engine.restart(publish_interval_ms=1000)
    assert [batch for batch, _ in sink.published] == [0, 1, 2, 3]
    assert records(engine) == ["2.rec", "3.rec"]


def test_an_interval_groups_batches_in_order(
    engine: Engine, source: SteeredSource, sink: SteeredSink
) -> None:
    engine.restart(publish_interval_ms=1000)
    for count in range(2, 5):
        engine.batch()
        source.available["a"] = count
        engine.clock.now += 300
    engine.batch()
    assert sink.published == []
    engine.clock.now += 200
    assert engine.batch() is None
    assert [batch for batch, _ in sink.published] == [0, 1, 2, 3]
    assert source.enumerator.committed_positions == [engine.start_offset()["sources"]["uid 1"]]
    engine.clock.now += 2000
    engine.batch()
    assert len(source.enumerator.committed_positions) == 1


def test_the_first_batch_after_a_checkpoint_is_due_is_published_at_once(
    engine: Engine, source: SteeredSource, sink: SteeredSink
) -> None:
    engine.restart(publish_interval_ms=1000)
    engine.batch()
    engine.clock.now += 1000  # a checkpoint is due: what was recorded before is published
    assert engine.batch() is None
    assert [batch for batch, _ in sink.published] == [0]
    source.available["a"] = 2
    engine.batch()  # the first batch of its span, which is the checkpoint
    source.available["a"] = 3
    engine.batch()
    assert [batch for batch, _ in sink.published] == [0, 1]
    engine.batch()
    assert [batch for batch, _ in sink.published] == [0, 1]


def test_committers_learn_that_what_was_logged_is_published(
    engine: Engine, sink: SteeredSink
) -> None:
    engine.restart()
    assert sink.recovered_with == []
    engine.batch()
    engine.restart()
    assert sink.recovered_with == [[0]]


def test_a_committer_that_cannot_recover(engine: Engine, sink: SteeredSink) -> None:
    engine.batch()
    sink.fail_at = "recover"
    engine.restart()
    assert str(engine.coordinator.failure) == (
        "a sink cannot be opened\n"
        "  where: operator 'archive', built at orders_job.py:41\n"
        "  got:   OSError: the disk is gone"
    )


def test_enumerators_learn_what_is_published(engine: Engine, source: SteeredSource) -> None:
    engine.batch()
    assert source.enumerator.committed_positions == []
    engine.batch()
    engine.batch()
    [position] = source.enumerator.committed_positions
    assert position["splits"]["a"]["at"] == 1
    engine.restart()
    assert source.enumerator.committed_positions == [position]
    assert source.enumerator.context.restored == position


def test_batches_without_output_are_not_committed(engine: Engine, sink: SteeredSink) -> None:
    engine.work = lambda reads: BatchReport(committables={90: []})
    engine.batch()
    engine.batch()
    assert sink.published == []
    assert not (engine.directory / "published").exists()


def test_cancelling_publishes_what_is_logged(
    engine: Engine, source: SteeredSource, sink: SteeredSink
) -> None:
    engine.restart(publish_interval_ms=10**9)
    source.available["a"] = 4
    engine.batches()
    source.available["a"] = 5
    engine.ask()
    engine.run()
    engine.coordinator.cancel()
    assert [batch for batch, _ in sink.published] == [0, 1]


def test_closing_publishes_up_to_the_engines_log(engine: Engine, sink: SteeredSink) -> None:
    engine.batch()
    engine.coordinator.cancel()
    assert sink.published == []
    engine.coordinator.close(last_committed=0)
    engine.coordinator.close(last_committed=0)
    assert sink.published == [(0, [b"0-1"])]
    assert sink.closed == 1


def test_connectors_have_folders_in_the_jobs_directory(
    engine: Engine, source: SteeredSource, sink: SteeredSink
) -> None:
    assert source.enumerator.context.directory == str(engine.directory / "sources" / "uid 1")
    assert sink.contexts[0].directory == str(engine.directory / "sinks" / "uid 90")
    assert Path(sink.contexts[0].directory).is_dir()
    assert sink.contexts[0].job_id == "job-1"


def test_a_lost_record_is_a_clear_error(engine: Engine) -> None:
    engine.batch()
    (engine.directory / "records" / "0.rec").unlink()
    assert str(engine.restart().failure) == (
        "the record of batch 0 is missing, so the job cannot go on\n"
        f"  where: job directory {engine.directory}\n"
        "  to do: restore the whole job directory, or start the job anew in an empty one"
    )


def test_a_damaged_record_is_a_clear_error(engine: Engine) -> None:
    engine.batch()
    (engine.directory / "records" / "0.rec").write_bytes(b"nonsense")
    failure = engine.restart().failure
    assert isinstance(failure, JobFailedError)
    assert failure.what == "the record of batch 0 cannot be read"


def test_a_lost_log_of_the_engine_is_a_clear_error(engine: Engine) -> None:
    engine.batch()
    engine.batch()
    engine.committed = -1
    failure = engine.restart().failure
    assert str(failure) == (
        "the job's output is further than the engine's log, so the job cannot go on\n"
        f"  where: job directory {engine.directory}\n"
        "  got:   batch 0 published, batch -1 logged\n"
        "  to do: restore the whole job directory, or start the job anew in an empty one"
    )


def test_half_written_files_do_not_disturb(engine: Engine, sink: SteeredSink) -> None:
    engine.batch()
    (engine.directory / "records" / "1.rec.tmp").write_bytes(b"half")
    engine.restart()
    assert engine.coordinator.failure is None
    assert sink.published == [(0, [b"0-1"])]


def test_an_offset_survives_its_passage_through_json(engine: Engine) -> None:
    offset = engine.coordinator.latest_offset(engine.start_offset())
    assert json.loads(json.dumps(offset)) == offset
