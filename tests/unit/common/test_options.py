"""The settings that there are: read from text, checked with the place they come from."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from penstock.common import Configuration, Duration
from penstock.common.flink_options import UNALIGNED
from penstock.common.option_registry import OPTIONS, find_option
from penstock.common.option_values import to_text
from penstock.common.options import (
    BATCH_BYTES,
    CACHE_BYTES,
    CHAINING,
    CHECKPOINT_DIR,
    CHECKPOINT_INTERVAL,
    LOG_LEVEL,
    PARALLELISM,
    RESTART_TYPE,
)
from penstock.common.restart_keys import (
    read_restart_strategy,
    restart_settings,
    restart_strategy_of_job,
)
from penstock.common.restart_strategy import (
    ExponentialDelayRestartStrategyConfiguration,
    RestartStrategies,
)
from penstock.errors import ConfigurationError


def line() -> int:
    return inspect.currentframe().f_back.f_lineno  # type: ignore[union-attr]


def test_every_default_is_what_its_own_text_says() -> None:
    for described in OPTIONS.values():
        option = described.option
        if option.default_value:
            assert option.parse(to_text(option.default_value)) == option.default_value, option


def test_every_option_is_described() -> None:
    assert [key for key, each in OPTIONS.items() if not each.option.description] == []


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (CACHE_BYTES, "1gb", 1 << 30),
        (CACHE_BYTES, 512, 512),
        (BATCH_BYTES, "2 KiB", 2048),
        (PARALLELISM, "3", 3),
        (CHECKPOINT_INTERVAL, "5 s", Duration.of_seconds(5)),
        (CHECKPOINT_INTERVAL, "0 ms", None),
        (LOG_LEVEL, "INFO", "info"),
        (RESTART_TYPE, "fixeddelay", "fixed-delay"),
        (RESTART_TYPE, "OFF", "none"),
    ],
)
def test_values(option: Any, text: Any, value: Any) -> None:
    assert option.read({option.key: text}) == value


def test_an_absent_setting_has_its_default() -> None:
    assert CACHE_BYTES.read({}) == 1 << 30
    assert PARALLELISM.read({}) is None


@pytest.mark.parametrize(
    ("option", "older", "text", "value"),
    [
        (CHECKPOINT_DIR, "state.checkpoints.dir", "/tmp/x", "/tmp/x"),
        (CHAINING, "pipeline.operator-chaining", "false", False),
        (RESTART_TYPE, "restart-strategy", "none", "none"),
        (UNALIGNED, "execution.checkpointing.unaligned", "true", True),
    ],
)
def test_older_keys(option: Any, older: str, text: str, value: Any) -> None:
    assert option.read({older: text}) == value
    assert option.read({older: text, option.key: to_text(option.default_value or value)}) == (
        option.default_value or value
    )
    assert Configuration().set_string(older, text).get(option) == value
    assert find_option(older) is option


@pytest.mark.parametrize(
    ("key", "value", "todo"),
    [
        ("parallelism.default", "0", "write 1 or more"),
        ("parallelism.default", "many", "write a whole number"),
        (
            "penstock.worker.cache-bytes",
            "lots",
            "write a number and a unit (b, kb, mb, gb, tb), for instance '64 mb'",
        ),
        (
            "execution.checkpointing.interval",
            "soon",
            "write a number and a unit (d, h, min, s, ms, us, ns), for instance '10 s'",
        ),
        ("pipeline.operator-chaining", "maybe", "write true or false"),
        ("restart-strategy.fixed-delay.attempts", "-1", "write 0 or more"),
        ("execution.runtime-mode", "fast", "use one of: STREAMING, BATCH, AUTOMATIC"),
        (
            "penstock.spark.log-level",
            "loud",
            "use one of: off, fatal, error, warn, info, debug, trace, all",
        ),
    ],
)
def test_a_value_that_cannot_work(key: str, value: str, todo: str) -> None:
    configuration = Configuration()
    configuration.set_string(key, value)
    written = line() - 1
    with pytest.raises(ConfigurationError) as caught:
        configuration.check()
    assert str(caught.value) == (
        "the setting has a value that cannot work\n"
        f"  where: configuration key {key}, {__file__}:{written}\n"
        f"  got:   {value!r}\n"
        f"  to do: {todo}"
    )


def test_an_own_key_that_does_not_exist() -> None:
    configuration = Configuration().set_from("penstock.batch.max-record", "5", "conf, line 3")
    with pytest.raises(ConfigurationError) as caught:
        configuration.check()
    assert str(caught.value) == (
        "there is no such setting\n"
        "  where: configuration key penstock.batch.max-record, conf, line 3\n"
        "  to do: did you mean penstock.batch.max-records?"
    )


def test_an_own_key_that_is_like_none() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Configuration().set_string("penstock.xyzzy", "5").check()
    assert caught.value.todo is not None
    assert caught.value.todo.startswith("use one of: penstock.batch.max-bytes, ")


def test_a_foreign_key_is_warned_of_where_it_looks_like_a_known_one() -> None:
    configuration = Configuration().set_from("parallelism.defualt", "5", "conf, line 1")
    text = (
        "configuration key parallelism.defualt (conf, line 1) is not known, and has no effect; "
        "did you mean parallelism.default?"
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$"):
        configuration.check()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("key", ["taskmanager.memory.process.size", "spark.master", "my.own"])
def test_other_foreign_keys_are_left_alone(key: str) -> None:
    Configuration().set_string(key, "x").check()


def test_a_job_with_checkpoints_is_restarted_unless_it_says_otherwise() -> None:
    interval = {CHECKPOINT_INTERVAL.key: "1 s"}
    assert restart_strategy_of_job({}) == RestartStrategies.no_restart()
    assert isinstance(
        restart_strategy_of_job(interval), ExponentialDelayRestartStrategyConfiguration
    )
    off = {**interval, "restart-strategy": "disable"}
    assert restart_strategy_of_job(off) == RestartStrategies.no_restart()
    assert read_restart_strategy(interval) is None


def test_a_restart_strategy_is_the_same_from_its_settings() -> None:
    strategy = ExponentialDelayRestartStrategyConfiguration(100, 2000, 2.0, 60_000, 0.2, 7)
    assert read_restart_strategy(restart_settings(strategy)) == strategy
    # The settings of a strategy stand under its full name, whichever way its name is written.
    written = {
        "restart-strategy": "fixeddelay",
        "restart-strategy.fixed-delay.attempts": "4",
        "restart-strategy.fixed-delay.delay": "2 s",
    }
    assert read_restart_strategy(written) == RestartStrategies.fixed_delay_restart(4, 2000)
