"""Envelopes find their way, and what was packed comes out again."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.io import Committable
from penstock.errors import RecordTooLargeError
from penstock.graph.plan import ExecutionPlan, PlanOperator
from penstock.graph.specs import MapSpec
from penstock.runtime import envelope
from penstock.runtime.codec import freeze
from penstock.runtime.context import LOCAL_FOLDER_SETTING
from penstock.runtime.envelope import (
    ACCUMULATORS,
    COMMITTABLE,
    DATA,
    LEVEL0_STATE,
    SINK_LEVEL,
    TIMER,
    Chunk,
    Header,
    Outbox,
    body_of,
    header_of,
    pack_chunk,
    seal,
    unpack_chunk,
)
from penstock.runtime.parking import clear_parked, park_heavy
from penstock.runtime.report import SOURCE_ADDRESSES, BatchReport
from tests.unit.process.jobs import run

HEADER = Header(DATA, 2, 65535, 40000, 50000, 2**32 - 1, -(2**60))


def test_a_header_is_read_back_without_opening_the_body() -> None:
    payload = seal(HEADER, b"body")
    assert header_of(payload) == HEADER
    assert body_of(payload) == b"body"


values = st.lists(st.integers() | st.text() | st.lists(st.integers()) | st.none(), max_size=6)


@given(values, st.data())
def test_a_chunk_comes_out_as_it_was_packed(values: list[Any], data: st.DataObject) -> None:
    size = len(values)
    times = data.draw(st.none() | st.lists(st.none() | st.integers(), min_size=size, max_size=size))
    keys = data.draw(
        st.none() | st.lists(st.text() | st.lists(st.text()), min_size=size, max_size=size)
    )
    marks = data.draw(st.lists(st.tuples(st.integers(0, size), st.integers()), max_size=3))
    idle, ended = data.draw(st.none() | st.booleans()), data.draw(st.booleans())
    frozen_keys = None if keys is None else [freeze(key) for key in keys]
    packed = pack_chunk(Chunk([freeze(v) for v in values], times, frozen_keys, marks, idle, ended))
    chunk = unpack_chunk(seal(HEADER, packed))
    assert (chunk.values, chunk.keys, chunk.marks) == (values, keys, marks)
    assert (chunk.idle, chunk.ended) == (idle, ended)
    if chunk.timestamps is None:
        assert times is None or set(times) <= {None}
    else:
        assert chunk.timestamps == times


@given(st.data())
def test_a_heavy_chunk_travels_in_parts(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.text("x", max_size=200), min_size=1, max_size=30))
    size = len(values)
    places = sorted(data.draw(st.sets(st.integers(0, size), max_size=6)))
    marks = [(place, 100 * number) for number, place in enumerate(places)]
    whole = Chunk(list(values), list(range(size)), [f"k{v}" for v in values], marks, True, True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(envelope, "ENVELOPE_BYTES", data.draw(st.integers(150, 2000)))
        outbox = Outbox(level=0, slot=0)
        outbox.begin(0)
        outbox.send_chunk(edge=0, level=1, slot=0, channel=0, chunk=whole)
        payloads = [payload for _, payload in outbox.rows]
        parts = [unpack_chunk(payload) for payload in payloads]
        for payload, part in zip(payloads, parts, strict=True):
            assert len(body_of(payload)) <= envelope.ENVELOPE_BYTES or len(part.values) == 1
    assert [header_of(payload).seq for payload in payloads] == list(range(len(parts)))
    assert [part.idle for part in parts] == [None] * (len(parts) - 1) + [True]
    assert [part.ended for part in parts] == [False] * (len(parts) - 1) + [True]
    assert events(*parts) == events(whole)


def events(*chunks: Chunk) -> list[Any]:
    """Return records and watermarks of chunks in the order in which they come."""
    found: list[Any] = []
    for chunk in chunks:
        assert chunk.timestamps is not None
        assert chunk.keys is not None
        marks = dict(chunk.marks)
        for place in range(len(chunk.values) + 1):
            found += [marks[place]] if place in marks else []
            if place < len(chunk.values):
                found.append((chunk.keys[place], chunk.timestamps[place], chunk.values[place]))
    return found


def test_a_record_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "ENVELOPE_BYTES", 100_000)
    monkeypatch.setattr(envelope, "RECORD_BYTES", 2 << 20)
    with pytest.raises(RecordTooLargeError) as caught:
        run(
            lambda env: (
                env.from_collection([1, 3])
                .map(lambda n: "x" * (n * 1_000_000))
                .key_by(len)
                .map(len)
            )
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "a record of 3 MB is too large to be sent to another task"
    assert lines[1].startswith("  where: between operator 'Map', built at ")
    assert " and operator 'Map', built at " in lines[1]
    assert lines[2] == f"  got:   a str: 'x{'x' * 95}..."
    assert lines[3] == (
        "  to do: send where the data is (a path, a key) instead of the data, or cut it into "
        "records of less than 2 MB"
    )


def test_heavy_envelopes_wait_in_files(tmp_path: Path) -> None:
    chunks = [pack_chunk(Chunk(["x" * size])) for size in (10, 2_000_000, 100_000)]
    rows = [(slot, seal(HEADER, body)) for slot, body in enumerate(chunks)]
    settings = {LOCAL_FOLDER_SETTING: str(tmp_path)}
    assert park_heavy(rows[:1], settings) == rows[:1]
    sent = park_heavy(rows, settings)
    assert [slot for slot, _ in sent] == [0, 1, 2]
    assert [len(payload) < 1000 for _, payload in sent] == [True, True, False]
    assert [header_of(payload)._replace(parked=False) for _, payload in sent] == [HEADER] * 3
    assert [unpack_chunk(payload).values for _, payload in sent] == [
        unpack_chunk(payload).values for _, payload in rows
    ]
    # What is light alone is not if there is much of it.
    many = park_heavy(rows[2:] * 100, settings)
    assert all(header_of(payload).parked for _, payload in many)
    assert len(list((tmp_path / "parked").iterdir())) == 101
    clear_parked(str(tmp_path))
    assert list((tmp_path / "parked").iterdir()) == []
    clear_parked(str(tmp_path / "nowhere"))


def test_heavy_envelopes_go_through_the_engine_where_no_folder_is_shared(tmp_path: Path) -> None:
    rows = [(0, seal(HEADER, b"x" * 3_000_000))]
    for settings in ({}, {LOCAL_FOLDER_SETTING: str(tmp_path / "on another machine")}):
        assert park_heavy(rows, settings) == rows


def test_a_chunk_of_a_local_class_can_be_packed() -> None:
    class Local:
        pass

    chunk = unpack_chunk(seal(HEADER, pack_chunk(Chunk([freeze(Local()), 1]))))
    assert isinstance(chunk.values[0], Local)


def test_an_envelope_goes_to_its_slot_with_its_last_hop_only() -> None:
    outbox = Outbox(level=1, slot=7)
    outbox.begin(time=5)
    outbox.send_chunk(edge=3, level=2, slot=1, channel=7, chunk=Chunk([]))
    outbox.send_chunk(edge=3, level=4, slot=2, channel=7, chunk=Chunk([]))
    outbox.send_to_sink(TIMER, 1, 7, b"")
    assert [hop for hop, _ in outbox.rows] == [1, 7, 7]
    headers = [header_of(payload) for _, payload in outbox.rows]
    assert [header.level for header in headers] == [2, 4, SINK_LEVEL]
    assert {header.time for header in headers} == {5}
    on_the_way = Outbox(level=3, slot=7)
    on_the_way.begin(time=5)
    on_the_way.pass_on(outbox.rows[1][1])
    assert on_the_way.rows == [(2, outbox.rows[1][1])]


def test_envelopes_of_an_edge_to_a_slot_are_counted_within_a_batch() -> None:
    outbox = Outbox(level=0, slot=0)
    for _ in range(2):
        outbox.begin(time=1)
        for edge, slot in [(1, 0), (1, 1), (1, 0), (2, 0)]:
            outbox.send_chunk(edge, 1, slot, 0, Chunk([]))
        assert [header_of(payload).seq for _, payload in outbox.rows] == [0, 0, 1, 0]


def _operator(number: int, uid: str) -> PlanOperator:
    return PlanOperator(number, uid, uid, MapSpec(str), 2, 128, 0, None, (), ())


_PLAN = ExecutionPlan("job", (_operator(3, "three"), _operator(9, "nine")), slots=2, levels=1)


def test_a_report_holds_what_the_whole_batch_tells() -> None:
    from_second, from_first = Outbox(1, 1), Outbox(1, 0)
    for outbox in (from_second, from_first):
        outbox.begin(0)
    from_second.send_to_sink(COMMITTABLE, 9, 1, pickle.dumps([b"c", b"d"]))
    from_first.send_to_sink(COMMITTABLE, 9, 0, pickle.dumps([b"a", b"b"]))
    from_first.send_to_sink(LEVEL0_STATE, 3, 0, b"state")
    from_first.send_to_sink(TIMER, 1, 0, pickle.dumps(500))
    from_second.send_to_sink(TIMER, 1, 1, pickle.dumps(None))
    from_second.send_to_sink(TIMER, SOURCE_ADDRESSES + 3, 1, pickle.dumps(7))
    from_second.send_to_sink(ACCUMULATORS, 9, 1, pickle.dumps({"n": 3}))
    rows = from_second.rows + from_first.rows
    report = BatchReport.collect((payload for _, payload in rows), _PLAN)
    assert report.committables == {
        "nine": [
            Committable(0, b"a"),
            Committable(0, b"b"),
            Committable(1, b"c"),
            Committable(1, b"d"),
        ]
    }
    assert report.level0 == {("three", 0): b"state"}
    assert report.timers == {("level 1", 0): 500, ("level 1", 1): None, ("three", 1): 7}
    assert report.accumulators == {("nine", 1): {"n": 3}}


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_records_without_timestamps_cost_nothing_for_them(count: int) -> None:
    plain = len(pack_chunk(Chunk([1] * count)))
    assert len(pack_chunk(Chunk([1] * count, [None] * count))) - plain <= 8
