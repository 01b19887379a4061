"""Where checkpoints are kept."""

from __future__ import annotations


class CheckpointStorage:
    """Base of the places that checkpoints can be kept in."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Keep checkpoints only as long as the process lives: in a temporary folder.

    :param checkpoint_path: a folder to keep them in after all.
    """

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        self._checkpoint_path = checkpoint_path
        self._max_state_size = max_state_size or self.DEFAULT_MAX_STATE_SIZE

    def get_checkpoint_path(self) -> str | None:
        """Return the folder, if one was named."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return the folder for savepoints: none of its own."""
        return None

    def get_max_state_size(self) -> int:
        """Return Flink's limit of a state's size, which is not enforced here."""
        return self._max_state_size


class FileSystemCheckpointStorage(CheckpointStorage):
    """Keep checkpoints in a folder, on any file system that Spark can write.

    >>> FileSystemCheckpointStorage("file:///tmp/checkpoints").get_checkpoint_path()
    'file:///tmp/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
    ) -> None:
        self._checkpoint_path = checkpoint_path
        self._threshold = (
            20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        )
        self._write_buffer_size = 4096 if write_buffer_size is None else write_buffer_size

    def get_checkpoint_path(self) -> str:
        """Return the folder."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return the folder for savepoints: none of its own."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return Flink's limit below which state is kept in metadata; no effect here."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """Return Flink's size of write buffers; no effect here."""
        return self._write_buffer_size


class CustomCheckpointStorage(CheckpointStorage):
    """A storage written in Java: accepted by name, and without effect."""

    def __init__(self, j_checkpoint_storage: object = None) -> None:
        self.storage = j_checkpoint_storage
