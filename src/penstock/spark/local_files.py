"""A file system for Spark's checkpoints on a local disk, without a process for every file.

Hadoop's own sets the permissions of each file that it creates by running `chmod`, and writes a
checksum file beside each: eight processes in a small batch, a fifth of its time. Both are turned
off by two Java classes of a few instructions, written here as class files into a jar, so that no
Java compiler is needed. Files then get the permissions that the process's umask says.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
from pathlib import Path

#: Value of Hadoop's `fs.file.impl`.
CLASS_NAME = "penstock.LocalFiles"

_HADOOP = "org/apache/hadoop/fs"
_RAW = "penstock/RawFiles"
_LOCAL = "penstock/LocalFiles"

# Instructions of the Java virtual machine.
_ALOAD_0, _ICONST_0, _DUP, _RETURN = b"\x2a", b"\x03", b"\x59", b"\xb1"
_NEW, _INVOKESPECIAL, _INVOKEVIRTUAL = b"\xbb", b"\xb7", b"\xb6"

_JAVA_8 = 52
_PUBLIC_SUPER = 0x0021
_PUBLIC = 0x0001


class _ClassFile:
    """A class file in the making; constants are added as they are used."""

    def __init__(self, name: str, parent: str) -> None:
        self._constants: dict[bytes, int] = {}
        self._name = self.type(name)
        self._parent = self.type(parent)
        self._methods: list[bytes] = []

    def type(self, name: str) -> int:
        return self._constant(b"\x07" + struct.pack(">H", self._text(name)))

    def method_of(self, owner: str, name: str, descriptor: str) -> bytes:
        """Return the operand that names a method."""
        pair = self._constant(
            b"\x0c" + struct.pack(">HH", self._text(name), self._text(descriptor))
        )
        return struct.pack(
            ">H", self._constant(b"\x0a" + struct.pack(">HH", self.type(owner), pair))
        )

    def add(self, name: str, descriptor: str, code: bytes, *, stack: int, variables: int) -> None:
        """Add a public method."""
        body = struct.pack(">HHI", stack, variables, len(code)) + code + struct.pack(">HH", 0, 0)
        attribute = struct.pack(">HI", self._text("Code"), len(body)) + body
        head = struct.pack(">HHHH", _PUBLIC, self._text(name), self._text(descriptor), 1)
        self._methods.append(head + attribute)

    def data(self) -> bytes:
        methods = struct.pack(">H", len(self._methods)) + b"".join(self._methods)
        pool = struct.pack(">H", len(self._constants) + 1) + b"".join(self._constants)
        head = struct.pack(">IHH", 0xCAFEBABE, 0, _JAVA_8)
        about = struct.pack(">HHHHH", _PUBLIC_SUPER, self._name, self._parent, 0, 0)
        return head + pool + about + methods + struct.pack(">H", 0)

    def _text(self, text: str) -> int:
        data = text.encode("ascii")
        return self._constant(b"\x01" + struct.pack(">H", len(data)) + data)

    def _constant(self, entry: bytes) -> int:
        return self._constants.setdefault(entry, len(self._constants) + 1)


def write_jar(path: Path) -> None:
    """Write the jar that must be on the class path of the driver and of local executors."""
    with zipfile.ZipFile(path, "w") as jar:
        for name, data in _classes().items():
            jar.writestr(f"{name}.class", data)


def fingerprint() -> str:
    """Return what tells two contents of the jar apart."""
    return hashlib.sha256(repr(_classes()).encode()).hexdigest()[:12]


def _classes() -> dict[str, bytes]:
    return {_RAW: _raw_files(), _LOCAL: _local_files()}


def _raw_files() -> bytes:
    """`class RawFiles extends RawLocalFileSystem` whose `setPermission` does nothing."""
    parent = f"{_HADOOP}/RawLocalFileSystem"
    made = _ClassFile(_RAW, parent)
    construct = _ALOAD_0 + _INVOKESPECIAL + made.method_of(parent, "<init>", "()V") + _RETURN
    made.add("<init>", "()V", construct, stack=1, variables=1)
    permission = f"(L{_HADOOP}/Path;L{_HADOOP}/permission/FsPermission;)V"
    made.add("setPermission", permission, _RETURN, stack=0, variables=3)
    return made.data()


def _local_files() -> bytes:
    """`class LocalFiles extends LocalFileSystem` on `RawFiles`, writing no checksums."""
    parent = f"{_HADOOP}/LocalFileSystem"
    made = _ClassFile(_LOCAL, parent)
    construct = (
        _ALOAD_0
        + _NEW
        + struct.pack(">H", made.type(_RAW))
        + _DUP
        + _INVOKESPECIAL
        + made.method_of(_RAW, "<init>", "()V")
        + _INVOKESPECIAL
        + made.method_of(parent, "<init>", f"(L{_HADOOP}/FileSystem;)V")
        + _ALOAD_0
        + _ICONST_0
        + _INVOKEVIRTUAL
        + made.method_of(_LOCAL, "setWriteChecksum", "(Z)V")
        + _RETURN
    )
    made.add("<init>", "()V", construct, stack=3, variables=1)
    return made.data()
