from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Duration, Time, Types
from penstock.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import ConfigurationError

DESCRIPTORS: list[StateDescriptor] = [
    ValueStateDescriptor("n", Types.LONG()),
    ListStateDescriptor("n", Types.LONG()),
    MapStateDescriptor("n", Types.STRING(), Types.LONG()),
    ReducingStateDescriptor("n", operator.add, Types.LONG()),
]


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=repr)
def test_descriptors_are_equal_by_kind_and_name(descriptor: StateDescriptor) -> None:
    assert [other for other in DESCRIPTORS if other == descriptor] == [descriptor]
    again = pickle.loads(pickle.dumps(descriptor))
    assert again == descriptor
    assert (again.get_name(), again.type_info) == ("n", Types.LONG())


def test_time_to_live_is_kept() -> None:
    descriptor, config = ValueStateDescriptor("n"), StateTtlConfig.new_builder(Time.days(1)).build()
    assert descriptor.ttl_config is None
    descriptor.enable_time_to_live(config)
    assert pickle.loads(pickle.dumps(descriptor)).ttl_config == config


def test_defaults_of_time_to_live_are_flinks() -> None:
    config = StateTtlConfig.new_builder(Duration.of_seconds(5)).build()
    assert config.is_enabled()
    assert config.get_ttl().to_milliseconds() == 5000
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    strategies = config.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background()
    assert not strategies.in_full_snapshot()
    incremental = strategies.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert incremental.get_cleanup_size() == 5
    assert strategies.in_rocksdb_compact_filter()


def test_everything_about_time_to_live_can_be_set() -> None:
    config = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .disable_cleanup_in_background()
        .cleanup_full_snapshot()
        .cleanup_incrementally(7, True)
        .build()
    )
    strategies = config.get_cleanup_strategies()
    assert repr(config) == (
        "StateTtlConfig(ttl=1000 ms, update=OnReadAndWrite, visibility=ReturnExpiredIfNotCleanedUp)"
    )
    assert strategies.in_full_snapshot()
    assert not strategies.is_cleanup_in_background()
    incremental = strategies.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record) == (7, True)
    assert not strategies.in_rocksdb_compact_filter()


def test_disabled_time_to_live() -> None:
    assert not StateTtlConfig.disabled().is_enabled()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: ValueStateDescriptor(""),
            "a state needs a name\n  where: ValueStateDescriptor\n  got:   name=''\n"
            "  to do: give a non-empty string that no other state of the function has",
        ),
        (
            lambda: ReducingStateDescriptor("sum", 5),
            "state 'sum' needs a ReduceFunction or a callable of two values\n"
            "  where: ReducingStateDescriptor",
        ),
        (
            lambda: AggregatingStateDescriptor("mean", len),
            "state 'mean' needs an AggregateFunction\n  where: AggregatingStateDescriptor",
        ),
        (
            lambda: StateTtlConfig.new_builder(Time.seconds(0)).build(),
            "time to live must be above zero\n  where: StateTtlConfig\n"
            "  got:   Time.milliseconds(0)\n"
            "  to do: give a positive time, for instance Time.hours(1)",
        ),
    ],
)
def test_wrong_descriptors(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value) == text
