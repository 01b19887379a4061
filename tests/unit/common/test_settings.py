"""Execution settings, restart strategies, and schemas."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import (
    ByteArraySchema,
    Encoder,
    ExecutionConfig,
    RestartStrategies,
    Row,
    SimpleStringSchema,
    Time,
    Types,
)
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.common.serialization import RowFieldExtractorSchema
from penstock.errors import ConfigurationError, SerializationError


def test_defaults_are_flinks() -> None:
    config = ExecutionConfig()
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT == -1
    assert config.get_max_parallelism() == -1
    assert config.get_auto_watermark_interval() == 200
    assert config.is_closure_cleaner_enabled()
    assert config.has_auto_generated_uids_enabled()
    assert not config.is_object_reuse_enabled()
    assert not config.has_generic_types_disabled()
    assert config.get_global_job_parameters() == {}
    assert config.get_restart_strategy() is None


@pytest.mark.parametrize("name", ["closure_cleaner", "force_kryo", "force_avro", "object_reuse"])
def test_switches(name: str) -> None:
    config = ExecutionConfig()
    for verb in ("enable", "disable"):
        assert getattr(config, f"{verb}_{name}")() is config
        assert getattr(config, f"is_{name}_enabled")() is (verb == "enable")


def test_settings_are_kept() -> None:
    config = (
        ExecutionConfig()
        .set_parallelism(4)
        .set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN)
        .set_max_parallelism(64)
        .set_auto_watermark_interval(0)
        .set_latency_tracking_interval(5)
        .set_task_cancellation_interval(6)
        .set_task_cancellation_timeout(7)
        .set_use_snapshot_compression(True)
        .set_global_job_parameters({"a": 1})
        .disable_generic_types()
        .disable_auto_generated_uids()
    )
    assert (config.get_parallelism(), config.get_max_parallelism()) == (4, 64)
    assert config.get_auto_watermark_interval() == 0
    assert config.get_latency_tracking_interval() == 5
    assert config.get_task_cancellation_interval() == 6
    assert config.get_task_cancellation_timeout() == 7
    assert config.is_use_snapshot_compression()
    assert config.get_global_job_parameters() == {"a": "1"}
    assert config.has_generic_types_disabled()
    assert not config.has_auto_generated_uids_enabled()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: ExecutionConfig().set_parallelism(0),
            "parallelism must be at least 1\n  where: ExecutionConfig.set_parallelism\n"
            "  got:   0\n"
            "  to do: or ExecutionConfig.PARALLELISM_DEFAULT for what the configuration says",
        ),
        (
            lambda: ExecutionConfig().set_max_parallelism(40000),
            "maximum parallelism must be from 1 to 32768\n"
            "  where: ExecutionConfig.set_max_parallelism\n  got:   40000",
        ),
        (
            lambda: ExecutionConfig().set_auto_watermark_interval(-1),
            "the watermark interval must not be negative\n"
            "  where: ExecutionConfig.set_auto_watermark_interval\n  got:   -1",
        ),
        (
            lambda: RestartStrategies.fixed_delay_restart(-1, 0),
            "restart_attempts must not be negative\n  where: RestartStrategies\n  got:   -1",
        ),
    ],
)
def test_settings_that_cannot_work(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (RestartStrategies.no_restart(), "Restart deactivated."),
        (RestartStrategies.fall_back_restart(), "Cluster level default restart strategy"),
        (
            RestartStrategies.fixed_delay_restart(3, Time.seconds(10)),
            "Restart with fixed delay (10000 ms). #3 restart attempts.",
        ),
        (
            RestartStrategies.failure_rate_restart(3, Time.minutes(5), 10_000),
            "Failure rate restart with maximum of 3 failures within interval 300000 ms "
            "and fixed delay 10000 ms.",
        ),
        (
            RestartStrategies.exponential_delay_restart(1, 60_000, 2.0, 600_000, 0.1),
            "Restart with exponential delay: starting at 1 ms, increasing by 2.0, "
            "with maximum 60000 ms. Delay resets after 600000 ms with jitter 0.1",
        ),
    ],
)
def test_restart_strategies(strategy: RestartStrategyConfiguration, text: str) -> None:
    assert strategy.get_description() == text


def test_restart_strategies_are_values() -> None:
    assert RestartStrategies.fixed_delay_restart(3, 10) == RestartStrategies.fixed_delay_restart(
        3, Time.milliseconds(10)
    )
    assert RestartStrategies.no_restart() != RestartStrategies.fall_back_restart()


def test_schemas() -> None:
    latin = SimpleStringSchema("ISO-8859-1")
    assert latin.serialize("é") == b"\xe9"
    assert latin.deserialize(b"\xe9") == "é"
    assert latin.get_produced_type() == Types.STRING()
    assert not latin.is_end_of_stream("x")
    assert ByteArraySchema().deserialize(ByteArraySchema().serialize(b"\0")) == b"\0"
    assert RowFieldExtractorSchema(1).serialize(Row("a", b"b")) == b"b"
    assert RowFieldExtractorSchema(0).serialize(Row(None)) == b""


def test_a_field_without_bytes() -> None:
    with pytest.raises(SerializationError) as caught:
        RowFieldExtractorSchema(0).serialize(Row("text"))
    assert str(caught.value) == (
        "the field does not hold bytes\n  where: RowFieldExtractorSchema, field 0\n"
        "  got:   'text'\n  to do: turn the field into bytes in a map in front of the sink"
    )


def test_the_string_encoder_writes_lines() -> None:
    stream = io.BytesIO()
    encoder = Encoder.simple_string_encoder()
    for record in ("é", 5, Row(1, "a")):
        encoder.encode(record, stream)
    assert stream.getvalue().decode() == "é\n5\n<Row(1, 'a')>\n"
