"""A checksum of results (key, number) that does not depend on their order."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from pathlib import Path


class Checksum:
    """How many results there are, their sum, and their sum weighted by the key.

    >>> Checksum().add([(1, 10), (2, 5)]) == Checksum().add([(2, 5), (1, 10)])
    True
    >>> Checksum().add([(1, 10), (2, 5)]) == Checksum().add([(2, 10), (1, 5)])
    False
    """

    __slots__ = ("count", "total", "weighted")

    def __init__(self, count: int = 0, total: int = 0, weighted: int = 0) -> None:
        self.count = count
        self.total = total
        self.weighted = weighted

    def add(self, results: Iterable[tuple[int, int]]) -> Checksum:
        """Take results in."""
        count = total = weighted = 0
        for key, number in results:
            count += 1
            total += number
            weighted += (key + 1) * number
        return self.merge(Checksum(count, total, weighted))

    def add_one(self, key: int, number: int) -> None:
        """Take one result in."""
        self.count += 1
        self.total += number
        self.weighted += (key + 1) * number

    def merge(self, other: Checksum) -> Checksum:
        """Take in what another one has seen."""
        self.count += other.count
        self.total += other.total
        self.weighted += other.weighted
        return self

    def as_list(self) -> list[int]:
        """Return the three numbers."""
        return [self.count, self.total, self.weighted]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checksum) and self.as_list() == other.as_list()

    def __repr__(self) -> str:
        return f"Checksum({self.count}, {self.total}, {self.weighted})"

    __hash__ = None  # type: ignore[assignment] - it changes


def leave(folder: str | Path, part: object) -> None:
    """Write what one subtask has seen into the folder where `gather` finds it."""
    name = uuid.uuid4().hex
    written = Path(folder) / f"{name}.part"
    written.write_text(json.dumps(part))
    written.rename(Path(folder) / f"{name}.json")


def gather(folder: str | Path) -> list:
    """Return what the subtasks have left."""
    return [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]


def gather_checksum(folder: str | Path) -> Checksum:
    """Return the checksum of what all subtasks have seen."""
    whole = Checksum()
    for part in gather(folder):
        whole.merge(Checksum(*part))
    return whole
