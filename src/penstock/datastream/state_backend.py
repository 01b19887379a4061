"""How state is held while a job works."""

from __future__ import annotations

from enum import Enum

from penstock.common.state_options import ROCKSDB_LOCAL_DIR
from penstock.datastream.checkpoint_storage import FileSystemCheckpointStorage


class StateBackend:
    """Base of the state backends."""

    #: Value of the configuration key `state.backend.type`.
    type_name = "hashmap"
    #: Folder for checkpoints that the backend itself names, as classic ones do.
    checkpoint_path: str | None = None

    def settings(self) -> dict[str, str]:
        """Return the configuration that the backend stands for beside its type."""
        return {}


class HashMapStateBackend(StateBackend):
    """Hold state as objects in memory, durable as a log in Spark's state store. The default."""


class MemoryStateBackend(HashMapStateBackend):
    """Do what HashMapStateBackend does; the classic name."""

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        self.checkpoint_path = checkpoint_path


class FsStateBackend(HashMapStateBackend):
    """A HashMapStateBackend that names its checkpoint folder; the classic name."""

    def __init__(
        self,
        checkpoint_directory_uri: str,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        self.checkpoint_path = checkpoint_directory_uri


class PredefinedOptions(Enum):
    """RocksDB settings for kinds of disks; kept, without effect."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Hold keyed state, timers and windows on the workers' disks, for state larger than memory.

    Each worker has a RocksDB, whose memory `state.backend.rocksdb.memory.fixed-per-slot` limits.
    What a job goes on from is the same log in Spark's state store that HashMapStateBackend writes:
    each batch adds what it changed. So the two are equally safe, and a savepoint of one is resumed
    by the other. The value, list or map of one key must fit into memory. Needs the package
    `rocksdict`: `pip install 'penstock[rocksdb]'`.

        env.set_state_backend(EmbeddedRocksDBStateBackend())

    :param enable_incremental_checkpointing: kept; a batch writes what it changed in any case.
    """

    type_name = "rocksdb"

    def __init__(
        self, enable_incremental_checkpointing: bool | None = None, **_ignored: object
    ) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._storage_paths: list[str] | None = None
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._transfer_threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the folder for RocksDB's files on the workers' machines; of several, the first."""
        self._storage_paths = list(paths)

    def get_db_storage_paths(self) -> list[str] | None:
        """Return the folders that were set."""
        return self._storage_paths

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return whether incremental checkpoints were asked for."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Set RocksDB settings for a kind of disk."""
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the RocksDB settings that were set."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Set the name of a Java class that makes RocksDB settings; kept, without effect."""
        self._options = options_factory_class_name

    def get_options(self) -> str | None:
        """Return the name of the class that was set."""
        return self._options

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many threads move state; kept, without effect."""
        self._transfer_threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        """Return how many threads were asked for."""
        return self._transfer_threads

    def settings(self) -> dict[str, str]:
        """Return the configuration that the backend stands for."""
        paths = self._storage_paths
        return {} if not paths else {ROCKSDB_LOCAL_DIR.key: paths[0].removeprefix("file://")}


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """An EmbeddedRocksDBStateBackend that names its checkpoint folder; the classic name."""

    def __init__(
        self,
        checkpoint_data_uri: str,
        enable_incremental_checkpointing: bool | None = None,
        **_ignored: object,
    ) -> None:
        super().__init__(enable_incremental_checkpointing)
        self.checkpoint_path = checkpoint_data_uri


class CustomStateBackend(StateBackend):
    """A state backend written in Java: accepted by name; state is held as usual."""

    def __init__(self, j_custom_state_backend: object = None) -> None:
        self.backend = j_custom_state_backend


__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FileSystemCheckpointStorage",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]
