"""File systems: what can be done with the files of this machine, and with those of pyarrow's."""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator
from typing import IO, Any, NamedTuple, cast

from pyarrow import fs

#: Characters that make a path a pattern.
PATTERN = re.compile(r"[*?\[]")
#: Ends the name of a file that is being written.
UNFINISHED = ".tmp"
#: Ends the name of a file that is complete and about to take another one's place.
_NEXT = ".next"
#: Kinds of pyarrow's file systems whose files appear when they are closed, as a whole: a file that
#: is there is replaced at that moment.
_ATOMIC_WRITES = ("s3", "gcs", "abfs")
#: Those whose `move` puts one file in the place of another at once.
_ATOMIC_MOVES = ("local",)


class FileStatus(NamedTuple):
    """What a file looks like from outside."""

    path: str
    size: int
    #: Time of the last change in nanoseconds since the epoch; 0 if the store has none.
    modified: int
    #: What tells this file from another one that took its name; 0 if the store has no such thing.
    inode: int


class FileStore(ABC):
    """A file system. All errors are `OSError`."""

    #: Whether `open_append` works.
    can_append = False

    @abstractmethod
    def status(self, path: str) -> FileStatus | None:
        """Return what a file looks like; None for a folder.

        :raises FileNotFoundError: if there is neither.
        """

    @abstractmethod
    def list_files(
        self,
        folder: str,
        *,
        recursive: bool,
        hidden: bool = False,
        skip: Container[str] = (),
    ) -> list[FileStatus]:
        """Return the files of a folder, by name.

        :param hidden: also those whose names, or the names of folders on the way, start with
            `.` or `_`.
        :param skip: paths to leave out; they cost less than looking at a file.
        """

    @abstractmethod
    def match(self, pattern: str) -> list[str]:
        """Return the files and folders that match a pattern of `*`, `?`, `[...]` and `**`."""

    @abstractmethod
    def open_input(self, path: str) -> IO[bytes]:
        """Open a file to read; the result can seek."""

    @abstractmethod
    def open_output(self, path: str) -> IO[bytes]:
        """Create or replace a file, and the folders that it lies in."""

    def open_append(self, path: str, size: int) -> IO[bytes]:
        """Cut a file to `size` bytes and open it to write behind them.

        :raises OSError: if the store cannot do that.
        """
        raise OSError(f"files in {type(self).__name__} cannot be appended to: {path}")

    @abstractmethod
    def open_log(self, path: str) -> IO[bytes]:
        """Open a file to write to, unbuffered where files can be appended to: behind what is there.

        Elsewhere it is a new file, of which nobody sees anything before it is closed, or parts.
        """

    @abstractmethod
    def write_whole(self, path: str, data: bytes) -> None:
        """Create or replace a small file, and the folders that it lies in.

        Whoever calls `read_whole` finds the old content or the new, never a part and never nothing.
        """

    @abstractmethod
    def read_whole(self, path: str) -> bytes | None:
        """Return what `write_whole` has written, None if there is no such file."""

    def delete_whole(self, path: str) -> None:
        """Remove what `write_whole` has written, if there is such a file."""
        self.delete(path)

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; none if there is no such folder.

        Files that `write_whole` has not finished are left out.
        """

    @abstractmethod
    def rename(self, source: str, target: str) -> None:
        """Give a file another name in the same store, in place of what bore it."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file; one that is not there is no error."""

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Create a folder and those above it, unless they are there."""

    @abstractmethod
    def delete_folder(self, path: str) -> None:
        """Remove a folder and all that is below it; one that is not there is no error."""

    def exists(self, path: str) -> bool:
        """Tell whether there is a file or a folder."""
        try:
            self.status(path)
        except FileNotFoundError:
            return False
        return True

    def is_folder(self, path: str) -> bool:
        """Tell whether there is a folder."""
        try:
            return self.status(path) is None
        except FileNotFoundError:
            return False

    def size(self, path: str) -> int:
        """Return the length of a file in bytes.

        :raises FileNotFoundError: if there is none.
        """
        status = self.status(path)
        if status is None:
            raise IsADirectoryError(f"is a folder: {path}")
        return status.size


class LocalStore(FileStore):
    """The files of this machine, by absolute path."""

    can_append = True

    def status(self, path: str) -> FileStatus | None:
        found = os.stat(path)
        return None if stat.S_ISDIR(found.st_mode) else _local_status(path, found)

    def list_files(
        self,
        folder: str,
        *,
        recursive: bool,
        hidden: bool = False,
        skip: Container[str] = (),
    ) -> list[FileStatus]:
        return list(self._walk(folder, recursive, hidden, skip))

    def _walk(
        self, folder: str, recursive: bool, hidden: bool, skip: Container[str]
    ) -> Iterator[FileStatus]:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            if entry.path in skip or (not hidden and is_hidden(entry.name)):
                continue
            try:
                if entry.is_file():
                    yield _local_status(entry.path, entry.stat())
                elif recursive and entry.is_dir():
                    yield from self._walk(entry.path, recursive, hidden, skip)
            except FileNotFoundError:
                # Gone since the folder was read: as if it had gone before.
                continue

    def match(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern, recursive=True))

    def open_input(self, path: str) -> IO[bytes]:
        return open(path, "rb")

    def open_output(self, path: str) -> IO[bytes]:
        self.make_folder(os.path.dirname(path))
        return open(path, "wb")

    def open_append(self, path: str, size: int) -> IO[bytes]:
        file = open(path, "r+b")  # noqa: SIM115 - the caller closes it
        file.truncate(size)
        file.seek(size)
        return file

    def open_log(self, path: str) -> IO[bytes]:
        return open(path, "ab", buffering=0)

    def write_whole(self, path: str, data: bytes) -> None:
        # It survives the death of the process. It is not forced through the operating system's
        # cache, as Spark's own logs on a local disk are not: a power failure may lose both.
        unfinished = path + UNFINISHED
        try:
            file = open(unfinished, "wb")  # noqa: SIM115 - closed below
        except FileNotFoundError:
            self.make_folder(os.path.dirname(path))
            file = open(unfinished, "wb")  # noqa: SIM115 - closed below
        with file:
            file.write(data)
        os.replace(unfinished, path)

    def read_whole(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        try:
            found = os.listdir(folder)
        except FileNotFoundError:
            return []
        return sorted(name for name in found if not name.endswith(UNFINISHED))

    def rename(self, source: str, target: str) -> None:
        self.make_folder(os.path.dirname(target))
        os.replace(source, target)

    def delete(self, path: str) -> None:
        try:
            os.remove(path)
        except FileNotFoundError:
            return

    def make_folder(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def delete_folder(self, path: str) -> None:
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return


class ArrowStore(FileStore):
    """The files of a file system of pyarrow's, by URL.

    :param prefix: what stands in front of the file system's own paths, such as `s3://`.
    """

    def __init__(self, filesystem: fs.FileSystem, prefix: str) -> None:
        self._fs = filesystem
        self._prefix = prefix
        inner = filesystem
        while isinstance(inner, fs.SubTreeFileSystem):
            inner = inner.base_fs
        self._kind = inner.type_name

    def _inner(self, path: str) -> str:
        return path.removeprefix(self._prefix).rstrip("/")

    def _info(self, path: str) -> fs.FileInfo:
        (info,) = self._fs.get_file_info([self._inner(path)])
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(2, os.strerror(2), path)
        return info

    def _status(self, info: fs.FileInfo) -> FileStatus:
        return FileStatus(self._prefix + info.path, info.size or 0, info.mtime_ns or 0, 0)

    def status(self, path: str) -> FileStatus | None:
        info = self._info(path)
        return None if info.type == fs.FileType.Directory else self._status(info)

    def list_files(
        self,
        folder: str,
        *,
        recursive: bool,
        hidden: bool = False,
        skip: Container[str] = (),
    ) -> list[FileStatus]:
        inner = self._inner(folder)
        selector = fs.FileSelector(inner, recursive=recursive)
        found = (info for info in self._fs.get_file_info(selector) if info.is_file)
        shown = (info for info in found if hidden or not _hidden_below(inner, info.path))
        listed = map(self._status, sorted(shown, key=lambda info: info.path))
        return [status for status in listed if status.path not in skip]

    def match(self, pattern: str) -> list[str]:
        inner = self._inner(pattern)
        folder = PATTERN.split(inner)[0].rpartition("/")[0]
        wanted = re.compile(_as_regex(inner))
        selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
        found = (info.path for info in self._fs.get_file_info(selector))
        return sorted(self._prefix + path for path in found if wanted.fullmatch(path))

    def open_input(self, path: str) -> IO[bytes]:
        file: Any = self._fs.open_input_file(self._inner(path))
        return io.BufferedReader(file)

    def open_output(self, path: str) -> IO[bytes]:
        self.make_folder(path.rpartition("/")[0])
        return cast("IO[bytes]", self._fs.open_output_stream(self._inner(path)))

    def open_log(self, path: str) -> IO[bytes]:
        return self.open_output(path)

    def write_whole(self, path: str, data: bytes) -> None:
        if self._kind in _ATOMIC_WRITES:
            self._write(path, data)
            return
        unfinished, following = path + UNFINISHED, path + _NEXT
        self._write(unfinished, data)
        if self._kind in _ATOMIC_MOVES:
            self.rename(unfinished, path)
            return
        # A move may not replace, or not at once. So the new file stands under a name of its own
        # before the old one goes, and a reader that finds no old one looks there.
        if not self.exists(path):
            self.rename(unfinished, path)
            self.delete(following)  # of a process that died here
            return
        self.delete(following)
        self.rename(unfinished, following)
        self.delete(path)
        self.rename(following, path)

    def _write(self, path: str, data: bytes) -> None:
        self.make_folder(path.rpartition("/")[0])
        # Closed only after all is written: closing makes the file appear.
        stream = self._fs.open_output_stream(self._inner(path))
        stream.write(data)
        stream.close()

    def read_whole(self, path: str) -> bytes | None:
        for name in (path, path + _NEXT, path):
            try:
                with self.open_input(name) as file:
                    return file.read()
            except FileNotFoundError:
                continue
        return None

    def delete_whole(self, path: str) -> None:
        if self._kind not in (*_ATOMIC_WRITES, *_ATOMIC_MOVES):
            self.delete(path + _NEXT)
        self.delete(path)

    def names(self, folder: str) -> list[str]:
        selector = fs.FileSelector(self._inner(folder), allow_not_found=True)
        found = {info.base_name for info in self._fs.get_file_info(selector)}
        whole = {name.removesuffix(_NEXT) for name in found if not name.endswith(UNFINISHED)}
        return sorted(whole)

    def rename(self, source: str, target: str) -> None:
        self.make_folder(target.rpartition("/")[0])
        self._fs.move(self._inner(source), self._inner(target))

    def delete(self, path: str) -> None:
        try:
            self._fs.delete_file(self._inner(path))
        except FileNotFoundError:
            return

    def make_folder(self, path: str) -> None:
        self._fs.create_dir(self._inner(path), recursive=True)

    def delete_folder(self, path: str) -> None:
        try:
            self._fs.delete_dir(self._inner(path))
        except FileNotFoundError:
            return


def is_hidden(name: str) -> bool:
    """Tell whether a file or folder of that name is left out when a folder is read."""
    return name.startswith((".", "_"))


def _local_status(path: str, found: os.stat_result) -> FileStatus:
    return FileStatus(path, found.st_size, found.st_mtime_ns, found.st_ino)


def _hidden_below(folder: str, path: str) -> bool:
    below = path[len(folder) :].strip("/")
    return any(map(is_hidden, below.split("/")))


def _as_regex(pattern: str) -> str:
    r"""Return a pattern as a regular expression; `**` alone between slashes is any folders.

    >>> _as_regex("a/**/*.tx[tz]")
    'a/(?:.+/)?[^/]*\\.tx[tz]'
    """
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    meant = {"**/": "(?:.+/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        meant.get(part) or (part if part[:1] == "[" else re.escape(part)) for part in parts
    )
