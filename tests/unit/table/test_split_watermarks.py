"""WATERMARK FOR of tables whose source makes watermarks by split."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from penstock.common.watermark import WatermarkOutput
from penstock.errors import ValidationError
from penstock.graph.relational.codegen.chunks import calc
from penstock.graph.relational.expressions import InputRef
from penstock.graph.relational.source_watermarks import RowWatermarks
from penstock.graph.relational.translate import make_translator
from penstock.graph.relational.types import TimestampType
from penstock.graph.specs import SourceSpec
from penstock.table import EnvironmentSettings, TableEnvironment

_EPOCH = datetime.datetime(1970, 1, 1)


class _Output(WatermarkOutput):
    def __init__(self) -> None:
        self.times: list[int] = []

    def emit_watermark(self, watermark: Any) -> None:
        self.times.append(watermark.timestamp)

    def mark_idle(self) -> None:
        raise AssertionError

    def mark_active(self) -> None:
        raise AssertionError


def _row(seconds: int | None) -> tuple[Any, ...]:
    return (None if seconds is None else _EPOCH + datetime.timedelta(seconds=seconds),)


@pytest.mark.parametrize(
    ("eager", "times"), [(False, [5000, 9000]), (True, [3000, 5000, 5000, 5000, 9000, 9000])]
)
def test_the_highest_time_so_far_is_the_watermark(eager: bool, times: list[int]) -> None:
    program = calc([InputRef(0, TimestampType(precision=3), "at")], None, 1)
    marks, output = RowWatermarks(program, eager), _Output()
    marks.on_periodic_emit(output)
    for seconds in (3, 5, 4, None):
        marks.on_event(_row(seconds), 0, output)
    if not eager:
        marks.on_periodic_emit(output)
    marks.on_event(_row(9), 0, output)
    marks.on_periodic_emit(output)
    assert output.times == times


def _strategy(options: str, setting: str = "0 ms") -> Any:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("table.exec.source.idle-timeout", setting)
    t_env.execute_sql(
        "CREATE TABLE t (v INT, at AS TO_TIMESTAMP_LTZ(v, 0), WATERMARK FOR at AS at) WITH "
        "('connector' = 'kafka', 'topic' = 'x', 'format' = 'csv', "
        f"'properties.bootstrap.servers' = 'localhost:1'{options})"
    )
    planner = t_env._planner
    translator = make_translator(planner.settings())
    planner.to_stream(t_env.sql_query("SELECT v FROM t")._node, translator)
    [spec] = [o.spec for o in translator.added if isinstance(o.spec, SourceSpec)]
    assert "WatermarkAssigner" not in [operator.name for operator in translator.added]
    return spec.strategy


def test_options_and_settings_reach_the_strategy() -> None:
    assert _strategy("").idle_timeout_ms is None
    assert _strategy("", "5 s").idle_timeout_ms == 5000
    assert _strategy(", 'scan.watermark.idle-timeout' = '1 min'", "5 s").idle_timeout_ms == 60_000
    aligned = _strategy(
        ", 'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min'"
    ).alignment
    assert (aligned.group, aligned.max_drift_ms, aligned.update_interval_ms) == ("g", 60_000, 1000)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ", 'scan.watermark.emit.strategy' = 'never'",
            "the option 'scan.watermark.emit.strategy' has no such value\n"
            "  where: table t\n  got:   never\n  to do: use on-periodic or on-event",
        ),
        (
            ", 'scan.watermark.alignment.group' = 'g'",
            "a group of aligned watermarks has a name and a largest drift\n"
            "  where: table t\n  got:   only 'scan.watermark.alignment.group'\n"
            "  to do: add the other: 'scan.watermark.alignment.group' or "
            "'scan.watermark.alignment.max-drift'",
        ),
    ],
)
def test_wrong_options_are_told(options: str, text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _strategy(options)
    assert str(caught.value) == text
