"""All options by key, and the check of a job's settings against them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from penstock.common.config_options import ConfigOption
from penstock.common.option_values import to_text
from penstock.common.time import Duration
from penstock.errors import ConfigurationError

T = TypeVar("T")

#: Keys that begin so are Penstock's own: one that is not known is a mistake.
OWN_PREFIX = "penstock."
#: Keys that begin so are Spark's.
SPARK_PREFIX = "spark."


class Described(NamedTuple):
    """An option as the tables show it."""

    option: ConfigOption[Any]
    #: The default as a reader sees it, if its own text would not tell.
    default: str
    #: How much a reader is told: README's table, the full one, or that it has no effect.
    rank: str


#: All options by key.
OPTIONS: dict[str, Described] = {}
_by_any_key: dict[str, ConfigOption[Any]] = {}
MAIN, MORE, NO_EFFECT = "main", "more", "no effect"


def add_option(
    key: str,
    parse: Callable[[Any], T],
    default: T,
    description: str,
    *,
    older: tuple[str, ...] = (),
    shown: str | None = None,
    rank: str = MAIN,
) -> ConfigOption[T]:
    """Make an option and enter it into the tables.

    :param older: keys that it had before.
    :param shown: its default as the tables show it.
    :param rank: which table it stands in.
    """
    option = ConfigOption(key, parse, default, description, older)
    if shown is None:
        shown = f"`{_short(default)}`" if default or default in (0, False) else ""
    OPTIONS[key] = Described(option, shown, rank)
    _by_any_key.update(dict.fromkeys((key, *older), option))
    return option


def find_option(key: str) -> ConfigOption[Any] | None:
    """Return the option that has a key, or had it once."""
    return _by_any_key.get(key)


def check_settings(settings: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Parse all settings of a job.

    A key that is not known is a mistake if it is Penstock's own; another one may be Flink's, and
    is only warned of where it looks like a known one.

    :param origins: the file or the line of the program that a key was set in.
    :raises ConfigurationError: if a value cannot be read, or Penstock has no such setting.
    """
    for key, value in settings.items():
        option = find_option(key)
        origin = origins.get(key)
        if option is not None:
            option.parse(value, key=key, origin=origin)
        elif key.startswith(OWN_PREFIX):
            raise ConfigurationError(
                "there is no such setting",
                where=f"configuration key {key}" + (f", {origin}" if origin else ""),
                todo=_offer(key),
            )
        elif not key.startswith(SPARK_PREFIX) and (near := _nearest(key)):
            _warn(key, near, origin)


#: What has been warned of, so that it is told once.
_WARNED: dict[str | tuple[str, type[Warning], int], int] = {}


def _warn(key: str, near: str, origin: str | None) -> None:
    """Warn of a key on the line of the program that set it, or name the file that has it."""
    file, _, line = (origin or "").rpartition(":")
    in_program = line.isdigit()
    place = f" ({origin})" if origin and not in_program else ""
    text = f"configuration key {key}{place} is not known, and has no effect; did you mean {near}?"
    if in_program:
        warnings.warn_explicit(text, UserWarning, file, int(line), registry=_WARNED)
    else:
        warnings.warn(text, stacklevel=3)


def _offer(key: str) -> str:
    own = sorted(known for known in OPTIONS if known.startswith(OWN_PREFIX))
    # What all of them begin with would make any two look alike.
    rest = {known.removeprefix(OWN_PREFIX): known for known in own}
    near = get_close_matches(key.removeprefix(OWN_PREFIX), rest, n=1)
    return f"did you mean {rest[near[0]]}?" if near else f"use one of: {', '.join(own)}"


def _nearest(key: str) -> str | None:
    """Return a known key that a key is very like."""
    return next(iter(get_close_matches(key, _by_any_key, n=1, cutoff=0.9)), None)


def _short(value: Any) -> str:
    """Return a default as a person would write it."""
    if isinstance(value, Duration):
        for unit, length in (("h", 3_600_000), ("min", 60_000), ("s", 1000)):
            count, rest = divmod(value.to_millis(), length)
            if count and not rest:
                return f"{count} {unit}"
    return to_text(value)
