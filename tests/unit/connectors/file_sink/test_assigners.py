"""Buckets by time: patterns, zones, midnight, and the days on which clocks change."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from penstock.common import Encoder
from penstock.connectors.file_sink import (
    BucketAssigner,
    DateTimeBucketAssigner,
    EventTimeBucketAssigner,
    FileSink,
)
from penstock.connectors.file_sink.assigners import _local_zone
from penstock.core.date_pattern import compile_pattern
from penstock.errors import ConfigurationError, MissingTimestampError
from tests.unit.connectors.file_sink.sinks import At, SinkDriver, finished

#: Three of them: hours and minutes with a colon.
OFFSET = "X" * 3
MOMENT = datetime(2024, 2, 3, 16, 5, 9, 70_000, tzinfo=ZoneInfo("Europe/Amsterdam"))


def millis(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return int(moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp() * 1000)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd--HH", "2024-02-03--16"),
        ("yyyy/M/d/H", "2024/2/3/16"),
        ("uuuuMMdd'T'HHmmss", "20240203T160509"),
        ("yy y yyyyy", "24 2024 02024"),
        ("MMM MMMM MMMMM LLL", "Feb February F Feb"),
        ("E EEE EEEE EEEEE", "Sat Sat Saturday S"),
        ("hh:mm a", "04:05 PM"),
        ("k K", "16 4"),
        ("ss.SSS SSSSSS S", "09.070 070000 0"),
        ("D DDD", "34 034"),
        ("Q QQ QQQ", "1 01 Q1"),
        (f"X XX {OFFSET} x Z", "+01 +0100 +01:00 +01 +0100"),
        ("VV z", "Europe/Amsterdam CET"),
        ("'day='dd 'o''clock' ''", "day=03 o'clock '"),
        ("", ""),
    ],
)
def test_patterns(pattern: str, expected: str) -> None:
    assert compile_pattern(pattern)(MOMENT) == expected


def test_midnight_noon_and_zero_offset() -> None:
    write = compile_pattern(f"HH kk KK hh a {OFFSET} xxx")
    midnight = datetime(2024, 1, 1, tzinfo=timezone.utc)
    assert write(midnight) == "00 24 00 12 AM Z +00:00"
    assert write(midnight + timedelta(hours=12)) == "12 12 00 12 PM Z +00:00"
    half = compile_pattern("X XX")(MOMENT.astimezone(ZoneInfo("Asia/Kolkata")))
    assert half == "+0530 +0530"
    west = compile_pattern(OFFSET)(MOMENT.astimezone(ZoneInfo("America/St_Johns")))
    assert west == "-03:30"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("yyyy-MM-dd'T", "a quote is not closed"),
        ("yyyy-ww", "'ww' is not known"),
        ("yyyy-MM-ddd", "'ddd' is not known"),
        ("YYYY", "'YYYY' is not known"),
        ("yyyy[-MM]", "'[' is reserved; write it in quotes"),
    ],
)
def test_patterns_that_are_refused(pattern: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        DateTimeBucketAssigner(pattern, "UTC")
    assert str(caught.value) == (
        f"a date cannot be written by this pattern: {why}\n"
        "  where: DateTimeBucketAssigner\n"
        f"  got:   {pattern!r}\n"
        "  to do: use letters of yyyy MM dd HH mm ss SSS E a D Q X z, others in single quotes"
    )


def test_an_unknown_zone() -> None:
    with pytest.raises(ConfigurationError) as caught:
        DateTimeBucketAssigner(zone_id="Europe/Atlantis")
    assert str(caught.value) == (
        "there is no such time zone\n"
        "  where: DateTimeBucketAssigner\n"
        "  got:   'Europe/Atlantis'\n"
        "  to do: use a name of the IANA database such as 'Europe/Amsterdam', or 'UTC'"
    )


def test_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    assigner = BucketAssigner.date_time_bucket_assigner()
    monkeypatch.setenv("TZ", "America/New_York")
    shipped: Any = pickle.loads(pickle.dumps(assigner))
    assert shipped.bucket_at(millis("2024-01-01T20:00")) == "2024-01-02--05"
    monkeypatch.delenv("TZ")
    assert ZoneInfo(_local_zone()) is not None


def test_hours_across_midnight_in_a_zone() -> None:
    assigner = DateTimeBucketAssigner(zone_id="Asia/Shanghai")
    times = ["2023-12-31T15:59:59", "2023-12-31T16:00", "2023-12-31T15:59:59.999"]
    buckets = [assigner.bucket_at(millis(time)) for time in times]
    assert buckets == ["2023-12-31--23", "2024-01-01--00", "2023-12-31--23"]


def test_the_hour_that_is_left_out_and_the_one_that_comes_twice() -> None:
    assigner = DateTimeBucketAssigner("yyyy-MM-dd--HH", "Europe/Amsterdam")
    with_offset = DateTimeBucketAssigner("yyyy-MM-dd--HHX", "Europe/Amsterdam")
    spring = [assigner.bucket_at(millis(f"2024-03-31T{hour}:30")) for hour in ("00", "01", "02")]
    assert spring == ["2024-03-31--01", "2024-03-31--03", "2024-03-31--04"]
    autumn = [f"2024-10-27T{hour}:30" for hour in ("00", "01", "02")]
    assert [assigner.bucket_at(millis(time)) for time in autumn] == [
        "2024-10-27--02", "2024-10-27--02", "2024-10-27--03",
    ]  # fmt: skip
    assert [with_offset.bucket_at(millis(time)) for time in autumn] == [
        "2024-10-27--02+02", "2024-10-27--02+01", "2024-10-27--03+01",
    ]  # fmt: skip


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "Australia/Lord_Howe", "America/New_York"])
def test_what_is_remembered_is_what_would_be_written(zone: str) -> None:
    pattern = "yyyy-MM-dd--HH-mm X"
    assigner, write = DateTimeBucketAssigner(pattern, zone), compile_pattern(pattern)
    start = millis("2024-04-06T12:00")
    for step in range(3000):
        moment = start + step * 17_333
        local = datetime.fromtimestamp(moment / 1000, ZoneInfo(zone))
        assert assigner.bucket_at(moment) == write(local)


def test_before_the_epoch() -> None:
    assigner = DateTimeBucketAssigner("yyyy-MM-dd HH:mm:ss.SSS", "UTC")
    assert assigner.bucket_at(-1) == "1969-12-31 23:59:59.999"


class BySecond(DateTimeBucketAssigner):
    """A subclass of the user's, with an attribute of its own."""

    def __init__(self, divisor: int) -> None:
        super().__init__("ss", "UTC")
        self.divisor = divisor

    def get_time(self, element: Any, context: BucketAssigner.Context) -> int:
        return int(element) // self.divisor


def builder(base: Path, assigner: BucketAssigner[Any]) -> Any:
    encoder = Encoder.simple_string_encoder()
    return FileSink.for_row_format(str(base), encoder).with_bucket_assigner(assigner)


def test_a_subclass_chooses_its_own_time(tmp_path: Path) -> None:
    sink = SinkDriver(builder(tmp_path / "out", BySecond(10)), tmp_path / "journal")
    sink.batch([10_000, 599_990], end=True)
    assert finished(tmp_path / "out") == {"01/part-0-0": "10000\n", "59/part-0-1": "599990\n"}


def test_event_hours_get_their_records_however_late(tmp_path: Path) -> None:
    assigner = EventTimeBucketAssigner(zone_id="Europe/Amsterdam")
    sink = SinkDriver(builder(tmp_path / "out", assigner), tmp_path / "journal")
    records = {
        "a": "2024-03-30T22:59:59", "b": "2024-03-30T23:00", "c": "2024-03-31T00:59",
        "d": "2024-03-31T01:00", "e": "2024-03-30T22:00",
    }  # fmt: skip
    for name, time in records.items():
        sink.batch([At(name, millis(time))], worker=name)
    sink.batch(end=True)
    assert finished(tmp_path / "out") == {
        "2024-03-30--23/part-0-0": "a\ne\n",
        "2024-03-31--00/part-0-1": "b\n",
        "2024-03-31--01/part-0-2": "c\n",
        "2024-03-31--03/part-0-3": "d\n",
    }


def test_processing_time_buckets_follow_the_batch(tmp_path: Path) -> None:
    assigner = DateTimeBucketAssigner("HH", "UTC")
    sink = SinkDriver(builder(tmp_path / "out", assigner), tmp_path / "journal")
    sink.now = millis("2024-01-01T10:59:59.999")
    sink.batch("a")
    sink.now += 1
    sink.batch("b", end=True)
    assert finished(tmp_path / "out") == {"10/part-0-0": "a\n", "11/part-0-1": "b\n"}


def test_a_record_without_a_timestamp(tmp_path: Path) -> None:
    sink = SinkDriver(builder(tmp_path / "out", EventTimeBucketAssigner()), tmp_path / "journal")
    with pytest.raises(MissingTimestampError) as caught:
        sink.batch(["a"])
    assert str(caught.value) == (
        "record has no event timestamp, which its bucket is chosen by\n"
        "  got:   'a'\n"
        "  to do: call assign_timestamps_and_watermarks(...) on the stream before the sink"
    )
