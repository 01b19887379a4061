"""The watermark trace: what an operator notes, how it is shown and drawn."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.connectors import trace_timeline
from penstock.connectors.trace_sink import show_time, table_head, table_lines
from penstock.connectors.trace_timeline import to_svg
from penstock.core.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.core.watermark_trace import FiredWindow, TraceRow
from penstock.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream import stream_execution_environment as module
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import ConfigurationError, GraphError
from penstock.testing.local_executor import LocalExecutor

SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> StreamExecutionEnvironment:
    monkeypatch.setattr(module, "find_executor", lambda name: LocalExecutor())
    configuration = Configuration()
    configuration.set_string("penstock.watermark.records", "1")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def letters(env: StreamExecutionEnvironment, bound: int = 0) -> DataStream:
    """Return records whose second field is their time; one of them is late."""
    records = [("a", 1), ("b", 12), ("a", 3), ("a", 25)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    return env.from_collection(records).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, _: record[1])
    )


def words_of(output: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in output.splitlines()]


def test_a_window_is_traced(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.enable_watermark_trace()
    keyed = letters(env).key_by(lambda record: record[0])
    keyed.window(TumblingEventTimeWindows(10)).reduce(lambda a, b: a).filter(
        lambda r: False
    ).print()
    env.execute()
    title, head, line, *rows = capsys.readouterr().out.splitlines()
    assert title == "watermark trace of TumblingEventTimeWindows"
    assert (head, line) == tuple(table_head().splitlines())
    assert words_of("\n".join(rows)) == [
        ["a", "1", "1", "0", "", "", ""],
        ["b", "12", "12", "11", "[0", "10)", ""],
        ["a", "3", "12", "11", "", "", "late"],
        ["a", "25", "25", "24", "[10", "20)", ""],
        ["", "-", "25", "end", "[20", "30)", ""],
    ]


class Timers(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 5)

    def on_timer(self, timestamp, ctx):
        yield timestamp


def test_operators_may_be_named(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.enable_watermark_trace("alarms, stamp")
    timed = letters(env).map(lambda record: record).name("stamp").uid("stamps")
    timed.key_by(lambda record: record[0]).process(Timers()).uid("alarms").print("timer")
    env.execute()
    output = capsys.readouterr().out
    assert "watermark trace of stamp\n" in output
    assert output.count("watermark trace of") == 2
    assert [line for line in output.splitlines() if line.startswith("timer")] == [
        "timer> 6", "timer> 8", "timer> 17", "timer> 30"
    ]  # fmt: skip
    assert sum(line.startswith("a ") for line in output.splitlines()) == 3


def test_functions_with_timers_are_traced_where_there_is_no_window(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.enable_watermark_trace()
    letters(env).key_by(lambda record: record[0]).process(Timers()).print()
    env.execute()
    assert capsys.readouterr().out.count("watermark trace of") == 1


def test_a_name_that_no_operator_has(env: StreamExecutionEnvironment) -> None:
    env.enable_watermark_trace("windows")
    letters(env).print()
    with pytest.raises(GraphError) as raised:
        env.execute()
    assert str(raised.value) == (
        "there is no operator of that name to trace\n"
        "  where: configuration key penstock.watermark.trace.operator\n"
        "  got:   'windows'\n"
        "  to do: use one of: Collection Source, Print to Std. Out, Timestamps/Watermarks"
    )


def test_nothing_is_traced_unless_asked_for(env: StreamExecutionEnvironment) -> None:
    keyed = letters(env).key_by(lambda record: record[0])
    keyed.window(TumblingEventTimeWindows(10)).reduce(lambda a, b: a).print()
    assert "trace" not in env.explain()


# --- how it is shown ------------------------------------------------------------------------


def test_times() -> None:
    assert show_time(None) == show_time(MIN_WATERMARK) == "-"
    assert show_time(MAX_WATERMARK) == "end"
    assert show_time(-5) == "-5"
    assert show_time(1790820682000, SHANGHAI) == "2026-10-01 10:11:22"
    assert show_time(1790820682007, SHANGHAI) == "2026-10-01 10:11:22.007"


def test_a_row_of_several_windows_and_subtasks() -> None:
    windows = (FiredWindow("a", 0, 10), FiredWindow("b", None, None))
    row = TraceRow(True, "a", 1790820682000, 1790820682000, 5, windows, True, 1)
    assert words_of("\n".join(table_lines(row, several=True, zone=SHANGHAI))) == [
        ["a", "1790820682000 2026-10-01 10:11:22", "2026-10-01 10:11:22", "5", "[0", "10)",
         "subtask 2 late"],
        ["", "", "", "", "(fired)", "", ""],
    ]  # fmt: skip


ROWS = [
    TraceRow(True, "<a>", 1000, 1000, MIN_WATERMARK),
    TraceRow(True, "b", 9000, 9000, 8000, (FiredWindow("<a>", 0, 5000),)),
    TraceRow(True, "<a>", 2000, 9000, 8000, late=True),
    TraceRow(False, maximum=9000, watermark=MAX_WATERMARK, fired=(FiredWindow("b", None, None),)),
]


def test_a_drawing_has_records_windows_and_the_watermark() -> None:
    drawing = ElementTree.fromstring(to_svg(ROWS, "windows & more"))
    found = {kind: drawing.findall(f"{{http://www.w3.org/2000/svg}}{kind}") for kind in
             ("circle", "rect", "polyline")}  # fmt: skip
    assert [circle.get("fill") for circle in found["circle"][:3]].count("white") == 1
    assert len(found["rect"]) == 1
    assert len(found["polyline"]) == 1
    assert len(found["circle"]) == 3 + 2  # and the legend's


def test_a_timeline_is_written_at_the_end(
    env: StreamExecutionEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timeline.html"
    env.enable_watermark_trace(timeline=str(path))
    keyed = letters(env).key_by(lambda record: record[0])
    keyed.window(TumblingEventTimeWindows(10)).reduce(lambda a, b: a).print()
    env.execute()
    assert path.read_text().startswith("<!doctype html>")
    assert path.read_text().count("<circle") == 4 + 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "timeline.pdf",
            "a timeline is written as HTML or PNG\n"
            "  where: enable_watermark_trace(timeline=...)\n"
            "  got:   'timeline.pdf'\n"
            "  to do: end the file's name with .html or .png",
        ),
        (
            "timeline.png",
            "a timeline as PNG needs matplotlib\n"
            "  where: enable_watermark_trace(timeline=...)\n"
            "  got:   'timeline.png'\n"
            "  to do: pip install penstock[plot], or end the file's name with .html",
        ),
    ],
)
def test_a_timeline_that_cannot_be_drawn(
    env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.setattr(trace_timeline, "find_spec", lambda package: None)
    with pytest.raises(ConfigurationError) as raised:
        env.enable_watermark_trace(timeline=name)
    assert str(raised.value) == message


def test_a_png_is_drawn_where_matplotlib_is(tmp_path: Path) -> None:
    path = tmp_path / "timeline.png"
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(ImportError):
            trace_timeline.write_timeline(ROWS, path, "windows")
    else:
        trace_timeline.write_timeline(ROWS, path, "windows")
        assert path.read_bytes().startswith(b"\x89PNG")
