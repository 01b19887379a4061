"""What a savepoint is on disk: a folder with data files and one manifest, which is written last.

    <folder>/_metadata        the manifest, JSON; without it there is no savepoint
    <folder>/<name>.state     data: what one task wrote

Names in the manifest are relative to the folder, so it can be moved and copied. The manifest says
for each operator, by uid: its name, parallelism, maximum parallelism and layout tag, and what its
subtasks left, each piece by file, offset and length:

- **keyed state and timers** by key group, in one piece or in several of different keys: a pickled
  `{place: (kind, delta)}`. A *place* is a named state or a queue of timers; a delta is what a table
  of that kind (`runtime/state`) takes in its `apply`. Keys and values are as the tables hold them:
  values that could change are `codec.Frozen`.
- **operator state** of a subtask: the same, for lists and maps that belong to no key.
- **the rest** of a subtask (attributes of functions, watermarks, open parts of a sink): the pickled
  `PlainState`.

Where the sources stand is in the manifest itself. Reading needs nothing of the program but the
classes that its keys and values are made of.
"""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import IO, Any

from penstock.connectors.file_paths import absolute, join, store_of
from penstock.core.pickling import dumps
from penstock.errors import StateError

METADATA = "_metadata"
VERSION = 1
_SUFFIX = ".state"

#: Kind and delta by place: what a key group, or a subtask's operator state, holds.
Changes = dict[str, tuple[str, Any]]


@dataclass(frozen=True)
class OperatorInfo:
    """What is known of an operator beside its state."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    #: Tag of the layout of its state: see `runtime.state.layout`.
    layout: str
    #: Where it ran, and how records reached it. Of no matter to its state.
    level: int = 0
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Extent:
    """A piece of a data file."""

    file: str
    offset: int
    length: int


@dataclass(frozen=True)
class Part:
    """What one subtask of an operator left."""

    uid: str
    subtask: int
    plain: Extent | None = None
    operator_state: Extent | None = None
    #: Keyed state and timers by key group.
    groups: dict[int, Extent] = field(default_factory=dict)
    #: Kind by place, for whoever lists what there is.
    states: dict[str, str] = field(default_factory=dict)

    def extents(self) -> Iterator[Extent]:
        """Return all pieces."""
        yield from self.groups.values()
        yield from (extent for extent in (self.plain, self.operator_state) if extent is not None)


@dataclass(frozen=True)
class PlainState:
    """What a subtask keeps beside keyed and operator state."""

    #: As the operator's `snapshot` gave it; None if there is none.
    operator: dict[str, Any] | None = None
    #: State of its gate, and the channels (name of the edge, sender) in the gate's order.
    gate: tuple[Any, ...] | None = None
    channels: tuple[tuple[str, int], ...] = ()
    #: What its exchange writers remember, by name of the edge.
    writers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """All there is to know of a savepoint but the data."""

    operators: tuple[OperatorInfo, ...]
    parts: tuple[Part, ...]
    #: The offset at which it was taken: see `coordinator.offsets`.
    offset: dict[str, Any] = field(default_factory=dict)
    #: Files that connectors keep in the job's folder, by their names there and here.
    files: tuple[str, ...] = ()
    job_id: str = ""
    job_name: str = ""
    #: Number of the last batch that is in it: numbers go on from there.
    batch: int = -1
    #: Wall-clock time at which it was completed, in epoch milliseconds.
    created: int = 0
    version: int = VERSION
    #: Records that iterations have sent back and nobody has read yet, by the uid of the head.
    feedback: Extent | None = None

    def operator(self, uid: str) -> OperatorInfo:
        """Return an operator by uid.

        :raises StateError: if the savepoint holds none of that uid.
        """
        for info in self.operators:
            if info.uid == uid:
                return info
        raise StateError(
            "the savepoint has no operator of that uid",
            got=repr(uid),
            todo=f"use one of: {', '.join(repr(info.uid) for info in self.operators)}",
        )

    def parts_of(self, uid: str) -> list[Part]:
        """Return what the subtasks of an operator left, in order."""
        return sorted((p for p in self.parts if p.uid == uid), key=lambda part: part.subtask)

    def size(self) -> int:
        """Return the number of bytes of data."""
        return sum(extent.length for part in self.parts for extent in part.extents())


class Savepoint:
    """Read a savepoint.

    savepoint = Savepoint.open("/savepoints/savepoint-1a2b3c-...")
    for changes in savepoint.keyed("totals"):
        kind, delta = changes["rolling"]
    """

    def __init__(self, path: str, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def open(cls, path: str) -> Savepoint:
        """Open a savepoint by its folder, or by its manifest.

        :raises StateError: if there is none.
        """
        folder = absolute(path).rstrip("/").removesuffix(f"/{METADATA}")
        try:
            with store_of(folder).open_input(join(folder, METADATA)) as file:
                data = file.read()
        except FileNotFoundError:
            raise StateError(
                "there is no savepoint in that folder",
                where=folder,
                got=f"no file {METADATA}",
                todo="give the folder that holds it; one without it was not completed",
            ) from None
        return cls(folder, parse_manifest(data, folder))

    def read(self, extent: Extent) -> Any:
        """Return a piece of data, unpickled.

        :raises StateError: if it is not there, or of a class that is not.
        """
        path = join(self.path, extent.file)
        with store_of(path).open_input(path) as file:
            file.seek(extent.offset)
            data = file.read(extent.length)
        if len(data) != extent.length:
            raise StateError(
                "a file of the savepoint is too short",
                where=path,
                got=f"{len(data)} of {extent.length} bytes at {extent.offset}",
                todo="copy the whole folder again",
            )
        return unpickled(data, self.path)

    def keyed(self, uid: str, groups: Sequence[int] | range | None = None) -> Iterator[Changes]:
        """Return the keyed state and timers of an operator, one key group after the other.

        :param groups: only these; all by default.
        """
        pieces: dict[int, list[Extent]] = {}
        for part in self.manifest.parts_of(uid):
            for group, extent in part.groups.items():
                if groups is None or group in groups:
                    pieces.setdefault(group, []).append(extent)
        for _, extents in sorted(pieces.items()):
            changes: Changes = {}
            for extent in extents:
                _join(changes, self.read(extent))
            yield changes

    def operator_state(self, uid: str) -> dict[int, Changes]:
        """Return the operator state of an operator, by subtask; those without any are left out."""
        parts = self.manifest.parts_of(uid)
        return {
            part.subtask: self.read(part.operator_state) for part in parts if part.operator_state
        }

    def plain(self, uid: str) -> dict[int, PlainState]:
        """Return what the subtasks of an operator kept beside that."""
        parts = self.manifest.parts_of(uid)
        return {part.subtask: self.read(part.plain) for part in parts if part.plain}


def _join(changes: Changes, more: Changes) -> None:
    """Add to what keys hold what other keys hold, or the same keys in other places."""
    for place, (kind, delta) in more.items():
        if place in changes:
            # Lists of the same kinds of things in all of them, and how many timers there were.
            pairs = zip(changes[place][1], delta, strict=True)
            delta = tuple(a + b if isinstance(a, list) else max(a, b) for a, b in pairs)
        changes[place] = (kind, delta)


def unpickled(data: bytes, where: str) -> Any:
    """Return state as objects.

    :raises StateError: if a class of it cannot be found, or does not take what it left.
    """
    try:
        return pickle.loads(data)
    except (AttributeError, ImportError, TypeError) as error:
        raise StateError(
            "state was written with a class that is not there, or not as it was",
            where=where,
            got=f"{type(error).__name__}: {error}",
            todo="keep the classes of keys and state where they were, under the same names",
        ) from error


class PartWriter:
    """Write the data file of one task. Its name is new each time: a repeated attempt harms nobody.

    :param folder: of the savepoint.
    """

    def __init__(self, folder: str) -> None:
        self.file = uuid.uuid4().hex + _SUFFIX
        path = join(folder, self.file)
        self._stream: IO[bytes] = store_of(path).open_output(path)
        self._offset = 0

    def write(self, value: Any) -> Extent:
        """Append an object and return where it is."""
        data = dumps(value)
        self._stream.write(data)
        extent = Extent(self.file, self._offset, len(data))
        self._offset += len(data)
        return extent

    def close(self) -> None:
        """Complete the file."""
        self._stream.close()


def write_feedback(folder: str, feedback: Mapping[str, list[bytes]]) -> Extent | None:
    """Write what iterations have sent back; return where it is, None for nothing."""
    if not any(feedback.values()):
        return None
    writer = PartWriter(folder)
    extent = writer.write(dict(feedback))
    writer.close()
    return extent


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Write the manifest: from now on there is a savepoint."""
    path = join(folder, METADATA)
    store = store_of(path)
    unfinished = f"{path}.{uuid.uuid4().hex}.tmp"
    with store.open_output(unfinished) as file:
        file.write(json.dumps(_as_json(manifest)).encode())
    store.rename(unfinished, path)


def parse_manifest(data: bytes, where: str) -> Manifest:
    """Read a manifest.

    :raises StateError: if it is none, or of a version that is not known.
    """
    try:
        found = json.loads(data)
        version = found["version"]
    except (ValueError, KeyError, TypeError):
        raise StateError(
            "the manifest of the savepoint cannot be read", where=where, got=repr(data[:40])
        ) from None
    if version != VERSION:
        raise StateError(
            "the savepoint is of a version that is not known",
            where=where,
            got=f"version {version}; this release reads {VERSION}",
            todo="use the release that wrote it",
        )
    found["operators"] = tuple(info_of(entry) for entry in found["operators"])
    found["files"] = tuple(found["files"])
    found["feedback"] = found.get("feedback") and Extent(*found["feedback"])
    found["parts"] = tuple(_part_of(entry) for entry in found["parts"])
    return Manifest(**found)


def info_of(entry: Mapping[str, Any]) -> OperatorInfo:
    """Return an operator's entry in a manifest as an object."""
    return replace(OperatorInfo(**entry), inputs=tuple(entry.get("inputs", ())))


def _as_json(manifest: Manifest) -> dict[str, Any]:
    document = asdict(replace(manifest, parts=()))
    document["feedback"] = _listed(manifest.feedback)
    document["parts"] = [
        {
            "uid": part.uid,
            "subtask": part.subtask,
            "plain": _listed(part.plain),
            "operator_state": _listed(part.operator_state),
            "groups": {str(group): _listed(at) for group, at in sorted(part.groups.items())},
            "states": part.states,
        }
        for part in manifest.parts
    ]
    return document


def _listed(extent: Extent | None) -> list[Any] | None:
    return None if extent is None else [extent.file, extent.offset, extent.length]


def _part_of(entry: Mapping[str, Any]) -> Part:
    plain, operator_state = entry["plain"], entry["operator_state"]
    return Part(
        entry["uid"],
        entry["subtask"],
        plain and Extent(*plain),
        operator_state and Extent(*operator_state),
        {int(group): Extent(*at) for group, at in entry["groups"].items()},
        dict(entry["states"]),
    )
