"""Watermarks of several channels become one, by the rules of Flink's StatusWatermarkValve."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.gate import Gate

A, B, C = (1, 0), (1, 1), (2, 0)


class Recorder:
    """An operator that writes down what its gate says."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def advance_watermark(self, watermark: int) -> None:
        self.heard.append(watermark)

    def change_idle(self, idle: bool) -> None:
        self.heard.append("idle" if idle else "active")

    def finish_input(self) -> None:
        self.heard.append("end")

    def take(self) -> list[Any]:
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def operator() -> Recorder:
    return Recorder()


@pytest.fixture
def gate(operator: Recorder) -> Gate:
    return Gate(operator, [A, B])


def test_the_slowest_channel_counts_and_a_silent_one_is_infinitely_slow(
    gate: Gate, operator: Recorder
) -> None:
    gate.advance(A, 10)
    assert operator.take() == []
    assert gate.watermark == MIN_WATERMARK
    gate.advance(B, 7)
    gate.advance(B, 8)
    gate.advance(A, 20)
    gate.advance(B, 15)
    assert operator.take() == [7, 8, 15]


def test_a_watermark_never_falls(gate: Gate, operator: Recorder) -> None:
    gate.advance(A, 10)
    gate.advance(B, 10)
    gate.advance(A, 5)
    gate.advance(B, 10)
    assert operator.take() == [10]


def test_an_idle_channel_holds_nobody_back(gate: Gate, operator: Recorder) -> None:
    gate.advance(A, 10)
    gate.set_idle(B, True)
    gate.set_idle(B, True)
    gate.advance(A, 11)
    assert operator.take() == [10, 11]
    assert gate.idle_channel(B)
    assert not gate.idle_channel(A)


def test_what_an_idle_channel_says_does_not_count(gate: Gate, operator: Recorder) -> None:
    gate.advance(A, 10)
    gate.set_idle(B, True)
    gate.advance(B, 12)
    gate.advance(A, 20)
    assert operator.take() == [10, 20]


def test_a_channel_that_comes_back_counts_once_it_has_caught_up(
    gate: Gate, operator: Recorder
) -> None:
    gate.advance(A, 10)
    gate.set_idle(B, True)
    gate.set_idle(B, False)
    gate.advance(B, 5)
    gate.advance(A, 12)
    assert operator.take() == [10, 12]
    gate.advance(B, 12)
    gate.advance(A, 20)
    assert operator.take() == []
    gate.advance(B, 13)
    assert operator.take() == [13]


def test_a_channel_that_is_ahead_when_it_comes_back_counts_at_once(
    gate: Gate, operator: Recorder
) -> None:
    gate.advance(A, 10)
    gate.advance(B, 20)
    gate.set_idle(B, True)
    gate.set_idle(B, False)
    gate.advance(A, 30)
    assert operator.take() == [10, 20]


def test_when_all_are_idle_the_furthest_counts(gate: Gate, operator: Recorder) -> None:
    gate.advance(A, 10)
    gate.advance(B, 20)
    gate.set_idle(B, True)
    gate.set_idle(A, True)
    assert operator.take() == [10, 20, "idle"]
    gate.set_idle(A, False)
    assert operator.take() == ["active"]
    gate.advance(A, 15)
    assert operator.take() == []
    gate.advance(A, 25)
    assert operator.take() == [25]


def test_a_channel_that_has_not_caught_up_is_waited_for_when_the_others_go_idle(
    operator: Recorder,
) -> None:
    gate = Gate(operator, [A, B, C])
    gate.advance(C, 5)
    gate.set_idle(C, True)
    gate.advance(A, 100)
    gate.advance(B, 10)
    gate.set_idle(A, True)
    gate.set_idle(C, False)
    gate.set_idle(B, True)
    # C is there, if behind: jumping to A's 100 would make all that C has to say late.
    assert operator.take() == [10]


@pytest.mark.parametrize(("channel", "mark", "heard"), [(B, 0, 2), (C, 3, 3)])
def test_one_that_comes_back_ahead_of_all_counts_with_the_next_watermark(
    operator: Recorder, channel: Any, mark: int, heard: int
) -> None:
    gate = Gate(operator, [A, B, C])
    gate.advance(A, 1)
    gate.advance(C, 2)
    gate.set_idle(B, True)
    gate.set_idle(C, True)
    gate.set_idle(B, False)  # behind: nobody waits for it
    gate.set_idle(A, True)
    gate.set_idle(C, False)
    assert operator.take() == [1]
    gate.advance(channel, mark)
    assert operator.take() == [heard]


def test_one_that_has_ended_holds_nobody_back(gate: Gate, operator: Recorder) -> None:
    gate.advance(A, 10)
    gate.end(B)
    gate.end(B)
    gate.advance(A, 11)
    assert operator.take() == [10, 11]
    gate.end(A)
    assert operator.take() == [MAX_WATERMARK, "end"]
    assert gate.finished


def test_the_last_watermark_may_come_before_the_end(gate: Gate, operator: Recorder) -> None:
    for channel in (A, B):
        gate.advance(channel, MAX_WATERMARK)
        gate.end(channel)
    assert operator.take() == [MAX_WATERMARK, "end"]


def test_an_idle_stream_that_ends_comes_back_for_its_end(gate: Gate, operator: Recorder) -> None:
    gate.set_idle(A, True)
    gate.set_idle(B, True)
    gate.end(A)
    gate.set_idle(A, True)
    gate.end(B)
    assert operator.take() == ["idle", "active", MAX_WATERMARK, "end"]


channels = st.sampled_from([A, B, C])
events = st.lists(
    st.tuples(st.just("mark"), channels, st.integers(0, 30))
    | st.tuples(st.just("idle"), channels, st.booleans()),
    max_size=40,
)


class Valve:
    """Flink's rules, told in the plainest way."""

    def __init__(self, channels: list[Any]) -> None:
        self.marks = dict.fromkeys(channels, MIN_WATERMARK)
        self.active, self.aligned = set(channels), set(channels)
        self.output, self.heard = MIN_WATERMARK, []
        self.idle = False

    def rise(self, watermark: int) -> None:
        if watermark > self.output:
            self.output = watermark
            self.heard.append(watermark)

    def rise_to_slowest(self) -> None:
        if self.aligned:
            self.rise(min(self.marks[channel] for channel in self.aligned))

    def mark(self, channel: Any, watermark: int) -> None:
        if self.idle or channel not in self.active or watermark <= self.marks[channel]:
            return
        self.marks[channel] = watermark
        if watermark >= self.output:
            self.aligned.add(channel)
        self.rise_to_slowest()

    def set_idle(self, channel: Any, idle: bool) -> None:
        if idle and channel in self.active:
            self.active.remove(channel)
            self.aligned.discard(channel)
            slowest = self.marks[channel] == self.output
            if not self.active:
                if slowest:
                    self.rise(max(self.marks.values()))
                self.idle = True
                self.heard.append("idle")
            elif slowest:
                self.rise_to_slowest()
        elif not idle and channel not in self.active:
            self.active.add(channel)
            if self.marks[channel] >= self.output:
                self.aligned.add(channel)
            if self.idle:
                self.idle = False
                self.heard.append("active")


@given(st.sampled_from([[A], [A, B], [A, B, C]]), events, st.integers(0, 40))
def test_the_gate_says_what_flinks_valve_says(
    channels: list[Any], events: list[Any], cut: int
) -> None:
    operator, valve = Recorder(), Valve(channels)
    gate = Gate(operator, channels)
    for number, (kind, channel, what) in enumerate(e for e in events if e[1] in channels):
        if number == cut:  # the next batch, in another worker
            snapshot = pickle.loads(pickle.dumps(gate.snapshot()))
            gate = Gate(operator, channels)
            gate.restore(snapshot)
        if kind == "mark":
            gate.advance(channel, what)
            valve.mark(channel, what)
        else:
            gate.set_idle(channel, what)
            valve.set_idle(channel, what)
        assert operator.heard == valve.heard
        assert gate.watermark == valve.output
