"""Time to live: when a state entry expires, whether it may still be seen, how it is removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.common.time import Duration, Time
from penstock.errors import ConfigurationError, show_value


class _Strategy(Enum):
    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


class TtlCleanupStrategies:
    """The ways in which expired entries are removed, beside when they are read."""

    Strategies = _Strategy

    @dataclass(frozen=True)
    class EmptyCleanupStrategy:
        """Remove expired entries when a full snapshot is written."""

    @dataclass(frozen=True)
    class IncrementalCleanupStrategy:
        """Look at a few entries at every access and remove those that have expired."""

        cleanup_size: int = 5
        run_cleanup_for_every_record: bool = False

        def get_cleanup_size(self) -> int:
            """Return how many entries are looked at."""
            return self.cleanup_size

        def run_cleanup_for_every_record_enabled(self) -> bool:
            """Return whether every record causes a look, not only an access to the state."""
            return self.run_cleanup_for_every_record

    @dataclass(frozen=True)
    class RocksdbCompactFilterCleanupStrategy:
        """Remove expired entries while the store compacts."""

        query_time_after_num_entries: int = 1000
        periodic_compaction_time: Duration = field(default_factory=lambda: Duration.of_days(30))

        def get_query_time_after_num_entries(self) -> int:
            """Return after how many entries the clock is read again."""
            return self.query_time_after_num_entries

    def __init__(
        self, strategies: dict[_Strategy, Any] | None = None, is_cleanup_in_background: bool = True
    ) -> None:
        self._strategies = dict(strategies or {})
        self._is_cleanup_in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        """Return whether expired entries are removed while the job works."""
        return self._is_cleanup_in_background

    def in_full_snapshot(self) -> bool:
        """Return whether a full snapshot leaves expired entries out."""
        return _Strategy.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Return the incremental clean-up; the default one if cleaning in the background."""
        return self._get(_Strategy.INCREMENTAL_CLEANUP, self.IncrementalCleanupStrategy)

    def in_rocksdb_compact_filter(self) -> bool:
        """Return whether compaction removes expired entries."""
        return self.get_rocksdb_compact_filter_cleanup_strategy() is not None

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        """Return the clean-up by compaction; the default one if cleaning in the background."""
        return self._get(
            _Strategy.ROCKSDB_COMPACTION_FILTER, self.RocksdbCompactFilterCleanupStrategy
        )

    def _get(self, strategy: _Strategy, default: Any) -> Any:
        found = self._strategies.get(strategy)
        if found is None and self._is_cleanup_in_background:
            return default()
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TtlCleanupStrategies) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class StateTtlConfigBuilder:
    """Collect the settings of a `StateTtlConfig`.

    :param ttl: how long an entry lives; above zero.
    """

    def __init__(self, ttl: Time | Duration) -> None:
        self._ttl = ttl
        self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
        self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
        self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
        self._is_cleanup_in_background = True
        self._strategies: dict[_Strategy, Any] = {}

    def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfigBuilder:
        """Set which accesses renew the life of an entry."""
        self._update_type = update_type
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Renew the life of an entry when it is written. The default."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Renew the life of an entry when it is read or written."""
        return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

    def set_state_visibility(
        self, state_visibility: StateTtlConfig.StateVisibility
    ) -> StateTtlConfigBuilder:
        """Set whether an expired entry that is still stored may be returned."""
        self._state_visibility = state_visibility
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """Return an expired entry as long as it is stored."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """Return no expired entry. The default."""
        return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """Set the clock that lives are measured by."""
        self._ttl_time_characteristic = ttl_time_characteristic
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Measure lives by processing time. The default."""
        return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Leave expired entries out of full snapshots."""
        self._strategies[_Strategy.FULL_STATE_SCAN_SNAPSHOT] = (
            TtlCleanupStrategies.EmptyCleanupStrategy()
        )
        return self

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool = False
    ) -> StateTtlConfigBuilder:
        """Look at `cleanup_size` entries at every access, or at every record."""
        self._strategies[_Strategy.INCREMENTAL_CLEANUP] = (
            TtlCleanupStrategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
        )
        return self

    def cleanup_in_rocksdb_compact_filter(
        self,
        query_time_after_num_entries: int = 1000,
        periodic_compaction_time: Duration | None = None,
    ) -> StateTtlConfigBuilder:
        """Remove expired entries while the store compacts."""
        self._strategies[_Strategy.ROCKSDB_COMPACTION_FILTER] = (
            TtlCleanupStrategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time or Duration.of_days(30)
            )
        )
        return self

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Remove expired entries only in the ways that were asked for, and on access."""
        self._is_cleanup_in_background = False
        return self

    def build(self) -> StateTtlConfig:
        """Return the settings."""
        return StateTtlConfig(
            self._update_type,
            self._state_visibility,
            self._ttl_time_characteristic,
            self._ttl,
            TtlCleanupStrategies(self._strategies, self._is_cleanup_in_background),
        )


class StateTtlConfig:
    """Say how long state lives. Made by `StateTtlConfig.new_builder(ttl)...build()`.

    >>> config = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
    >>> config.get_update_type().name
    'OnReadAndWrite'
    """

    CleanupStrategies = TtlCleanupStrategies
    Builder = StateTtlConfigBuilder

    class UpdateType(Enum):
        """Which accesses renew the life of an entry."""

        #: The state never expires.
        Disabled = 0
        #: Creating and writing.
        OnCreateAndWrite = 1
        #: Creating, writing and reading.
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an entry that has expired but is still stored may be returned."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """Which clock lives are measured by. Flink has this one."""

        ProcessingTime = 0

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: TtlCleanupStrategies,
    ) -> None:
        if update_type is not self.UpdateType.Disabled and ttl.to_milliseconds() <= 0:
            raise ConfigurationError(
                "time to live must be above zero",
                where="StateTtlConfig",
                got=show_value(ttl),
                todo="give a positive time, for instance Time.hours(1)",
            )
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> StateTtlConfigBuilder:
        """Begin settings with the life of an entry."""
        return StateTtlConfigBuilder(ttl)

    @staticmethod
    def disabled() -> StateTtlConfig:
        """Return settings under which nothing expires."""
        return (
            StateTtlConfigBuilder(Time.milliseconds(0))
            .set_update_type(StateTtlConfig.UpdateType.Disabled)
            .build()
        )

    def get_update_type(self) -> UpdateType:
        """Return which accesses renew the life of an entry."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Return whether an expired entry that is still stored may be returned."""
        return self._state_visibility

    def get_ttl(self) -> Time | Duration:
        """Return how long an entry lives."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Return the clock that lives are measured by."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether state expires at all."""
        return self._update_type is not self.UpdateType.Disabled

    def get_cleanup_strategies(self) -> TtlCleanupStrategies:
        """Return how expired entries are removed."""
        return self._cleanup_strategies

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StateTtlConfig) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig(ttl={self._ttl.to_milliseconds()} ms, "
            f"update={self._update_type.name}, visibility={self._state_visibility.name})"
        )
