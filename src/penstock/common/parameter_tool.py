"""Parameters of a program: from the command line, a dict or a properties file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.option_values import parse_bool
from penstock.errors import ConfigurationError, show_value

_NO_VALUE = "__NO_VALUE_KEY"
_NUMBER = re.compile(r"-\d+(\.\d+)?([eE][+-]?\d+)?")


class ParameterTool:
    """Read a program's parameters.

    >>> parameters = ParameterTool.from_args(["--host", "localhost", "--port", "9999", "--debug"])
    >>> parameters.get("host"), parameters.get_int("port"), parameters.has("debug")
    ('localhost', 9999, True)
    """

    def __init__(self, data: Mapping[str, str]) -> None:
        self._data = dict(data)

    @staticmethod
    def from_args(args: Sequence[str]) -> ParameterTool:
        """Read `--key value` and `-key value`; a key without a value is a flag.

        :param args: usually `sys.argv[1:]`.
        :raises ConfigurationError: if something stands where a key should.
        """
        data: dict[str, str] = {}
        position = 0
        while position < len(args):
            key = _key_of(args, position)
            position += 1
            if position < len(args) and not _is_key(args[position]):
                data[key] = args[position]
                position += 1
            else:
                data[key] = _NO_VALUE
        return ParameterTool(data)

    @staticmethod
    def from_map(map: Mapping[str, Any]) -> ParameterTool:
        """Take the parameters of a dict."""
        return ParameterTool({str(key): str(value) for key, value in map.items()})

    @staticmethod
    def from_properties_file(path: str | Path) -> ParameterTool:
        """Read a properties file: `key=value` or `key: value` on each line.

        :raises ConfigurationError: if there is no such file.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                "the properties file cannot be read",
                where=str(path),
                got=error.strerror or str(error),
                todo="give the path of a file that exists and can be read",
            ) from error
        return ParameterTool(_read_properties(text))

    def get(self, key: str, default_value: str | None = None) -> str | None:
        """Return a parameter, or the default; None for a flag, which has no value."""
        value = self._data.get(key, default_value)
        return None if value == _NO_VALUE else value

    def get_required(self, key: str) -> str:
        """Return a parameter that must be there.

        :raises ConfigurationError: if it is not.
        """
        value = self.get(key)
        if value is None:
            raise ConfigurationError(
                f"no value for the required parameter {key!r}",
                got=f"parameters: {', '.join(sorted(self._data)) or 'none'}",
                todo=f"start the program with --{key} VALUE",
            )
        return value

    def get_int(self, key: str, default_value: int | None = None) -> int:
        """Return a parameter as a whole number."""
        return int(self._read(key, default_value, int, "a whole number"))

    def get_long(self, key: str, default_value: int | None = None) -> int:
        """Return a parameter as a whole number."""
        return self.get_int(key, default_value)

    def get_float(self, key: str, default_value: float | None = None) -> float:
        """Return a parameter as a number."""
        return float(self._read(key, default_value, float, "a number"))

    def get_double(self, key: str, default_value: float | None = None) -> float:
        """Return a parameter as a number."""
        return self.get_float(key, default_value)

    def get_boolean(self, key: str, default_value: bool | None = None) -> bool:
        """Return a parameter as true or false."""
        return bool(self._read(key, default_value, parse_bool, "true or false"))

    def has(self, key: str) -> bool:
        """Return whether a parameter was given, with a value or as a flag."""
        return key in self._data

    def get_number_of_parameters(self) -> int:
        """Return how many parameters there are."""
        return len(self._data)

    def merge_with(self, other: ParameterTool) -> ParameterTool:
        """Return both together; the other's parameters win."""
        return ParameterTool({**self._data, **other._data})

    def to_map(self) -> dict[str, str]:
        """Return the parameters; flags have an empty value."""
        return {key: "" if value == _NO_VALUE else value for key, value in self._data.items()}

    def get_configuration(self) -> Configuration:
        """Return the parameters as a configuration."""
        return Configuration.from_dict(self.to_map())

    def keys(self) -> list[str]:
        """Return the names. With `[]` this lets a ParameterTool stand for a dict."""
        return list(self._data)

    def __getitem__(self, key: str) -> str:
        return self.to_map()[key]

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParameterTool) and self._data == other._data

    def __hash__(self) -> int:
        return hash(frozenset(self._data.items()))

    def __repr__(self) -> str:
        return f"ParameterTool({self.to_map()!r})"

    def _read(self, key: str, default_value: Any, parse: Any, wanted: str) -> Any:
        if default_value is not None and self.get(key) is None:
            return default_value
        value = self.get_required(key)
        try:
            return parse(value)
        except ValueError as error:
            raise ConfigurationError(
                f"parameter {key!r} must be {wanted}", got=show_value(value)
            ) from error


def _is_key(text: str) -> bool:
    # A negative number is a value: `--offset -5`.
    return text.startswith("-") and _NUMBER.fullmatch(text) is None


def _key_of(args: Sequence[str], position: int) -> str:
    text = args[position]
    key = text.removeprefix("-").removeprefix("-") if _is_key(text) else ""
    if not key:
        raise ConfigurationError(
            "a parameter must begin with - or -- and have a name",
            where=f"argument {position + 1}",
            got=show_value(text),
            todo="write --key value",
        )
    return key


def _read_properties(text: str) -> dict[str, str]:
    data: dict[str, str] = {}
    for line in re.sub(r"\\\r?\n\s*", "", text).splitlines():
        line = line.strip()
        if line and line[0] not in "#!":
            parts = re.split(r"\s*[=:\s]\s*", line, maxsplit=1)
            data[parts[0]] = parts[1] if len(parts) == 2 else ""
    return data
