"""Where keyed state is held: the one place that knows which backend a job has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.state_options import STATE_BACKEND
from penstock.runtime.state.disk.backend import DiskBackend
from penstock.runtime.state.disk.store import require_rocksdb
from penstock.runtime.state.keyed_backend import KeyedBackend

ROCKSDB = "rocksdb"


def is_on_disk(settings: Mapping[str, Any]) -> bool:
    """Tell whether a job's keyed state is to be held on disk."""
    return STATE_BACKEND.read(settings) == ROCKSDB


def check_backend(settings: Mapping[str, Any]) -> None:
    """Make sure that a job's backend can be used.

    :raises StateError: if a package is missing.
    """
    if is_on_disk(settings):
        require_rocksdb()


def make_backend(
    operator: str, clock: Callable[[], int], settings: Mapping[str, Any]
) -> KeyedBackend:
    """Return the keyed state of one operator in one slot.

    A backend is a way to make tables and queues of timers (`KeyedBackend.make_table`): all kinds of
    state and windows are built on those.

    :param operator: which one, for errors.
    :param clock: gives processing time.
    :param settings: of the job.
    """
    if is_on_disk(settings):
        return DiskBackend(operator, clock, settings)
    return KeyedBackend(operator, clock)
