"""What a file format is to a file source: it turns ranges of a file's bytes into records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.common.typeinfo import TypeInformation


class FilePiece(NamedTuple):
    """The bytes of a file from `start` on, in front of `end`: what is read of it in one go."""

    path: str
    start: int
    end: int
    #: Length of the file when it was found. What has been added since is not read.
    size: int


class FileFormat(ABC):
    """Read files. Must be picklable: it is shipped to the workers."""

    #: Type of the records, None if it is not known before a file is read.
    produced_type: TypeInformation | None = None

    @abstractmethod
    def read(self, piece: FilePiece) -> Iterator[list[Any]]:
        """Yield the records of a piece, many at once.

        Of a divisible file every record belongs to exactly one byte, say its first; `read` gives
        the records that belong to the bytes of the piece. So it does not matter how a file is
        cut. A file that is not divisible comes in one piece.

        :raises SourceError: if the file cannot be read; it names the file.
        """

    def is_divisible(self, path: str) -> bool:
        """Tell whether ranges of a file can be read, or only the whole. Default: the whole."""
        return False

    def record_bytes(self, path: str, size: int) -> float:
        """Estimate how many bytes of a file make a record. Default: 1, at worst."""
        return 1.0
