"""Settings from outside the program: `penstock-conf.yaml` and the client's options.

An operator's own setting wins over the environment's, that over the client's (`-p`), that over
the file's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.common import Configuration
from penstock.common.option_registry import find_option
from penstock.common.option_values import to_text
from penstock.common.options import PARALLELISM
from penstock.errors import ConfigurationError

CONF_FILE = "penstock-conf.yaml"
CONF_DIR_VARIABLE = "PENSTOCK_CONF_DIR"
#: Options of the client, as it passes them to the program that it starts.
CLIENT_VARIABLES = {"PENSTOCK_PARALLELISM": PARALLELISM.key}
#: All options of the command line, as JSON by configuration key.
CLIENT_OPTIONS = "PENSTOCK_CLIENT_OPTIONS"
#: Set by a command line that wants to be told the ids of the jobs that a program starts.
SUBMITTED_VARIABLE = "PENSTOCK_PRINT_JOB_IDS"


def load_configuration(environ: Mapping[str, str] | None = None) -> Configuration:
    """Return the settings of the file with those of the client laid over them.

    :param environ: environment variables; those of the process if left out.
    :raises ConfigurationError: if the file cannot be read.
    """
    environ = os.environ if environ is None else environ
    path = find_configuration_file(environ)
    settings = read_configuration_file(path) if path else Configuration()
    for variable, key in CLIENT_VARIABLES.items():
        if environ.get(variable):
            settings.set_from(key, environ[variable], f"environment variable {variable}")
    for key, value in json.loads(environ.get(CLIENT_OPTIONS) or "{}").items():
        settings.set_from(key, value, "the command line")
    return settings


def lay_over(settings: Configuration, others: Configuration) -> None:
    """Take over settings that win, also where one of the two has an older key of the same."""
    for key in others.key_set():
        option = find_option(key)
        for known in () if option is None else (option.key, *option.deprecated_keys):
            settings.remove_config(known)
    settings.add_all(others)


def local_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


def read_configuration_file(path: Path) -> Configuration:
    """Return a file's settings by dotted key; flat and nested YAML mean the same.

    :raises ConfigurationError: if it is no YAML mapping.
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        settings = Configuration()
        if isinstance(root, yaml.MappingNode):
            for key, value, line in _flatten(root, ""):
                settings.set_from(key, value, f"{path}, line {line}")
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            "the configuration file is not valid YAML",
            where=str(path),
            got=" ".join(str(error).split()),
            todo="write one 'key: value' on each line",
        ) from error
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(
            "the configuration file does not hold settings",
            where=str(path),
            got="a list" if isinstance(root, yaml.SequenceNode) else "a single value",
            todo="write one 'key: value' on each line",
        )
    return settings


def _flatten(node: yaml.MappingNode, prefix: str) -> Iterator[tuple[str, str, int]]:
    """Yield key, value and line of every setting."""
    for key_node, value_node in node.value:
        key = f"{prefix}{_value(key_node)}"
        if isinstance(value_node, yaml.MappingNode):
            yield from _flatten(value_node, f"{key}.")
        elif (value := _value(value_node)) is not None:
            yield key, to_text(value), key_node.start_mark.line + 1


def _value(node: yaml.Node) -> Any:
    return yaml.SafeLoader("").construct_object(node, deep=True)
