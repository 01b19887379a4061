"""Savepoints as the handle of a job offers them: whoever asks waits for the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.common.flink_options import CHECKPOINT_TIMEOUT
from penstock.common.options import SAVEPOINT_DIR
from penstock.errors import ConfigurationError, StateError
from penstock.runtime.coordinator.coordinator import Coordinator


class JobSavepoints:
    """Have savepoints of a job taken.

    :param coordinator: returns the coordinator that is at work; None if there is none.
    """

    def __init__(
        self, coordinator: Callable[[], Coordinator | None], settings: Mapping[str, str]
    ) -> None:
        self._coordinator = coordinator
        self._settings = settings

    def take(self, directory: str | None, *, stop: bool = False, drain: bool = False) -> str:
        """Take a savepoint, and return its folder when it is complete.

        :param directory: where to make the folder; as the settings say if left out.
        :param stop: end the job behind it.
        :param drain: let event time come to its end first.
        :raises StateError: if it cannot be taken.
        """
        target = directory or SAVEPOINT_DIR.read(self._settings)
        if not target:
            raise ConfigurationError(
                "nobody says where the savepoint is to be written",
                where=f"configuration key {SAVEPOINT_DIR.key}",
                todo="pass a folder, or set the key",
            )
        coordinator = self._coordinator()
        if coordinator is None:
            raise _not_running("savepoint can be taken")
        timeout = CHECKPOINT_TIMEOUT.read(self._settings).to_millis() / 1000
        done = coordinator.trigger_savepoint(target, stop=stop, drain=drain)
        try:
            return done.result(timeout)
        except TimeoutError:
            raise StateError(
                "the savepoint is not complete in time; the job goes on with it",
                where=f"configuration key {CHECKPOINT_TIMEOUT.key}",
                got=f"{timeout:g} s",
                todo="wait for the folder to get its _metadata, or set a longer time",
            ) from None

    def complete_checkpoint(self) -> int:
        """Publish what the engine's log holds, and return the number of that checkpoint.

        :raises StateError: if the job does not run.
        """
        coordinator = self._coordinator()
        if coordinator is None:
            raise _not_running("checkpoint can be completed")
        return coordinator.complete_checkpoint()


def _not_running(what: str) -> StateError:
    return StateError(
        f"no {what}: the job does not run", todo="ask again when its status is RUNNING"
    )
