"""Options: the key of a setting with its type and default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.common.option_values import (
    parse_bool,
    parse_duration,
    parse_float,
    parse_int,
    parse_list,
    parse_map,
    parse_memory,
    to_text,
)
from penstock.common.time import Duration
from penstock.errors import ConfigurationError, PenstockError, show_value

T = TypeVar("T")


class ConfigOption(Generic[T]):
    """The key of a setting with its type and default. Made by `ConfigOptions.key(...)`.

    :param description: what the setting means, in a line.
    :param deprecated_keys: older keys of the same setting; they count where the key itself is not
        set.
    """

    def __init__(
        self,
        key: str,
        parse: Callable[[Any], T],
        default_value: T | None,
        description: str = "",
        deprecated_keys: tuple[str, ...] = (),
    ) -> None:
        self.key = key
        self.default_value = default_value
        self.description = description
        self.deprecated_keys = deprecated_keys
        self._parse = parse

    def parse(self, value: Any, *, key: str | None = None, origin: str | None = None) -> T:
        """Return a value, as it stands in a configuration, in the option's type.

        :param key: the key that it stands under, if that is an older one.
        :param origin: the file or the line of the program that it comes from.
        :raises ConfigurationError: if it is not of that type.
        """
        try:
            return self._parse(value)
        except (ValueError, KeyError, TypeError) as error:
            place = "" if origin is None else f", {origin}"
            raise ConfigurationError(
                "the setting has a value that cannot work",
                where=f"configuration key {key or self.key}{place}",
                got=show_value(value),
                todo=_remedy(error),
            ) from error

    def key_in(self, settings: Mapping[str, Any]) -> str | None:
        """Return the key that settings have the option under, None if they do not have it."""
        if self.key in settings:
            return self.key
        return next((key for key in self.deprecated_keys if key in settings), None)

    def read(self, settings: Mapping[str, Any]) -> T:
        """Return what settings say, in the option's type, or the default.

        :raises ConfigurationError: if the value is not of that type.

        >>> ConfigOptions.key("port").int_type().default_value(8081).read({"port": "9000"})
        9000
        """
        key = self.key_in(settings)
        if key is None:
            # An option without a default has a type that admits None.
            return self.default_value  # type: ignore[return-value]
        return self.parse(settings[key], key=key)

    def has_default_value(self) -> bool:
        """Return whether the option has a default."""
        return self.default_value is not None

    def with_description(self, description: str) -> ConfigOption[T]:
        """Return the option with a text that says what it means."""
        return ConfigOption(
            self.key, self._parse, self.default_value, description, self.deprecated_keys
        )

    def with_deprecated_keys(self, *deprecated_keys: str) -> ConfigOption[T]:
        """Return the option with older keys, which count where its own is not set."""
        return ConfigOption(
            self.key, self._parse, self.default_value, self.description, deprecated_keys
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigOption) and (self.key, self.default_value) == (
            other.key,
            other.default_value,
        )

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"ConfigOption({self.key!r}, default={self.default_value!r})"


def _remedy(error: Exception) -> str | None:
    """Return what a parser's error says to do."""
    if isinstance(error, PenstockError):
        return error.todo or error.what
    # What Python's own conversions say speaks of literals and bases.
    return None if str(error).startswith(("invalid literal", "could not convert")) else str(error)


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
        return TypedConfigOptionBuilder(self._key, parse_int)

    def long_type(self) -> TypedConfigOptionBuilder[int]:
        """Hold a whole number."""
        return TypedConfigOptionBuilder(self._key, parse_int)

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """Hold a number."""
        return TypedConfigOptionBuilder(self._key, parse_float)

    def double_type(self) -> TypedConfigOptionBuilder[float]:
        """Hold a number."""
        return TypedConfigOptionBuilder(self._key, parse_float)

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """Hold a string."""
        return TypedConfigOptionBuilder(self._key, to_text)

    def duration_type(self) -> TypedConfigOptionBuilder[Duration]:
        """Hold a span of time, such as `10 s`."""
        return TypedConfigOptionBuilder(self._key, parse_duration)

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
        return TypedConfigOptionBuilder(self._key, parse_map)


class ConfigOptions:
    """Begin an option.

    >>> port = ConfigOptions.key("my.port").int_type().default_value(8081)
    >>> port.parse("9000")
    9000
    """

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begin an option with its key."""
        return OptionBuilder(key)

    OptionBuilder = OptionBuilder
    TypedConfigOptionBuilder = TypedConfigOptionBuilder
