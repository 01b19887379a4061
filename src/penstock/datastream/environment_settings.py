"""Settings of an environment: what holds for all operators of its jobs."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, TypeVar

from penstock.common import Configuration, Duration, ExecutionConfig, RestartStrategyConfiguration
from penstock.common.config_options import ConfigOption
from penstock.common.flink_options import BUFFER_TIMEOUT, CACHED_FILES, CHANGELOG
from penstock.common.options import (
    CHAIN_DIFFERENT,
    CHAINING,
    MASTER,
    MAX_PARALLELISM,
    PARALLELISM,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    RUNTIME_MODE,
    SAVEPOINT_DIR,
    TIME_CHARACTERISTIC,
    TRACE_OPERATOR,
    TRACE_TIMELINE,
    WATERMARK_TRACE,
)
from penstock.common.state_options import STATE_BACKEND
from penstock.connectors.trace_timeline import check_timeline
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.execution_config_keys import apply_configuration, export
from penstock.datastream.execution_mode import RuntimeExecutionMode
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    StateBackend,
)
from penstock.datastream.time_characteristic import TimeCharacteristic
from penstock.errors import ConfigurationError
from penstock.execution.configuration import lay_over, local_cores

T = TypeVar("T")
Environment = TypeVar("Environment", bound="EnvironmentSettings")


class EnvironmentSettings:
    """Base of the environment: reads and writes one Configuration."""

    _default_local_parallelism: ClassVar[int | None] = None

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._execution_config = ExecutionConfig()
        apply_configuration(self._execution_config, configuration)
        self._checkpoint_config = CheckpointConfig(configuration)
        self._state_backend: StateBackend | None = None
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}

    def get_config(self) -> ExecutionConfig:
        """Return the settings that concern the execution of functions."""
        return self._execution_config

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the settings of checkpoints."""
        return self._checkpoint_config

    def get_configuration(self) -> Configuration:
        """Return all settings by key."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Lay settings over those that the environment has."""
        lay_over(self._configuration, configuration)
        apply_configuration(self._execution_config, configuration)
        if configuration.contains_key(PARALLELISM.key):
            self._execution_config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)

    def all_settings(self) -> dict[str, str]:
        """Return everything that was set, in code and outside, as text by configuration key."""
        settings: dict[str, str] = self._configuration.to_dict()
        settings.update(export(self._execution_config))
        settings[PARALLELISM.key] = str(self.get_parallelism())
        if self.get_max_parallelism() > 0:
            settings[MAX_PARALLELISM.key] = str(self.get_max_parallelism())
        return settings

    # ---- parallelism --------------------------------------------------------------------------

    def set_parallelism(self: Environment, parallelism: int) -> Environment:
        """Set the number of subtasks of all operators that have none of their own."""
        self._require_positive("set_parallelism()", parallelism)
        self._execution_config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the number of subtasks of an operator that has none of its own.

        It is what was set here, else by the client (`-p`), else by `penstock-conf.yaml`, else the
        number of cores (1 if the master is not local).
        """
        wanted = self._wanted_parallelism()
        if wanted is not None:
            return wanted
        if not (self._configuration.get(MASTER) or "local").startswith("local"):
            return 1
        return self.get_default_local_parallelism()

    def is_parallelism_set(self) -> bool:
        """Tell whether anybody has named a parallelism: program, client or configuration."""
        return self._wanted_parallelism() is not None

    def _wanted_parallelism(self) -> int | None:
        own = self._execution_config.get_parallelism()
        return own if own > 0 else self._configuration.get(PARALLELISM)

    def set_max_parallelism(self: Environment, max_parallelism: int) -> Environment:
        """Set the number of key groups of all operators that have none of their own."""
        self._execution_config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, -1 if it was not set."""
        own = self._execution_config.get_max_parallelism()
        if own > 0:
            return own
        return self._configuration.get(MAX_PARALLELISM) or -1

    @classmethod
    def set_default_local_parallelism(cls, parallelism: int) -> None:
        """Set the parallelism of local environments that name none."""
        EnvironmentSettings._default_local_parallelism = parallelism

    @classmethod
    def get_default_local_parallelism(cls) -> int:
        """Return the parallelism of local environments that name none: the number of cores."""
        return EnvironmentSettings._default_local_parallelism or local_cores()

    # ---- modes --------------------------------------------------------------------------------

    def set_runtime_mode(self: Environment, execution_mode: RuntimeExecutionMode) -> Environment:
        """Choose streaming, batch, or whichever fits the sources."""
        self._configuration.set(RUNTIME_MODE, execution_mode.name)
        return self

    def set_stream_time_characteristic(
        self: Environment, characteristic: TimeCharacteristic
    ) -> Environment:
        """Set the time that `time_window` follows; without it, processing time."""
        self._configuration.set(TIME_CHARACTERISTIC, characteristic.name)
        return self

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return the time that was set; event time if none was, as in PyFlink."""
        return self.named_time_characteristic() or TimeCharacteristic.EventTime

    def named_time_characteristic(self) -> TimeCharacteristic | None:
        """Return the time that was set, None if none was."""
        name = self._get(TIME_CHARACTERISTIC)
        return None if name is None else TimeCharacteristic[name]

    def enable_watermark_trace(
        self: Environment, operator: str | None = None, timeline: str | None = None
    ) -> Environment:
        """Print, for each record at an operator, how time stands there and which windows fire.

        A row shows key, event time, the largest event time up to then, and the watermark as it is
        when the next record comes. The rows of a batch appear when it is published.

        :param operator: names or uids, parted by commas; windows and joins if left out.
        :param timeline: file for a drawing at the end of the job, `.html` or `.png`.
        """
        self._configuration.set(WATERMARK_TRACE, True)
        if operator is not None:
            self._configuration.set_string(TRACE_OPERATOR.key, operator)
        if timeline is not None:
            check_timeline(timeline)
            self._configuration.set(TRACE_TIMELINE, timeline)
        return self

    def disable_operator_chaining(self: Environment) -> Environment:
        """Show every operator as a chain of its own."""
        self._configuration.set(CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Return whether operators are chained."""
        return self._get(CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Return whether operators of different maximum parallelism are chained."""
        return self._get(CHAIN_DIFFERENT)

    def set_buffer_timeout(self: Environment, timeout_millis: int) -> Environment:
        """Accept Flink's flush interval; records leave an operator with their batch."""
        self._configuration.set(BUFFER_TIMEOUT, Duration.of_millis(timeout_millis))
        return self

    def get_buffer_timeout(self) -> int:
        """Return the flush interval that was set, in milliseconds."""
        return self._get(BUFFER_TIMEOUT).to_millis()

    def register_slot_sharing_group(
        self: Environment, slot_sharing_group: SlotSharingGroup
    ) -> Environment:
        """Make a group known, with the resources that its slots should have."""
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    # ---- checkpoints and state ----------------------------------------------------------------

    def enable_checkpointing(
        self: Environment, interval: int = 500, mode: CheckpointingMode | None = None
    ) -> Environment:
        """Publish the output of sinks that commit every `interval` milliseconds."""
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the checkpoint interval in milliseconds, -1 if none is set."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the guarantee that was asked for."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the guarantee that was asked for."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints were asked for."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints were forced."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def set_state_backend(self: Environment, state_backend: StateBackend) -> Environment:
        """Choose how state is held."""
        self._state_backend = state_backend
        self._configuration.set(STATE_BACKEND, state_backend.type_name)
        for key, value in state_backend.settings().items():
            self._configuration.set_string(key, value)
        if state_backend.checkpoint_path:
            self._checkpoint_config.set_checkpoint_storage_dir(state_backend.checkpoint_path)
        return self

    def get_state_backend(self) -> StateBackend:
        """Return how state is held."""
        if self._state_backend is not None:
            return self._state_backend
        if self._get(STATE_BACKEND) == "rocksdb":
            return EmbeddedRocksDBStateBackend()
        return HashMapStateBackend()

    def enable_changelog_state_backend(self: Environment, enabled: bool) -> Environment:
        """Accept Flink's switch; state is written as a log of changes in any case."""
        self._configuration.set(CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return what was set, None if nothing was."""
        return self._configuration.get(CHANGELOG)

    def set_restart_strategy(
        self: Environment, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> Environment:
        """Say what happens after a failure."""
        self._execution_config.set_restart_strategy(restart_strategy_configuration)
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration | None:
        """Return what happens after a failure, None if the program does not say."""
        return self._execution_config.get_restart_strategy()

    def set_default_savepoint_directory(self: Environment, directory: str) -> Environment:
        """Set the folder of savepoints that name none."""
        self._configuration.set(SAVEPOINT_DIR, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return the folder of savepoints that name none."""
        return self._configuration.get(SAVEPOINT_DIR)

    # ---- things of the JVM, and files ---------------------------------------------------------

    def add_jars(self, *jars_path: str) -> None:
        """Accept jar files with a warning: connectors are Python here."""
        _warn_of_jvm("add_jars", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Accept class paths with a warning: connectors are Python here."""
        _warn_of_jvm("add_classpaths", classpaths)

    def register_type(self, type_class_name: Any) -> None:
        """Accept the registration of a type; every picklable type works without."""

    def register_type_with_kryo_serializer(
        self, type_class_name: Any, serializer_class_name: Any
    ) -> None:
        """Accept a Kryo serializer with a warning: records are pickled."""
        _warn_of_jvm("register_type_with_kryo_serializer", (str(serializer_class_name),))

    def add_default_kryo_serializer(self, type_class_name: Any, serializer_class_name: Any) -> None:
        """Accept a Kryo serializer with a warning: records are pickled."""
        _warn_of_jvm("add_default_kryo_serializer", (str(serializer_class_name),))

    def add_python_file(self, file_path: str) -> None:
        """Ship a Python file, a folder or a zip file to the workers and put it on their path.

        The content as of `execute` counts. The program itself does not see it.
        """
        self._append(PYTHON_FILES.key, file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers.

        :param archive_path: a zip or tar file.
        :param target_dir: name of its folder there; the archive's own name if left out.
        """
        self._append(PYTHON_ARCHIVES.key, archive_path + (f"#{target_dir}" if target_dir else ""))

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install what a requirements.txt names, for the workers of the job only.

        :param requirements_cache_dir: folder with the packages; nothing is then fetched.
        """
        cache = f"#{requirements_cache_dir}" if requirements_cache_dir else ""
        self._configuration.set(PYTHON_REQUIREMENTS, requirements_file_path + cache)

    def set_python_executable(self, python_exec: str) -> None:
        """Set the interpreter that workers run.

        :param python_exec: a path, or one inside an archive that was added. It must be of the same
            version of Python as the program's, with Penstock installed.
        """
        self._configuration.set(PYTHON_EXECUTABLE, python_exec)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Accept a file with a warning: Python functions cannot read it, in PyFlink neither."""
        warnings.warn(
            f"register_cached_file({file_path}) has no effect: Python functions have no access to "
            "cached files; ship the file with add_python_archive",
            stacklevel=2,
        )
        entry = f"name:{name},path:{file_path},executable:{str(executable).lower()}"
        self._append(CACHED_FILES.key, entry, separator=";")

    def _get(self, option: ConfigOption[T]) -> T:
        """Return what was set, or the default of an option that has one."""
        return self._configuration.get(option)  # type: ignore[return-value]

    def _append(self, key: str, value: str, separator: str = ",") -> None:
        known = self._configuration.get_string(key, "")
        self._configuration.set_string(key, f"{known}{separator}{value}" if known else value)

    def _require_positive(self, call: str, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigurationError(
                "the parallelism must be a whole number of at least 1",
                where=call,
                got=repr(value),
                todo="pass 1 or more",
            )


def _warn_of_jvm(call: str, values: tuple[str, ...]) -> None:
    warnings.warn(
        f"{call}({', '.join(values)}) has no effect: Penstock runs no Java code of the program",
        stacklevel=3,
    )
