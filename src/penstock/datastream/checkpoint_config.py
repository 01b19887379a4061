"""Settings of checkpoints."""

from __future__ import annotations

from typing import TypeVar

from penstock.common import Configuration, Duration
from penstock.common.config_options import ConfigOption
from penstock.common.flink_options import (
    ALIGNED_TIMEOUT,
    CHECKPOINT_FAILURES,
    CHECKPOINT_MODE,
    CHECKPOINT_PAUSE,
    CHECKPOINT_TIMEOUT,
    CHECKPOINTS_AT_ONCE,
    FORCE_UNALIGNED,
    UNALIGNED,
)
from penstock.common.options import CHECKPOINT_DIR, CHECKPOINT_INTERVAL, RETENTION
from penstock.common.time import to_milliseconds
from penstock.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointCleanup,
    ExternalizedCheckpointRetention,
)
from penstock.errors import ConfigurationError

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"]

T = TypeVar("T")


class CheckpointConfig:
    """Say how often output is published and what is kept of a job that ended early.

    Every batch is a consistent point, so an interval is not needed for safety: it sets how often
    the output of sinks that commit is published. What concerns Flink's barriers (alignment,
    pauses, concurrency) is kept and has no effect.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.enable_checkpointing(10_000).get_checkpoint_config().get_checkpoint_interval()
    10000
    """

    DEFAULT_TIMEOUT = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = 1

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    # ---- with effect --------------------------------------------------------------------------

    def is_checkpointing_enabled(self) -> bool:
        """Return whether an interval is set."""
        return self.get_checkpoint_interval() > 0

    def get_checkpoint_interval(self) -> int:
        """Return the interval in milliseconds, -1 if checkpoints are not enabled."""
        interval = self._configuration.get(CHECKPOINT_INTERVAL)
        return -1 if interval is None else interval.to_millis()

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Publish output every so many milliseconds instead of after every batch."""
        if checkpoint_interval < 1:
            raise ConfigurationError(
                "the checkpoint interval must be at least 1 ms",
                where="set_checkpoint_interval(checkpoint_interval)",
                got=repr(checkpoint_interval),
                todo="pass the interval in milliseconds",
            )
        return self._set(CHECKPOINT_INTERVAL, Duration.of_millis(checkpoint_interval))

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return what a cancelled job leaves behind."""
        text = self._get(RETENTION)
        return ExternalizedCheckpointRetention[text]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Keep or delete the checkpoints of a cancelled job."""
        return self._set(RETENTION, retention_mode.name)

    def enable_externalized_checkpoints(
        self, cleanup_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Do what `set_externalized_checkpoint_retention` does; the classic name."""
        return self.set_externalized_checkpoint_retention(cleanup_mode)

    set_externalized_checkpoint_cleanup = set_externalized_checkpoint_retention
    get_externalized_checkpoint_cleanup = get_externalized_checkpoint_retention

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether a retention was chosen."""
        retention = self.get_externalized_checkpoint_retention()
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Set where checkpoints are kept."""
        if isinstance(storage, FileSystemCheckpointStorage):
            return self.set_checkpoint_storage_dir(storage.get_checkpoint_path())
        if isinstance(storage, JobManagerCheckpointStorage) and storage.get_checkpoint_path():
            return self.set_checkpoint_storage_dir(str(storage.get_checkpoint_path()))
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set the folder that checkpoints are kept in."""
        return self._set(CHECKPOINT_DIR, checkpoint_path)

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return where checkpoints are kept, None if it was not set."""
        path = self._get(CHECKPOINT_DIR)
        return FileSystemCheckpointStorage(path) if path else None

    # ---- kept for the program's sake ----------------------------------------------------------

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the guarantee that was asked for."""
        return CheckpointingMode[self._get(CHECKPOINT_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set the guarantee; state is exactly once in any case."""
        return self._set(CHECKPOINT_MODE, checkpointing_mode.name)

    def get_checkpoint_timeout(self) -> int:
        """Return the time in milliseconds after which a checkpoint is given up."""
        return self._get(CHECKPOINT_TIMEOUT).to_millis()

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set the time in milliseconds after which a checkpoint is given up."""
        return self._set(CHECKPOINT_TIMEOUT, Duration.of_millis(checkpoint_timeout))

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the least pause between two checkpoints in milliseconds."""
        return self._get(CHECKPOINT_PAUSE).to_millis()

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Set the least pause between two checkpoints in milliseconds."""
        return self._set(CHECKPOINT_PAUSE, Duration.of_millis(min_pause_between_checkpoints))

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may be under way at once."""
        return self._get(CHECKPOINTS_AT_ONCE)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set how many checkpoints may be under way at once."""
        return self._set(CHECKPOINTS_AT_ONCE, max_concurrent_checkpoints)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether the first failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Let the first failed checkpoint fail the job, or none."""
        tolerated = 0 if fail_on_checkpointing_errors else 2**31 - 1
        return self.set_tolerable_checkpoint_failure_number(tolerated)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints may fail in a row."""
        return self._get(CHECKPOINT_FAILURES)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Set how many checkpoints may fail in a row."""
        return self._set(CHECKPOINT_FAILURES, tolerable_checkpoint_failure_number)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Switch unaligned checkpoints on or off."""
        return self._set(UNALIGNED, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Switch unaligned checkpoints off."""
        return self.enable_unaligned_checkpoints(False)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints were switched on."""
        return self._get(UNALIGNED)

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Force unaligned checkpoints, or not."""
        return self._set(FORCE_UNALIGNED, force_unaligned_checkpoints)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints were forced."""
        return self._get(FORCE_UNALIGNED)

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Do what `set_aligned_checkpoint_timeout` does; the classic name."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Do what `get_aligned_checkpoint_timeout` does; the classic name."""
        return self.get_aligned_checkpoint_timeout()

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Set the time after which an aligned checkpoint becomes an unaligned one."""
        millis = to_milliseconds(alignment_timeout)
        return self._set(ALIGNED_TIMEOUT, Duration.of_millis(millis))

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return the time after which an aligned checkpoint becomes an unaligned one."""
        return Duration.of_millis(self._get(ALIGNED_TIMEOUT).to_millis())

    def _get(self, option: ConfigOption[T]) -> T:
        """Return what was set, or the default of an option that has one."""
        return self._configuration.get(option)  # type: ignore[return-value]

    def _set(self, option: ConfigOption[T], value: T) -> CheckpointConfig:
        self._configuration.set(option, value)
        return self
