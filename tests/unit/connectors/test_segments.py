from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from penstock.connectors import segments
from penstock.connectors.segments import SegmentLog, cut_entries, join, read_range
from penstock.core.io import SourceBatch
from penstock.errors import SourceError


def batch(*values: object) -> SourceBatch:
    return SourceBatch(list(values))


def read(log: SegmentLog, start: int, end: int) -> list[object]:
    places = log.byte_ranges(start, end)
    return [v for place in places for b in read_range(place) for v in b.values]


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 200)


@pytest.mark.usefixtures("small_segments")
def test_any_range_gives_its_entries(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    for first in range(0, 60, 6):
        log.append(batch(*range(first, first + 6)))
    assert len(list(tmp_path.iterdir())) > 2
    for start in range(0, 60, 7):
        for end in range(start, 61, 5):
            assert read(log, start, end) == list(range(start, end))


@pytest.mark.usefixtures("small_segments")
def test_a_log_that_is_opened_again_gives_the_same_ranges_and_goes_on(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    for first in range(0, 40, 4):
        log.append(batch(*range(first, first + 4)), state=b"%d" % first)
    log.close()
    again = SegmentLog(str(tmp_path))
    assert again.end == 40
    assert again.state == b"36"
    assert not again.ended
    assert again.byte_ranges(3, 37) == log.byte_ranges(3, 37)
    again.append(batch(40), ended=True)
    assert read(again, 38, 41) == [38, 39, 40]
    again.close()
    assert SegmentLog(str(tmp_path)).ended


@pytest.mark.usefixtures("small_segments")
def test_parts_are_seen_together_with_what_ends_them(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    log.append(batch(0, 1), state=b"before")
    for first in range(2, 100, 7):
        log.append_part(batch(*range(first, first + 7)))
    assert log.end == 2
    assert log.reach(0, 1000, 1 << 20) == 2
    killed = SegmentLog(str(shutil.copytree(tmp_path, tmp_path.with_name("killed"))))
    assert (killed.end, killed.state) == (2, b"before")
    killed.append(batch("next"))
    assert read(killed, 0, 3) == [0, 1, "next"]
    log.append(batch(100), state=b"behind")
    assert log.end == 101
    assert read(log, 0, 101) == list(range(101))
    for opened in (log, SegmentLog(str(tmp_path))):
        assert (opened.end, opened.state) == (101, b"behind")
    log.append_part(batch("given up"))
    log.close()
    assert SegmentLog(str(tmp_path)).end == 101
    assert read(log, 99, 101) == [99, 100]


@pytest.mark.usefixtures("small_segments")
def test_segments_go_when_they_have_been_read_but_the_state_stays(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    log.append(batch(0), state=b"the state")
    for number in range(1, 50):
        log.append(batch(number), state=b"the state")
    log.remove_before(45)
    log.close()
    again = SegmentLog(str(tmp_path))
    assert again.state == b"the state"
    assert read(again, 45, 50) == [45, 46, 47, 48, 49]
    with pytest.raises(SourceError) as caught:
        again.byte_ranges(0, 3)
    assert str(caught.value).startswith(
        "records that are asked for are no longer in the receiver's log\n"
        f"  where: {tmp_path}\n"
        "  got:   entries 0 to 3, the log has 4"
    )


def test_the_segment_that_is_written_to_stays(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    log.append(batch("a"))
    log.remove_before(1)
    log.append(batch("b"))
    assert read(log, 1, 2) == ["b"]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_what_a_dead_process_left_unfinished_is_cut_off(tmp_path: Path, cut: int) -> None:
    log = SegmentLog(str(tmp_path))
    log.append(batch("a", "b"), state=b"1")
    log.append(batch("c"), state=b"2")
    log.close()
    (path,) = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - cut)
    again = SegmentLog(str(tmp_path))
    assert again.end == 2
    assert again.state == b"1"
    again.append(batch("d"))
    assert read(again, 0, 3) == ["a", "b", "d"]


def test_a_flush_in_several_frames_counts_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "FRAME_BYTES", 100)
    log = SegmentLog(str(tmp_path))
    log.append(batch("a"))
    size = next(tmp_path.iterdir()).stat().st_size
    log.append(SourceBatch(["x" * 60, "y" * 60, "z" * 60], [1, 2, 3], [(1, 10), (3, 30)]))
    log.close()
    (path,) = tmp_path.iterdir()
    again = SegmentLog(str(tmp_path))
    assert again.end == 6
    read_back = join([b for place in again.byte_ranges(1, 6) for b in read_range(place)])
    assert read_back == SourceBatch(["x" * 60, "y" * 60, "z" * 60], [1, 2, 3], [(1, 10), (3, 30)])
    os.truncate(path, path.stat().st_size - 1)
    assert SegmentLog(str(tmp_path)).end == 1
    assert path.stat().st_size == size


def test_a_log_that_is_gone_goes_on_with_the_old_numbers(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path), first=500)
    assert log.end == 500
    log.append(batch("a"))
    assert read(log, 500, 501) == ["a"]


def test_reach_is_bounded_by_entries_and_by_bytes(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    for _ in range(10):
        log.append(batch(*["x" * 100] * 5))
    frame = next(tmp_path.iterdir()).stat().st_size // 10
    assert log.reach(0, 1000, 1 << 30) == 50
    assert log.reach(7, 3, 1 << 30) == 10
    assert log.reach(0, 1000, 2 * frame) == 10
    assert log.reach(12, 1000, 1) == 15
    assert log.reach(50, 1000, 1 << 30) == 50


def test_entries_are_records_and_watermarks_in_order() -> None:
    whole = SourceBatch(["a", "b", "c"], [1, 2, 3], [(0, 5), (2, 6), (2, 7), (3, 8)])
    # In order: 5 a b 6 7 c 8
    assert cut_entries(whole, 0, 7) == whole
    assert cut_entries(whole, 0, 1) == SourceBatch([], [], [(0, 5)])
    assert cut_entries(whole, 1, 4) == SourceBatch(["a", "b"], [1, 2], [(2, 6)])
    assert cut_entries(whole, 4, 7) == SourceBatch(["c"], [3], [(0, 7), (1, 8)])
    pieces = [cut_entries(whole, i, i + 1) for i in range(7)]
    assert join(pieces) == whole


def test_a_worker_without_the_folder(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path / "log"))
    log.append(batch("a"))
    (place,) = log.byte_ranges(0, 1)
    os.remove(place.path)
    with pytest.raises(SourceError) as caught:
        list(read_range(place))
    assert str(caught.value) == (
        "a worker cannot read the receiver's log\n"
        f"  where: {place.path}\n"
        "  got:   No such file or directory\n"
        "  to do: set execution.checkpointing.dir to a folder that all workers share"
    )


def test_a_damaged_frame_is_not_taken_for_records(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    log.append(batch("a"))
    (place,) = log.byte_ranges(0, 1)
    content = bytearray(Path(place.path).read_bytes())
    content[-3] ^= 1
    Path(place.path).write_bytes(content)
    with pytest.raises(SourceError, match="a frame is damaged"):
        list(read_range(place))


def test_a_full_disk(tmp_path: Path) -> None:
    log = SegmentLog(str(tmp_path))
    log.append(batch("a"))

    class FullDisk:
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    log._file = FullDisk()  # type: ignore[assignment]
    with pytest.raises(SourceError) as caught:
        log.append(batch("b"))
    assert caught.value.got == "No space left on device"
    assert SegmentLog(str(tmp_path)).end == 1
