"""Checks of what the user passes, made on the user's own line."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigurationError, show_value
from penstock.graph.call_site import capture_call_site


def check_count(call: str, count: Any, least: int = 1) -> None:
    """Check a number of records or steps.

    :raises ConfigurationError: if it is no whole number, or too small.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < least:
        raise ConfigurationError(
            f"{call} needs a whole number of at least {least}",
            where=str(capture_call_site()),
            got=show_value(count),
        )
