"""Settings of a program that it makes in code."""

from __future__ import annotations

from typing import Any

from penstock.common.restart_strategy import (
    RestartStrategyConfiguration,
)
from penstock.errors import ConfigurationError, show_value


class ExecutionConfig:
    """Settings of a program that it makes in code. Setters return the object itself.

    What has a meaning only inside a JVM (Kryo, Avro, closure cleaning) is kept and has no effect.

    >>> ExecutionConfig().set_parallelism(4).get_parallelism()
    4
    """

    #: Take the parallelism from the environment.
    PARALLELISM_DEFAULT = -1
    #: Leave the parallelism as it is.
    PARALLELISM_UNKNOWN = -2

    def __init__(self) -> None:
        self._parallelism = self.PARALLELISM_DEFAULT
        self._max_parallelism = -1
        self._auto_watermark_interval = 200
        self._latency_tracking_interval = 0
        self._task_cancellation_interval = 30_000
        self._task_cancellation_timeout = 180_000
        self._closure_cleaner = True
        self._object_reuse = False
        self._force_kryo = False
        self._force_avro = False
        self._generic_types = True
        self._auto_generated_uids = True
        self._snapshot_compression = False
        self._global_job_parameters: dict[str, str] = {}
        self._restart_strategy: RestartStrategyConfiguration | None = None

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set in how many subtasks operators run that say nothing themselves.

        :raises ConfigurationError: if it is below 1 and not one of the two constants.
        """
        if parallelism < 1 and parallelism not in (
            self.PARALLELISM_DEFAULT,
            self.PARALLELISM_UNKNOWN,
        ):
            raise ConfigurationError(
                "parallelism must be at least 1",
                where="ExecutionConfig.set_parallelism",
                got=show_value(parallelism),
                todo="or ExecutionConfig.PARALLELISM_DEFAULT for what the configuration says",
            )
        if parallelism != self.PARALLELISM_UNKNOWN:
            self._parallelism = parallelism
        return self

    def get_parallelism(self) -> int:
        """Return the parallelism, or `PARALLELISM_DEFAULT`."""
        return self._parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups: up to which parallelism state can be spread.

        :raises ConfigurationError: if it is not from 1 to 32768.
        """
        if not 1 <= max_parallelism <= 1 << 15:
            raise ConfigurationError(
                "maximum parallelism must be from 1 to 32768",
                where="ExecutionConfig.set_max_parallelism",
                got=show_value(max_parallelism),
            )
        self._max_parallelism = max_parallelism
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, or -1 if it follows from the parallelism."""
        return self._max_parallelism

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how often watermarks are sent, in milliseconds.

        Penstock asks generators after a number of records and at a batch's end; zero switches
        periodic watermarks off, as in Flink, and any other value leaves them on.
        """
        if interval < 0:
            raise ConfigurationError(
                "the watermark interval must not be negative",
                where="ExecutionConfig.set_auto_watermark_interval",
                got=show_value(interval),
            )
        self._auto_watermark_interval = interval
        return self

    def get_auto_watermark_interval(self) -> int:
        """Return how often watermarks are sent, in milliseconds."""
        return self._auto_watermark_interval

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Set how often latency is measured, in milliseconds; zero or less switches it off."""
        self._latency_tracking_interval = interval
        return self

    def get_latency_tracking_interval(self) -> int:
        """Return how often latency is measured, in milliseconds."""
        return self._latency_tracking_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set how long to wait between two attempts to cancel a task, in milliseconds."""
        self._task_cancellation_interval = interval
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return how long to wait between two attempts to cancel a task, in milliseconds."""
        return self._task_cancellation_interval

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set after how long a task that does not end is given up, in milliseconds."""
        if timeout < 0:
            raise ConfigurationError(
                "the timeout of a cancellation must not be negative",
                where="ExecutionConfig.set_task_cancellation_timeout",
                got=show_value(timeout),
            )
        self._task_cancellation_timeout = timeout
        return self

    def get_task_cancellation_timeout(self) -> int:
        """Return after how long a task that does not end is given up, in milliseconds."""
        return self._task_cancellation_timeout

    def set_global_job_parameters(
        self, global_job_parameters_dict: dict[str, Any]
    ) -> ExecutionConfig:
        """Set parameters that functions read by `get_runtime_context().get_job_parameter`."""
        self._global_job_parameters = {
            str(key): str(value) for key, value in dict(global_job_parameters_dict).items()
        }
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters for functions."""
        return dict(self._global_job_parameters)

    def set_restart_strategy(
        self, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> ExecutionConfig:
        """Set what happens after a failure."""
        self._restart_strategy = restart_strategy_configuration
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration | None:
        """Return what happens after a failure, or None if the program does not say."""
        return self._restart_strategy

    def enable_object_reuse(self) -> ExecutionConfig:
        """Allow that functions are given objects that other functions also hold."""
        self._object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Forbid that functions are given objects that other functions also hold."""
        self._object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Return whether functions may be given objects that other functions also hold."""
        return self._object_reuse

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Let operators without a uid get one from their place in the program."""
        self._auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Demand that every operator has a uid of its own."""
        self._auto_generated_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether operators without a uid get one."""
        return self._auto_generated_uids

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Set whether snapshots are compressed."""
        self._snapshot_compression = use_snapshot_compression
        return self

    def is_use_snapshot_compression(self) -> bool:
        """Return whether snapshots are compressed."""
        return self._snapshot_compression

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Keep the setting; it has no effect."""
        self._closure_cleaner = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Keep the setting; it has no effect."""
        self._closure_cleaner = False
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Return the setting."""
        return self._closure_cleaner

    def enable_force_kryo(self) -> ExecutionConfig:
        """Keep the setting; it has no effect."""
        self._force_kryo = True
        return self

    def disable_force_kryo(self) -> ExecutionConfig:
        """Keep the setting; it has no effect."""
        self._force_kryo = False
        return self

    def is_force_kryo_enabled(self) -> bool:
        """Return the setting."""
        return self._force_kryo

    def enable_force_avro(self) -> ExecutionConfig:
        """Keep the setting; it has no effect."""
        self._force_avro = True
        return self

    def disable_force_avro(self) -> ExecutionConfig:
        """Keep the setting; it has no effect."""
        self._force_avro = False
        return self

    def is_force_avro_enabled(self) -> bool:
        """Return the setting."""
        return self._force_avro

    def enable_generic_types(self) -> ExecutionConfig:
        """Keep the setting; it has no effect: all types are pickled unless declared."""
        self._generic_types = True
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        """Keep the setting; it has no effect: all types are pickled unless declared."""
        self._generic_types = False
        return self

    def has_generic_types_disabled(self) -> bool:
        """Return the setting."""
        return not self._generic_types

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return an empty dict: there is no Kryo."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Return an empty list: there is no Kryo."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return an empty list: objects of any class are pickled."""
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._parallelism, self._max_parallelism, self._auto_watermark_interval))
