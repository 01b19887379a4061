"""Parts of a file sink: when they end, what they are called, and what failures do to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Encoder
from penstock.connectors.file_sink import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSink,
    FileSinkBuilder,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
)
from penstock.connectors.file_sink import parts as parts_module
from penstock.errors import SinkError
from tests.unit.connectors.file_sink.sinks import SinkDriver, finished, unfinished

SECOND = 1000


def builder(base: Path, **policy: int) -> FileSinkBuilder[FileSink]:
    row_format = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    row_format.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    return row_format.with_rolling_policy(DefaultRollingPolicy(**policy))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_an_open_part_is_hidden_and_named_as_flink_names_it(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    sink.batch(["a", "b"])
    [file] = base.iterdir()
    uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"\.part-0-0\.inprogress\.{uuid}", file.name)
    assert file.read_text() == "a\nb\n"
    sink.batch(end=True)
    assert finished(base) == {"part-0-0": "a\nb\n"}
    assert unfinished(base) == []


def test_prefix_and_suffix(base: Path, journal: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    sink = SinkDriver(builder(base).with_output_file_config(config), journal)
    sink.batch(["a"])
    assert unfinished(base) == [".words-0-0.txt.inprogress"]
    sink.batch(end=True)
    assert finished(base) == {"words-0-0.txt": "a\n"}


def test_rolling_by_size_ends_a_part_that_is_longer(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base, part_size=4), journal)
    sink.batch(["aa", "b", "cc"], publish=False)  # the first part has 5 bytes before "cc"
    assert finished(base) == {}
    sink.publish()
    assert finished(base) == {"part-0-0": "aa\nb\n"}
    sink.batch(["d", "e", "f", "g", "h"], "other")
    assert finished(base) == {"part-0-0": "aa\nb\n", "part-0-1": "cc\nd\n", "part-0-2": "e\nf\ng\n"}
    sink.batch(end=True)
    assert finished(base)["part-0-3"] == "h\n"


def test_a_part_that_is_long_enough_ends_with_the_checkpoint(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base, part_size=4), journal, interval=10 * SECOND, now=1)
    sink.batch(["aa", "b"])
    assert finished(base) == {}
    assert sink.next_wakeup() == 10 * SECOND
    sink.idle_until(10 * SECOND)
    assert finished(base) == {"part-0-0": "aa\nb\n"}


def test_rolling_by_age_without_data(base: Path, journal: Path) -> None:
    policy = {"rollover_interval": 10 * SECOND, "inactivity_interval": 1000 * SECOND}
    sink = SinkDriver(builder(base, **policy), journal, now=100 * SECOND)
    sink.batch(["a"])
    sink.now = 105 * SECOND
    sink.batch(["b"], "other")
    assert sink.next_wakeup() == 110 * SECOND
    sink.idle_until(109 * SECOND)
    assert finished(base) == {}
    sink.idle_until(110 * SECOND)
    assert finished(base) == {"part-0-0": "a\nb\n"}
    assert unfinished(base) == []
    assert sink.next_wakeup() is None


def test_rolling_by_inactivity_without_data(base: Path, journal: Path) -> None:
    policy = {"rollover_interval": 1000 * SECOND, "inactivity_interval": 10 * SECOND}
    sink = SinkDriver(builder(base, **policy), journal, now=100 * SECOND)
    sink.batch(["a"])
    sink.now = 105 * SECOND
    sink.batch(["b"])
    assert sink.next_wakeup() == 115 * SECOND
    sink.now = 114 * SECOND
    sink.batch()
    assert finished(base) == {}
    sink.idle_until(115 * SECOND)
    assert finished(base) == {"part-0-0": "a\nb\n"}


def test_a_record_that_comes_when_time_is_up_goes_to_the_next_part(
    base: Path, journal: Path
) -> None:
    sink = SinkDriver(builder(base, rollover_interval=10 * SECOND), journal, now=100 * SECOND)
    sink.batch(["a"])
    sink.now = 111 * SECOND
    sink.batch(["b"])
    assert finished(base) == {"part-0-0": "a\n"}
    sink.batch(end=True)
    assert finished(base)["part-0-1"] == "b\n"


def test_a_check_interval_delays_rolling(base: Path, journal: Path) -> None:
    made = builder(base, rollover_interval=10 * SECOND).with_bucket_check_interval(7 * SECOND)
    sink = SinkDriver(made, journal, now=100 * SECOND)
    sink.batch(["a"])
    assert sink.next_wakeup() == 112 * SECOND
    sink.idle_until(111 * SECOND)
    assert finished(base) == {}
    sink.idle_until(112 * SECOND)
    assert finished(base) == {"part-0-0": "a\n"}


class EveryThird(RollingPolicy[Any]):
    """A policy of the user's."""

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return False

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        return part_file_state.get_size() >= 6

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return current_time - part_file_state.get_creation_time() >= 100 * SECOND


def test_a_policy_of_the_users(base: Path, journal: Path) -> None:
    made = builder(base).with_rolling_policy(EveryThird())
    sink = SinkDriver(made, journal, now=60 * SECOND)
    sink.batch("abcd")
    assert finished(base) == {"part-0-0": "a\nb\nc\n"}
    assert sink.next_wakeup() == 120 * SECOND  # it is asked every minute
    sink.idle_until(160 * SECOND)
    assert len(finished(base)) == 1
    sink.idle_until(180 * SECOND)
    assert finished(base)["part-0-1"] == "d\n"


def test_every_batch_is_a_checkpoint_without_an_interval(base: Path, journal: Path) -> None:
    made = builder(base).with_rolling_policy(OnCheckpointRollingPolicy())
    sink = SinkDriver(made, journal)
    sink.batch("ab")
    sink.batch("c", "other")
    sink.batch()
    assert finished(base) == {"part-0-0": "a\nb\n", "part-0-1": "c\n"}


def test_an_interval_decides_which_batches_are_checkpoints(base: Path, journal: Path) -> None:
    made = builder(base).with_rolling_policy(OnCheckpointRollingPolicy())
    sink = SinkDriver(made, journal, interval=10 * SECOND, now=101 * SECOND)
    sink.batch("a")
    sink.now = 108 * SECOND
    sink.batch("b", "other")
    assert finished(base) == {}
    assert sink.next_wakeup() == 110 * SECOND
    sink.now = 112 * SECOND
    sink.batch("c")
    assert finished(base) == {"part-0-0": "a\nb\nc\n"}
    sink.now = 119 * SECOND
    sink.batch("d")
    assert len(finished(base)) == 1
    sink.idle_until(120 * SECOND)
    assert finished(base)["part-0-1"] == "d\n"


def test_batch_mode_has_one_checkpoint_at_its_end(base: Path, journal: Path) -> None:
    made = builder(base).with_rolling_policy(OnCheckpointRollingPolicy())
    sink = SinkDriver(made, journal, batch_mode=True)
    sink.batch("a")
    sink.batch("b", "other")
    assert sink.next_wakeup() is None
    sink.batch(end=True)
    assert finished(base) == {"part-0-0": "a\nb\n"}


def test_a_replay_ignores_what_the_first_attempt_wrote(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    sink.batch("a")
    straggler, *_ = sink.attempt("xx")  # same worker, same file: appended and forgotten
    sink.batch("b", "other")
    straggler.write("late", None)
    straggler.prepare_commit(False)
    sink.batch("c", "third")
    straggler.write("later", None)
    straggler.prepare_commit(True)
    sink.batch(end=True)
    assert finished(base) == {"part-0-0": "a\nb\nc\n"}
    assert unfinished(base) == []


def test_a_straggler_cannot_write_into_a_finished_part(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    sink.batch("a")
    straggler, *_ = sink.attempt("x")
    sink.batch("b", "other", end=True)
    straggler.write("late", None)
    with pytest.raises(SinkError, match="No such file"):  # its file is gone, and nobody minds
        straggler.prepare_commit(False)
    assert finished(base) == {"part-0-0": "a\nb\n"}


def test_a_part_goes_on_in_every_worker(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    for number in range(100):
        sink.batch([number], worker=f"worker {number % 7}")
    segments = len(unfinished(base))
    assert segments <= parts_module._MOST_SEGMENTS + 1
    sink.batch(end=True)
    assert finished(base) == {"part-0-0": "".join(f"{n}\n" for n in range(100))}
    assert unfinished(base) == []


def test_merging_copies_a_byte_only_as_often_as_the_part_doubles(
    base: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = 0
    original = parts_module.PartFiles._joined

    def counting(self: Any, bucket: str, name: str, segments: Any, rest: bytes) -> Any:
        nonlocal copied
        copied += sum(length for _, length in segments)
        return original(self, bucket, name, segments, rest)

    monkeypatch.setattr(parts_module.PartFiles, "_joined", counting)
    sink = SinkDriver(builder(base), journal)
    batches = 512
    for number in range(batches):
        sink.batch(["x"], worker=str(number))
    assert copied <= 2 * batches * 9  # bytes, times log2 of the number of batches


def test_a_replay_still_finds_the_segments_that_were_merged(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    for number in range(parts_module._MOST_SEGMENTS):
        sink.batch([number], worker=str(number))
    sink.attempt(["lost"], "one that merges")
    sink.batch(["last"], "one that merges as well")
    sink.batch(end=True)
    numbers = range(parts_module._MOST_SEGMENTS)
    assert finished(base)["part-0-0"] == "".join(f"{n}\n" for n in numbers) + "last\n"


def test_publishing_again_does_nothing(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base, part_size=1), journal)
    sink.batch("abc", publish=False)
    again = list(sink.recorded)
    sink.publish()
    before = finished(base)
    sink.recorded = list(again)
    sink.restart()
    assert finished(base) == before == {"part-0-0": "a\n", "part-0-1": "b\n", "part-0-2": "c\n"}


def test_a_commit_that_was_interrupted_is_completed(
    base: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = SinkDriver(builder(base, part_size=1), journal)
    sink.batch("abc", publish=False)
    recorded = list(sink.recorded)
    store = type(sink.committer._store)
    rename, calls = store.rename, []

    def dying(self: Any, source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(self, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(store, "rename", dying)
        with pytest.raises(KeyboardInterrupt):
            sink.publish()
    assert list(finished(base)) == ["part-0-0"]
    (base / "part-0-0").unlink()  # a reader has taken it away
    sink.recorded = recorded
    sink.restart()
    assert finished(base) == {"part-0-1": "b\n", "part-0-2": "c\n"}


def test_parts_of_another_job_are_not_overwritten(base: Path, journal: Path) -> None:
    base.mkdir()
    (base / "part-0-0").write_text("another job's\n")
    sink = SinkDriver(builder(base), journal)
    sink.batch("a")
    (base / "part-0-1").write_text("another job's, meanwhile\n")
    sink.batch(end=True)
    assert finished(base) == {
        "part-0-0": "another job's\n",
        "part-0-1": "another job's, meanwhile\n",
        "part-0-2": "a\n",
    }


def test_a_restart_sweeps_leftovers_but_not_those_of_others(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    other = SinkDriver(builder(base), journal.with_name("other"), job_id="other job")
    other.batch("z")
    sink.batch("a")
    sink.attempt("x", "killed")
    sink.attempt("y", "killed too")
    assert len(unfinished(base)) == 4
    sink.restart()
    assert len(unfinished(base)) == 2
    sink.batch("b", end=True)
    other.batch(end=True)
    assert sorted(finished(base).values()) == ["a\nb\n", "z\n"]
    assert unfinished(base) == []


def test_a_run_that_got_nowhere_leaves_nothing(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    sink.attempt("x", "killed")
    sink.restart(restored=False)
    assert unfinished(base) == []


def test_what_is_recorded_but_not_published_survives_a_restart(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base, part_size=1), journal)
    sink.batch("abc", publish=False)
    sink.batch("de", "other", publish=False)
    sink.restart()
    sink.batch(end=True)
    assert list(finished(base).values()) == ["a\n", "b\n", "c\n", "d\n", "e\n"]
    assert unfinished(base) == []


def test_a_failed_attempt_takes_its_files_with_it(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base, part_size=1), journal)
    writer = sink.writer()
    writer.write("a", None)
    writer.write("b", None)
    assert unfinished(base) == [".part-0-0.inprogress"]
    writer.close()
    assert unfinished(base) == []


def test_a_segment_that_was_cut_is_an_error(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base), journal)
    sink.batch(["abc"])
    [file] = base.iterdir()
    file.write_text("ab")
    with pytest.raises(SinkError) as caught:
        sink.batch("d", "other", end=True)
    assert str(caught.value) == (
        "an unfinished part has become shorter since it was written\n"
        f"  got:   {file}: 2 bytes, 4 were written\n"
        "  to do: leave the output alone while its job is running or can be resumed"
    )


def test_a_part_that_vanished_before_it_was_published_is_an_error(
    base: Path, journal: Path
) -> None:
    sink = SinkDriver(builder(base), journal)
    sink.batch("a", end=True, publish=False)
    [file] = base.iterdir()
    file.unlink()
    with pytest.raises(SinkError) as caught:
        sink.publish()
    assert str(caught.value) == (
        "a part that is to be published is not there any more\n"
        f"  got:   {file}, to become {base}/part-0-0\n"
        "  to do: leave the output alone while its job is running or can be resumed"
    )


class ByLetter(BucketAssigner[str]):
    def get_bucket_id(self, element: str, context: BucketAssigner.Context) -> str:
        return element[:1] if element[0] != "!" else "../" + element


def test_buckets_of_the_users_own_have_parts_of_their_own(base: Path, journal: Path) -> None:
    made = builder(base, part_size=5).with_bucket_assigner(ByLetter())
    sink = SinkDriver(made, journal)
    sink.batch(["a1", "b1", "a2", "a3"])
    sink.batch(["c1"], "other")
    sink.batch(end=True)
    # As in Flink: a bucket that is new counts on from the largest number so far.
    assert finished(base) == {
        "a/part-0-0": "a1\na2\n",
        "a/part-0-1": "a3\n",
        "b/part-0-1": "b1\n",
        "c/part-0-2": "c1\n",
    }


def test_a_bucket_outside_of_the_base_path(base: Path, journal: Path) -> None:
    sink = SinkDriver(builder(base).with_bucket_assigner(ByLetter()), journal)
    with pytest.raises(SinkError) as caught:
        sink.batch(["!evil"])
    assert str(caught.value) == (
        "a bucket must be a folder below the base path\n"
        "  got:   '../!evil'\n"
        "  to do: let the bucket assigner return a relative path without '..'"
    )
