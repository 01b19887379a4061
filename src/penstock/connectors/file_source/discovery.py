"""Find the files that the paths of a source name."""

from __future__ import annotations

import re
import zlib
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from penstock.connectors.file_paths import is_local, is_pattern, store_of
from penstock.connectors.file_stores import FileStatus
from penstock.errors import SourceError

_CHECKED = 4096


class FoundFile(NamedTuple):
    """A file that a source reads."""

    status: FileStatus
    #: Checksums of its beginning and of its end: they tell a file that has grown from one that
    #: has been written anew.
    head: int
    tail: int


class Discovery:
    """Look for files.

    :param paths: files, folders and patterns, absolute.
    :param recursive: also look into the folders of folders.
    :param operator: name of the source, for errors.
    :param only: an expression that the whole path of a file must match.
    """

    def __init__(
        self, paths: Sequence[str], *, recursive: bool, operator: str, only: str | None = None
    ) -> None:
        self._paths = paths
        self._only = None if only is None else re.compile(only)
        self._recursive = recursive
        self._where = f"source {operator!r}"

    def look(self, known: Container[str] = (), *, patient: bool = False) -> list[FoundFile]:
        """Return the files that are there and have any bytes, each once.

        An empty file is left out: it may be one that somebody is about to write.

        :param known: paths to leave out.
        :param patient: a pattern that matches nothing, and a file that goes away meanwhile, are
            no errors.
        :raises SourceError: if a path names nothing, or something that may not be read.
        """
        found: dict[str, FoundFile] = {}
        for path in self._paths:
            try:
                for status in self._under(path, known, patient):
                    if self._only is not None and not self._only.fullmatch(status.path):
                        continue
                    if status.size > 0 and status.path not in found:
                        found[status.path] = note(status)
            except OSError as error:
                if patient and isinstance(error, FileNotFoundError) and self._is_there(path):
                    continue  # the next look will have it, if it is still there
                raise SourceError(
                    "a path cannot be read",
                    where=self._where,
                    got=f"{error.filename or path} ({error.strerror or error})",
                    todo="check that the path may be read by this user",
                ) from error
        return list(found.values())

    def check(self, *, patient: bool) -> None:
        """Look whether every local path names something, without a look at the files themselves.

        :raises SourceError: if one does not.
        """
        for path in self._paths:
            if is_local(path):
                self._matches(path, patient)

    def _under(self, path: str, known: Container[str], patient: bool) -> Iterator[FileStatus]:
        store = store_of(path)
        for match in self._matches(path, patient):
            if match in known:
                continue
            status = store.status(match)
            if status is not None:
                yield status
            else:
                yield from store.list_files(match, recursive=self._recursive, skip=known)

    def _matches(self, path: str, patient: bool) -> list[str]:
        """Return the files and folders that a path names."""
        store = store_of(path)
        if store.exists(path):
            return [path]
        matches = store.match(path) if is_pattern(path) else []
        if not matches and not (patient and is_pattern(path)):
            raise SourceError(
                "there is no such file or folder, and no file that matches it as a pattern",
                where=self._where,
                got=path,
                todo="check the path; it must exist on this machine and on every worker",
            )
        return matches

    def _is_there(self, path: str) -> bool:
        return is_pattern(path) or store_of(path).exists(path)


def note(status: FileStatus, size: int | None = None) -> FoundFile:
    """Return a file with its checksums, as if it had a smaller size if that is given.

    It is also how a file that may not be read is found out before the job reads it.

    :raises OSError: if it cannot be read.
    """
    size = status.size if size is None else min(size, status.size)
    with store_of(status.path).open_input(status.path) as file:
        head = zlib.crc32(file.read(min(size, _CHECKED)))
        file.seek(max(size - _CHECKED, 0))
        tail = zlib.crc32(file.read(min(size, _CHECKED)))
    return FoundFile(status._replace(size=size), head, tail)
