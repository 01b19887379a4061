"""Where keyed state is held: the one place that knows which backend a job has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.runtime.state.keyed_backend import KeyedBackend


def make_backend(
    operator: str, clock: Callable[[], int], settings: Mapping[str, Any]
) -> KeyedBackend:
    """Return the keyed state of one operator in one slot.

    A backend is a way to make tables (`KeyedBackend.make_table`): all kinds of state, windows and
    timers are built on those.

    :param operator: which one, for errors.
    :param clock: gives processing time.
    :param settings: of the job.
    """
    return KeyedBackend(operator, clock)
