"""Settings of the command line: `-D key=value`."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import ConfigurationError, show_value


def settings_of(texts: Iterable[str], where: str) -> dict[str, str]:
    """Return settings by key.

    :raises ConfigurationError: if one is not `key=value`.
    """
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(
                "a setting must be key=value", where=where, got=show_value(text)
            )
        settings[key.strip()] = value
    return settings
