"""Settings by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.common.caller import find_caller
from penstock.common.config_options import ConfigOption
from penstock.common.option_registry import check_settings
from penstock.common.option_values import parse_bool, parse_list, to_text
from penstock.errors import ConfigurationError, show_value

T = TypeVar("T")


class Configuration:
    """Settings by key. Values keep their types and can be read as any type that fits.

    >>> configuration = Configuration().set_integer("parallelism.default", 4)
    >>> configuration.get_string("parallelism.default", "1")
    '4'

    :param other: settings to begin with.
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)
        self._origins: dict[str, str] = {} if other is None else dict(other._origins)

    @staticmethod
    def from_dict(map: dict[str, Any]) -> Configuration:
        """Return a configuration of the settings in a dict."""
        configuration = Configuration()
        for key, value in map.items():
            configuration._write(key, value)
        return configuration

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Return the items of a list value: a YAML list, or texts parted by semicolons."""
        return [to_text(item) for item in parse_list(value)] if value else []

    def get_string(self, key: str, default_value: str | None) -> str | None:
        """Return a setting as a string."""
        return self._read(key, default_value, to_text)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a string."""
        return self._write(key, value)

    def get_integer(self, key: str, default_value: int | None) -> int | None:
        """Return a setting as a whole number."""
        return self._read(key, default_value, int)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a whole number."""
        return self._write(key, value)

    def get_boolean(self, key: str, default_value: bool | None) -> bool | None:
        """Return a setting as true or false."""
        return self._read(key, default_value, parse_bool)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set true or false."""
        return self._write(key, value)

    def get_float(self, key: str, default_value: float | None) -> float | None:
        """Return a setting as a number."""
        return self._read(key, default_value, float)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a number."""
        return self._write(key, value)

    def get_bytearray(self, key: str, default_value: bytearray | None) -> bytearray | None:
        """Return a setting as bytes."""
        return self._read(key, default_value, _to_bytearray)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set bytes."""
        return self._write(key, bytearray(value))

    def key_set(self) -> set[str]:
        """Return the keys."""
        return set(self._values)

    def get(self, option: ConfigOption[T]) -> T | None:
        """Return the value of an option, or its default."""
        key = option.key_in(self._values)
        if key is None:
            return option.default_value
        return option.parse(self._values[key], key=key, origin=self.origin_of(key))

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set the value of an option."""
        return self._write(option.key, value)

    def contains_key(self, key: str) -> bool:
        """Return whether a key is set."""
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Remove a setting; return whether there was one."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all settings of another configuration, each key with a prefix if given."""
        self._values.update({f"{prefix or ''}{key}": v for key, v in other._values.items()})
        self._origins.update({f"{prefix or ''}{key}": v for key, v in other._origins.items()})
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Copy all settings into a dict, with their types."""
        target_dict.update(self._values)

    def origin_of(self, key: str) -> str | None:
        """Return the file or the line of the program that a key was last set in."""
        return self._origins.get(key)

    def set_from(self, key: str, value: Any, origin: str) -> Configuration:
        """Set a value that was read somewhere, and say where.

        :param origin: for instance `penstock-conf.yaml, line 3`.
        """
        self._values[key] = value
        self._origins[key] = origin
        return self

    def check(self) -> None:
        """Parse everything that Penstock knows.

        :raises ConfigurationError: if a value cannot work, or a key of Penstock's is not known; it
            says where the setting was made.
        """
        check_settings(self._values, self._origins)

    def to_dict(self) -> dict[str, str]:
        """Return all settings as strings."""
        return {key: to_text(value) for key, value in self._values.items()}

    def _write(self, key: str, value: Any) -> Configuration:
        file, line = find_caller() or ("the program", 0)
        return self.set_from(key, value, f"{file}:{line}" if line else file)

    def _read(self, key: str, default_value: T | None, parse: Callable[[Any], T]) -> T | None:
        if key not in self._values:
            return default_value
        try:
            return parse(self._values[key])
        except (ValueError, TypeError) as error:
            kind = parse.__name__.removeprefix("_to_").removeprefix("parse_")
            origin = self.origin_of(key)
            raise ConfigurationError(
                f"the setting cannot be read as {kind}",
                where=f"configuration key {key}" + (f", {origin}" if origin else ""),
                got=show_value(self._values[key]),
            ) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __repr__(self) -> str:
        return repr(self.to_dict())


def _to_bytearray(value: Any) -> bytearray:
    return bytearray(value.encode()) if isinstance(value, str) else bytearray(value)
