"""The one place that says which file system a path or URL is of: for connectors and for jobs.

A plain path and a `file:` URL are the machine's own files, and are reached through the operating
system. A URL of any other scheme is handed to `pyarrow.fs`, which knows `hdfs:`, `s3:`, `gs:` and
others; `register_file_system` adds one. Every function takes and returns whole paths: a string that
came out of here can be sent to another process and passed in there.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyarrow import fs

from penstock.connectors.file_stores import PATTERN, ArrowStore, FileStore, LocalStore
from penstock.errors import ConfigurationError, SinkError, SourceError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
#: What Hadoop calls a scheme, and pyarrow otherwise.
_ALIASES = {"s3a": "s3", "s3n": "s3"}
_registered: dict[str, fs.FileSystem] = {}


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
        filesystem, inner = fs.FileSystem.from_uri(f"{_ALIASES.get(name, name)}://{host}/")
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


def all_registered() -> dict[str, Any]:
    """Return the registered file systems that can be sent to a worker with a job."""
    found = {}
    for scheme, filesystem in _registered.items():
        with contextlib.suppress(Exception):  # one that lives in this process only
            pickle.dumps(filesystem)
            found[scheme] = filesystem
    return found


def ensure_registered(file_systems: Mapping[str, Any]) -> None:
    """Register what came with a job, a source or a sink, in the worker."""
    _registered.update(file_systems)


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
    return PATTERN.search(path) is not None


def join(folder: str, *names: str) -> str:
    """Return the path of something in a folder."""
    return "/".join([folder.rstrip("/") or folder, *names])
