"""Wait for a server that is away while something is published."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from penstock.errors import SinkError

T = TypeVar("T")

#: How long a server may be away.
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.5
#: How often it is asked meanwhile whether the job has ended.
_TURN_SECONDS = 0.5


class Again(Exception):
    """Raised by an attempt that must be made again.

    :param reason: what stands in the way.
    :param error: what is raised when patience is at its end.
    :param at_once: there is nothing to wait for.
    """

    def __init__(self, reason: object, error: SinkError | None = None, *, at_once: bool = False):
        super().__init__(str(reason))
        self.error = error
        self.at_once = at_once


class Retries:
    """Make attempts until one succeeds, patience is at its end, or the job has ended.

    :param who: the server, for the log.
    :param stopping: tells whether the job has been told to end.
    :param most: how many further attempts are made at most; None: as many as patience allows.
    :param least: how many are made even if patience is at its end.
    :param pause: gives the seconds to wait, by how many attempts have failed.
    """

    def __init__(
        self,
        logger: logging.Logger,
        who: object,
        stopping: Callable[[], bool],
        *,
        most: int | None = None,
        least: int = 0,
        pause: Callable[[int], float] = lambda failures: PAUSE_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._logger = logger
        self._who = who
        self._stopping = stopping
        self._most = most
        self._least = least
        self._pause = pause
        self._patience = patience

    def run(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt returns; one that should be made again raises `Again`."""
        deadline = time.monotonic() + self._patience
        failures = 0
        while True:
            try:
                return attempt()
            except Again as again:
                if again.at_once:
                    continue
                failures += 1
                if self._is_enough(failures, deadline):
                    raise again.error or SinkError(str(again)) from None
                if failures == 1:
                    self._logger.warning("%s: tried again: %s", self._who, again)
            self._rest(self._pause(failures))

    def _is_enough(self, failures: int, deadline: float) -> bool:
        if self._most is not None:
            return failures > self._most
        return failures > self._least and time.monotonic() > deadline

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            if self._stopping():
                raise SinkError("the job has ended while it was being published")
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _TURN_SECONDS))
