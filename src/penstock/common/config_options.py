"""Options: the key of a setting with its type and default."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

import yaml

from penstock.common.time import Duration
from penstock.errors import ConfigurationError, show_value

T = TypeVar("T")

_TRUE, _FALSE = "true", "false"
_MEMORY_UNITS = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}


class ConfigOption(Generic[T]):
    """The key of a setting with its type and default. Made by `ConfigOptions.key(...)`."""

    def __init__(self, key: str, parse: Callable[[Any], T], default_value: T | None) -> None:
        self.key = key
        self.default_value = default_value
        self._parse = parse

    def parse(self, value: Any) -> T:
        """Return a value, as it stands in a configuration, in the option's type.

        :raises ConfigurationError: if it is not of that type.
        """
        try:
            return self._parse(value)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                "the value of an option is of the wrong type",
                where=f"option {self.key!r}",
                got=show_value(value),
                todo=str(error) or None,
            ) from error

    def has_default_value(self) -> bool:
        """Return whether the option has a default."""
        return self.default_value is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigOption) and (self.key, self.default_value) == (
            other.key,
            other.default_value,
        )

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"ConfigOption({self.key!r}, default={self.default_value!r})"


class TypedConfigOptionBuilder(Generic[T]):
    """An option with key and type that still needs its default."""

    def __init__(self, key: str, parse: Callable[[Any], T]) -> None:
        self._key = key
        self._parse = parse

    def as_list(self) -> TypedConfigOptionBuilder[list[T]]:
        """Let the option hold a list of such values."""
        parse = self._parse
        return TypedConfigOptionBuilder(
            self._key, lambda value: [parse(item) for item in parse_list(value)]
        )

    def default_value(self, value: T) -> ConfigOption[T]:
        """Return the option with a default."""
        return ConfigOption(self._key, self._parse, value)

    def no_default_value(self) -> ConfigOption[T]:
        """Return the option without a default."""
        return ConfigOption(self._key, self._parse, None)


class OptionBuilder:
    """An option with a key that still needs its type."""

    def __init__(self, key: str) -> None:
        self._key = key

    def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
        """Hold true or false."""
        return TypedConfigOptionBuilder(self._key, parse_bool)

    def int_type(self) -> TypedConfigOptionBuilder[int]:
        """Hold a whole number."""
        return TypedConfigOptionBuilder(self._key, int)

    def long_type(self) -> TypedConfigOptionBuilder[int]:
        """Hold a whole number."""
        return TypedConfigOptionBuilder(self._key, int)

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """Hold a number."""
        return TypedConfigOptionBuilder(self._key, float)

    def double_type(self) -> TypedConfigOptionBuilder[float]:
        """Hold a number."""
        return TypedConfigOptionBuilder(self._key, float)

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """Hold a string."""
        return TypedConfigOptionBuilder(self._key, to_text)

    def duration_type(self) -> TypedConfigOptionBuilder[Duration]:
        """Hold a span of time, such as `10 s`."""
        return TypedConfigOptionBuilder(self._key, _parse_duration)

    def memory_type(self) -> TypedConfigOptionBuilder[int]:
        """Hold a size of memory, such as `64 mb`; it is read as a number of bytes."""
        return TypedConfigOptionBuilder(self._key, parse_memory)

    def enum_type(self, enum_class: type[Enum]) -> TypedConfigOptionBuilder[Enum]:
        """Hold a member of an enum, by name."""
        return TypedConfigOptionBuilder(
            self._key,
            lambda value: value if isinstance(value, enum_class) else enum_class[str(value)],
        )

    def map_type(self) -> TypedConfigOptionBuilder[dict[str, str]]:
        """Hold a map of strings, such as `a:1,b:2`."""
        return TypedConfigOptionBuilder(self._key, _parse_map)


class ConfigOptions:
    """Begin an option.

    >>> port = ConfigOptions.key("rest.port").int_type().default_value(8081)
    >>> port.parse("9000")
    9000
    """

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begin an option with its key."""
        return OptionBuilder(key)

    OptionBuilder = OptionBuilder
    TypedConfigOptionBuilder = TypedConfigOptionBuilder


def to_text(value: Any) -> str:
    """Return a value as it is written in a configuration file."""
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, Duration):
        return f"{value.to_millis()} ms"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return ",".join(f"{to_text(key)}:{to_text(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ";".join(to_text(item) for item in value)
    return str(value)


def parse_bool(value: Any) -> bool:
    """Return true or false; anything else is a ValueError."""
    text = to_text(value).strip().lower()
    if text not in (_TRUE, _FALSE):
        raise ValueError("write true or false")
    return text == _TRUE


def parse_list(value: Any) -> list[Any]:
    """Return the items of a list: a YAML list, or texts parted by semicolons."""
    if isinstance(value, (list, tuple)):
        return list(value)
    text = str(value).strip()
    if text.startswith(("[", "- ")):
        return list(yaml.safe_load(text))
    return [item.strip() for item in text.split(";") if item.strip()]


def parse_memory(value: Any) -> int:
    """Return a size such as `64 mb` in bytes; anything else is a ValueError."""
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", str(value).lower())
    if match is None or match.group(2) not in _MEMORY_UNITS:
        raise ValueError("write a number and a unit (b, kb, mb, gb, tb), for instance '64 mb'")
    return int(match.group(1)) * _MEMORY_UNITS[match.group(2)]


def _parse_duration(value: Any) -> Duration:
    return value if isinstance(value, Duration) else Duration.parse(to_text(value))


def _parse_map(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {to_text(key): to_text(item) for key, item in value.items()}
    pairs = (part.split(":", 1) for part in str(value).split(",") if part.strip())
    return {key.strip(): item.strip() for key, item in pairs}
