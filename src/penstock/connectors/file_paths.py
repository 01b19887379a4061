"""The one place through which connectors reach files: a path or URL, and what can be done there.

A plain path and a `file:` URL are the machine's own files, and are reached through the operating
system. A URL of any other scheme is handed to `pyarrow.fs`, which knows `hdfs:`, `s3:`, `gs:` and
others; `register_file_system` adds one. Every function takes and returns whole paths: a string that
came out of here can be sent to another process and passed in there.
"""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyarrow import fs

from penstock.errors import ConfigurationError, SinkError, SourceError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_PATTERN = re.compile(r"[*?\[]")
_registered: dict[str, fs.FileSystem] = {}


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
        folder = _PATTERN.split(inner)[0].rpartition("/")[0]
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


_LOCAL = LocalStore()
#: By scheme and host: connecting is expensive.
_connected: dict[tuple[str, str], ArrowStore] = {}


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path in the form that all other functions take: an absolute path, or a URL.

    >>> absolute("file:///data/a%20b.txt")
    '/data/a b.txt'
    >>> absolute("s3://bucket/folder/")
    's3://bucket/folder/'
    """
    text = os.fspath(path)
    scheme = _SCHEME.match(text)
    if scheme is None or (scheme.group(2) is None and scheme.group(1) != "file"):
        return os.path.abspath(text)
    if scheme.group(1).lower() != "file":
        return text
    url = urlparse(text)
    if url.netloc not in ("", "localhost"):
        raise ConfigurationError(
            "a file: URL names another machine",
            got=text,
            todo="write file:///path, for a path that is mounted on every worker",
        )
    return os.path.abspath(unquote(url.path))


def local_path(path: str, where: str) -> str:
    """Return a path or a `file:` URL as an absolute path.

    :param where: what the path was given to, for the error.
    :raises SourceError: for a URL of another kind.
    """
    found = absolute(path)
    if "://" in found:
        raise SourceError(
            "files can only be read from a mounted file system, "
            f"not from {found.partition('://')[0]}://",
            where=where,
            got=path,
            todo="mount the file system on every worker and pass the path",
        )
    return found


def store_of(path: str) -> FileStore:
    """Return the file system of an absolute path or URL.

    :raises ConfigurationError: for a URL whose file system is unknown or cannot be reached.
    """
    scheme = _SCHEME.match(path)
    if scheme is None or scheme.group(2) is None:
        return _LOCAL
    name = scheme.group(1).lower()
    if name in _registered:
        return ArrowStore(_registered[name], path[: scheme.end()])
    host = urlparse(path).netloc
    if (name, host) not in _connected:
        _connected[name, host] = _connect(name, host)
    return _connected[name, host]


def _connect(name: str, host: str) -> ArrowStore:
    url = f"{name}://{host}"
    try:
        filesystem, inner = fs.FileSystem.from_uri(f"{url}/")
    except (pa.ArrowException, ValueError, OSError) as error:
        raise ConfigurationError(
            "a file system cannot be reached",
            got=f"{url} ({error})",
            todo="pass a path, a URL that pyarrow.fs can connect to, or register_file_system()",
        ) from error
    # A bucket is a part of the path within its file system, the address of a server is not.
    is_bucket = bool(host) and inner.strip("/") == host
    return ArrowStore(filesystem, f"{name}://" if is_bucket else url)


def register_file_system(scheme: str, filesystem: Any) -> None:
    """Serve the URLs of a scheme by a file system of pyarrow's.

    The rest of a URL behind `scheme://` is the path in the file system. Sources and sinks that are
    built afterwards take the file system along to the workers.

    :param filesystem: a `pyarrow.fs.FileSystem`.

    >>> from pyarrow import fs
    >>> register_file_system("lake", fs.SubTreeFileSystem("/mnt/lake", fs.LocalFileSystem()))
    """
    _registered[scheme.lower()] = filesystem


def registered_for(paths: Iterable[str]) -> dict[str, Any]:
    """Return the registered file systems that paths need, to be sent to a worker with them."""
    schemes = {path.partition("://")[0].lower() for path in paths if "://" in path}
    return {scheme: _registered[scheme] for scheme in schemes if scheme in _registered}


def ensure_registered(file_systems: Mapping[str, Any]) -> None:
    """Register what came with a source or sink, in the worker."""
    _registered.update(file_systems)


def is_hidden(name: str) -> bool:
    """Tell whether a file or folder of that name is left out when a folder is read."""
    return name.startswith((".", "_"))


def is_local(path: str) -> bool:
    """Tell whether an absolute path or URL is of this machine's own file system."""
    scheme = _SCHEME.match(path)
    return scheme is None or scheme.group(2) is None


def check_writable(path: str, where: str, *, folder: bool) -> None:
    """Look whether a file or folder of this machine can be written, or made; change nothing.

    :param where: who wants to, for the error.
    :param folder: it is a folder, else a file.
    :raises SinkError: if it cannot.
    """
    there = Path(path)
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir() and (folder or str(there) != path):
        problem = f"{there} is no folder"
    elif not os.access(there, os.W_OK | (os.X_OK if there.is_dir() else 0)):
        problem = f"{there} is not writable"
    else:
        return
    raise SinkError(
        "the output cannot be written",
        where=where,
        got=f"{path}; {problem}",
        todo="name a path that this user can write to",
    )


def is_pattern(path: str) -> bool:
    """Tell whether a path has characters that make it a pattern."""
    return _PATTERN.search(path) is not None


def join(folder: str, *names: str) -> str:
    """Return the path of something in a folder."""
    return "/".join([folder.rstrip("/") or folder, *names])


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
