"""Settings from outside the program: `penstock-conf.yaml` and the client's options.

An operator's own setting wins over the environment's, that over the client's (`-p`), that over
the file's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.errors import ConfigurationError

CONF_FILE = "penstock-conf.yaml"
CONF_DIR_VARIABLE = "PENSTOCK_CONF_DIR"
#: Key of the Spark master that jobs run on; absent: this machine.
MASTER = "penstock.master"
#: Options of the client, as it passes them to the program that it starts.
CLIENT_VARIABLES = {"PENSTOCK_PARALLELISM": "parallelism.default"}


def load_configuration(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the settings of the file with those of the client laid over them.

    :param environ: environment variables; those of the process if left out.
    :raises ConfigurationError: if the file cannot be read.
    """
    environ = os.environ if environ is None else environ
    path = find_configuration_file(environ)
    settings = read_configuration_file(path) if path else {}
    for variable, key in CLIENT_VARIABLES.items():
        if environ.get(variable):
            settings[key] = environ[variable]
    return settings


def find_configuration_file(environ: Mapping[str, str]) -> Path | None:
    """Return the file in the folder that PENSTOCK_CONF_DIR names, or in the working directory.

    :raises ConfigurationError: if the variable is set and its folder holds no such file.
    """
    folder = environ.get(CONF_DIR_VARIABLE)
    path = Path(folder or ".") / CONF_FILE
    if path.is_file():
        return path
    if folder:
        raise ConfigurationError(
            "the configuration file does not exist",
            where=f"environment variable {CONF_DIR_VARIABLE}",
            got=str(path),
            todo=f"put a {CONF_FILE} into that folder, or unset {CONF_DIR_VARIABLE}",
        )
    return None


def read_configuration_file(path: Path) -> dict[str, str]:
    """Return a file's settings by dotted key; flat and nested YAML mean the same.

    :raises ConfigurationError: if it is no YAML mapping.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            "the configuration file is not valid YAML",
            where=str(path),
            got=" ".join(str(error).split()),
            todo="write one 'key: value' on each line",
        ) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigurationError(
            "the configuration file does not hold settings",
            where=str(path),
            got=f"a {type(content).__name__}",
            todo="write one 'key: value' on each line",
        )
    return dict(_flatten(content, ""))


def whole_number(settings: Mapping[str, str], key: str) -> int | None:
    """Return a setting as a number of at least 1, or None if it is absent.

    :raises ConfigurationError: if it is something else.
    """
    text = settings.get(key)
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigurationError(
            "the setting must be a whole number of at least 1",
            where=f"configuration key {key}",
            got=repr(text),
            todo="correct it in penstock-conf.yaml, in the environment or on the command line",
        )
    return number


def _flatten(node: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ";".join(_as_text(item) for item in value)
    return str(value)
