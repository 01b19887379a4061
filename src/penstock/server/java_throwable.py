"""A failure as Flink's Java clients read it: an object of theirs, in Java's serialization.

Their JSON has the exception as an object beside its text, and a client that cannot read it waits
for ever instead of telling. The object is Flink's `SerializedThrowable`, which carries texts only.
"""

from __future__ import annotations

import base64
import struct

_NAME = "org.apache.flink.util.SerializedThrowable"
#: Longest text: Java's own limit is 65,535 bytes.
_LONGEST = 16_000

# Marks of the format.
_NULL, _REFERENCE, _CLASS, _OBJECT, _STRING, _ARRAY, _END = (bytes([mark]) for mark in b"pqrstux")
_STREAM = bytes.fromhex("aced0005")
_SERIALIZABLE, _WRITES_ITSELF = 2, 3
#: The second object of the stream is the type of text fields, to which others refer.
_TEXT_TYPE = _REFERENCE + struct.pack(">I", 0x7E0001)


def failure_cause(kind: str, text: str) -> dict[str, str]:
    """Return a failure as answers of Flink have it."""
    return {"class": kind, "stack-trace": text, "serialized-throwable": serialized(kind, text)}


def serialized(kind: str, text: str) -> str:
    """Return a failure as clients take it: base64 of a serialized object.

    :param kind: name of the class of the failure.
    :param text: what is told of it.
    """
    throwable = _class("java.lang.Throwable", 0xD5C635273977B8CB, _WRITES_ITSELF, [
        (b"L", "cause", _text("Ljava/lang/Throwable;")),
        (b"L", "detailMessage", _TEXT_TYPE),
        (b"[", "stackTrace", _text("[Ljava/lang/StackTraceElement;")),
        (b"L", "suppressedExceptions", _text("Ljava/util/List;")),
    ], _NULL)  # fmt: skip
    exception = _class("java.lang.Exception", 0xD0FD1F3E1A3B1CC4, _SERIALIZABLE, [], throwable)
    whole = _class(_NAME, 0x65169DF51FA713F3, _SERIALIZABLE, [
        (b"L", "fullStringifiedStackTrace", _text("Ljava/lang/String;")),
        (b"L", "originalErrorClassName", _TEXT_TYPE),
        (b"[", "serializedException", _text("[B")),
    ], exception)  # fmt: skip
    frames = _class("[Ljava.lang.StackTraceElement;", 0x02462A3C3CFD2239, _SERIALIZABLE, [], _NULL)
    empty = _class("java.util.Collections$EmptyList", 0x7AB817B43CA79EDE, _SERIALIZABLE, [], _NULL)
    array = _class("[B", 0xACF317F8060854E0, _SERIALIZABLE, [], _NULL)
    no_elements = struct.pack(">I", 0)
    parts = (
        _STREAM, _OBJECT, whole,
        _NULL, _text(f"{kind}: {text}"), _ARRAY, frames, no_elements, _OBJECT, empty, _END,
        _text(f"{kind}: {text}\n"), _text(kind), _ARRAY, array, no_elements,
    )  # fmt: skip
    return base64.b64encode(b"".join(parts)).decode("ascii")


def _class(
    name: str, version: int, flags: int, fields: list[tuple[bytes, str, bytes]], parent: bytes
) -> bytes:
    described = b"".join(kind + _utf(field) + of for kind, field, of in fields)
    head = struct.pack(">QBH", version, flags, len(fields))
    return _CLASS + _utf(name) + head + described + _END + parent


def _text(text: str) -> bytes:
    return _STRING + _utf(text)


def _utf(text: str) -> bytes:
    """Return a text in Java's own UTF-8, which has no zero and no characters of four bytes."""
    plain = "".join(
        c if "\0" < c <= "\uffff" and not "\ud800" <= c <= "\udfff" else "?" for c in text
    )
    data = plain[:_LONGEST].encode("utf-8")
    return struct.pack(">H", len(data)) + data
