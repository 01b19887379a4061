"""Partitions of a table: folders `day=2024-01-01/hour=08` below its path."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any

from penstock.connectors.file_paths import store_of
from penstock.connectors.file_sink.assigners import BucketAssigner
from penstock.connectors.file_stores import is_hidden
from penstock.graph.relational import types as t
from penstock.table.factories.formats.text_values import text_reader, text_writer

DEFAULT_NAME = "__DEFAULT_PARTITION__"
#: Characters that a folder's name shows as a percent sign and their number, as Hive does.
_SPECIAL = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")


def escaped(text: str) -> str:
    """Return a text as a part of a folder's name.

    >>> escaped("a/b"), escaped("2024-01-01")
    ('a%2Fb', '2024-01-01')
    """
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text)


class PartitionNames:
    """The folders of a table's partitions.

    :param keys: names of the partition columns with their types, in order.
    """

    def __init__(self, keys: Sequence[tuple[str, t.LogicalType]], default: str) -> None:
        self.keys = tuple(keys)
        self.default = default

    def folder(self, values: Sequence[Any]) -> str:
        """Return the folder of the rows with these values."""
        parts = []
        for (name, kind), value in zip(self.keys, values, strict=True):
            text = "" if value is None else text_writer(kind)(value)
            parts.append(f"{escaped(name)}={escaped(text) if text else self.default}")
        return "/".join(parts)

    def values(self, path: str) -> tuple[Any, ...]:
        """Return the values that the folders of a path stand for; NULL where there is none."""
        texts: dict[str, str] = {}
        for part in path.split("/"):
            name, found, text = part.partition("=")
            if found:
                texts[urllib.parse.unquote(name)] = text
        values: list[Any] = []
        for name, kind in self.keys:
            text = texts.get(name, self.default)
            unknown = text == self.default
            values.append(None if unknown else text_reader(kind)(urllib.parse.unquote(text)))
        return tuple(values)

    def found(self, base: str) -> list[str]:
        """Return the folders of the partitions below a path, in order."""
        store = store_of(base)
        folders: set[str] = set()
        for file in store.list_files(base, recursive=True) if store.is_folder(base) else ():
            folder = file.path[len(base) :].strip("/").rpartition("/")[0]
            parts = folder.split("/")[: len(self.keys)]
            named = [urllib.parse.unquote(part.partition("=")[0]) for part in parts]
            if named == [name for name, _ in self.keys] and not any(map(is_hidden, parts)):
                folders.add("/".join(parts))
        return sorted(folders)


class PartitionAssigner(BucketAssigner[Any]):
    """Put rows into the folder of their partition."""

    def __init__(self, names: PartitionNames, places: tuple[int, ...]) -> None:
        self._names = names
        self._places = places
        self._known: dict[tuple[Any, ...], str] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        values = tuple(element[i] for i in self._places)
        folder = self._known.get(values)
        if folder is None:
            if len(self._known) > 10_000:
                self._known.clear()
            folder = self._known[values] = self._names.folder(values)
        return folder


Pick = Callable[[Any], Any]
