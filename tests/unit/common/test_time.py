from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone

import pytest

from penstock.common import Duration, Instant, Time, TimeUnit
from penstock.common.time import to_milliseconds
from penstock.errors import ConfigurationError


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (Duration.of_days(1), 86_400_000),
        (Duration.of_hours(2), 7_200_000),
        (Duration.of_minutes(3), 180_000),
        (Duration.of_seconds(4), 4000),
        (Duration.of_millis(5), 5),
        (Duration.of_nanos(6_999_999), 6),
        (Duration.of(Time.seconds(7)), 7000),
        (Duration.of(timedelta(milliseconds=8)), 8),
        (Duration.of(9), 9),
    ],
)
def test_durations(duration: Duration, millis: int) -> None:
    assert duration.to_millis() == millis == to_milliseconds(duration)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("10 s", Duration.of_seconds(10)),
        ("200ms", Duration.of_millis(200)),
        ("1500", Duration.of_millis(1500)),
        ("2 MINUTES", Duration.of_minutes(2)),
        ("1 day", Duration.of_days(1)),
        ("3h", Duration.of_hours(3)),
        ("7 us", Duration.of_nanos(7000)),
        ("5 nanos", Duration.of_nanos(5)),
    ],
)
def test_durations_are_read_from_configuration(text: str, duration: Duration) -> None:
    assert Duration.parse(text) == duration


@pytest.mark.parametrize("text", ["", "s", "-1 s", "10 parsecs", "1.5 s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Duration.parse(text)
    assert str(caught.value) == (
        "not a span of time\n"
        f"  got:   {text!r}\n"
        "  to do: write a number and a unit (d, h, min, s, ms, us, ns), for instance '10 s'"
    )


def test_a_span_of_a_wrong_type() -> None:
    with pytest.raises(ConfigurationError) as caught:
        to_milliseconds("5 s")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "not a span of time\n"
        "  got:   '5 s' of type str\n"
        "  to do: give a Duration, a Time, a timedelta or a whole number of milliseconds"
    )


def test_times() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert Time.milliseconds(5).to_milliseconds() == 5
    assert repr(Time.seconds(1)) == "Time.milliseconds(1000)"


def test_durations_compare() -> None:
    assert Duration.of_seconds(1) < Duration.of_millis(1001)
    assert Duration.of_seconds(60) <= Duration.of_minutes(1)
    assert Duration.of_nanos(-1).is_negative()
    assert repr(Duration.of_seconds(1)) == "Duration.of_millis(1000)"


@pytest.mark.parametrize("millis", [0, 1, -1, -1500, 1_700_000_000_123])
def test_instants(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert instant.to_epoch_milli() == millis
    assert 0 <= instant.nanos < 1_000_000_000
    assert Instant.of_datetime(instant.to_datetime()) == instant


def test_a_datetime_without_a_zone_is_utc() -> None:
    naive = datetime(2020, 1, 1)
    assert Instant.of_datetime(naive) == Instant.of_datetime(naive.replace(tzinfo=timezone.utc))


@pytest.mark.parametrize("value", [Duration.of_nanos(5), Time.seconds(1), Instant(1, 2)])
def test_values_can_be_pickled_and_hashed(value: object) -> None:
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert hash(again) == hash(value)


def test_time_by_units_and_as_text() -> None:
    assert Time.of(10, TimeUnit.SECONDS) == Time.seconds(10)
    assert [unit.to_millis(2) for unit in (TimeUnit.MILLISECONDS, TimeUnit.DAYS)] == [2, 172800000]
    # The text is PyFlink's.
    assert (str(Time.seconds(5)), repr(Time.seconds(5))) == ("5000 ms", "Time.milliseconds(5000)")
