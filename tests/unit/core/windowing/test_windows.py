from __future__ import annotations

import io
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.windowing import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)


def merged(*pairs: tuple[int, int]) -> list[tuple[list[tuple[int, int]], tuple[int, int]]]:
    found = []

    def note(members: list[TimeWindow], result: TimeWindow) -> None:
        found.append(([(each.start, each.end) for each in members], (result.start, result.end)))

    TimeWindow.merge_windows([TimeWindow(*pair) for pair in pairs], note)
    return found


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], []),
        ([(0, 1)], []),
        ([(0, 1), (2, 3)], []),
        ([(0, 2), (2, 3)], [([(0, 2), (2, 3)], (0, 3))]),
        ([(5, 9), (0, 6)], [([(0, 6), (5, 9)], (0, 9))]),
        ([(0, 10), (2, 3), (9, 12)], [([(0, 10), (2, 3), (9, 12)], (0, 12))]),
        (
            [(0, 1), (10, 12), (1, 2), (11, 13), (20, 21)],
            [([(0, 1), (1, 2)], (0, 2)), ([(10, 12), (11, 13)], (10, 13))],
        ),
    ],
)
def test_windows_that_overlap_or_touch_merge(pairs: Any, expected: Any) -> None:
    assert merged(*pairs) == expected


@given(st.integers(-(10**15), 10**15), st.integers(-1000, 1000), st.integers(1, 1000))
def test_a_timestamp_lies_in_its_aligned_window(timestamp: int, offset: int, size: int) -> None:
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


def test_a_time_window() -> None:
    window = TimeWindow(10, 20)
    assert (window.get_start(), window.get_end(), window.max_timestamp()) == (10, 20, 19)
    assert window.cover(TimeWindow(15, 30)) == TimeWindow(10, 30)
    assert window.intersects(TimeWindow(20, 21))
    assert not window.intersects(TimeWindow(21, 22))
    assert repr(window) == "TimeWindow(start=10, end=20)"
    assert sorted([TimeWindow(1, 3), TimeWindow(0, 9), TimeWindow(1, 2)])[0] == TimeWindow(0, 9)


@pytest.mark.parametrize(
    ("window", "serializer"),
    [
        (TimeWindow(-5, 1 << 60), TimeWindowSerializer()),
        (CountWindow(7), CountWindowSerializer()),
        (GlobalWindow.get(), GlobalWindowSerializer()),
    ],
)
def test_windows_are_values(window: Window, serializer: Any) -> None:
    again = pickle.loads(pickle.dumps(window))
    assert again == window
    assert hash(again) == hash(window)
    stream = io.BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    stream.seek(0)
    assert serializer.deserialize(stream) == window
    assert serializer.deserialize(stream) == window
    assert stream.read() == b""


def test_windows_without_time_end_never() -> None:
    assert CountWindow(1).max_timestamp() == GlobalWindow.get().max_timestamp() == (1 << 63) - 1
    assert CountWindow(1) != CountWindow(2)
    assert CountWindow(1) != TimeWindow(1, 2)
