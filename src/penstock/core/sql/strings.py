"""Texts and bytes."""

from __future__ import annotations

import base64
import binascii
import json
import re
import string
from typing import Any
from urllib.parse import quote_plus, unquote_to_bytes, urlsplit

from penstock.core.sql.java_format import formatted
from penstock.errors import EvaluationError

_CHARSETS = {
    "US-ASCII": "ascii", "ISO-8859-1": "latin-1", "UTF-8": "utf-8", "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
}  # fmt: skip
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def hex_of(text: str) -> str:
    """Show the bytes of a text in base 16."""
    return text.encode("utf-8").hex().upper()


def unhex(text: str) -> bytes | None:
    """Read bytes in base 16; NULL if there are other characters."""
    if not all(character in string.hexdigits for character in text):
        return None
    # The lone first digit of an odd number of them is dropped for a zero byte.
    return b"\0" + bytes.fromhex(text[1:]) if len(text) % 2 else bytes.fromhex(text)


def index_of(needle: str, text: str, start: int = 1) -> int:
    """Return where one text begins in another, from 1; 0 if it does not."""
    return text.find(needle, max(start, 1) - 1) + 1


def substring(text: Any, start: int, length: int | None = None) -> Any:
    """Return a part of a text; a negative start counts from the end."""
    size = len(text)
    if length is not None and length <= 0:
        return text[:0]
    begin = start - 1 if start > 0 else (size + start if start < 0 else 0)
    if length is None:
        return text[begin:] if begin >= 0 else text[:0]
    if begin < 0:
        return text[:0]
    return text[begin : begin + length]


def left(text: str, length: int) -> str:
    """Return the first characters."""
    return text[:length] if length > 0 else ""


def right(text: str, length: int) -> str:
    """Return the last characters."""
    return text[-length:] if length > 0 else ""


def trim(side: str, characters: str, text: str) -> str:
    """Remove characters from the ends."""
    if side == "LEADING":
        return text.lstrip(characters)
    return text.rstrip(characters) if side == "TRAILING" else text.strip(characters)


def repeat(text: str, count: int) -> str:
    """Return a text some times over."""
    return text * max(count, 0)


def overlay(text: str, new: str, start: int, length: int | None = None) -> str:
    """Put a text in the place of a part of another."""
    size = len(new) if length is None else length
    if start <= 0 or start > len(text):
        return text
    if size < 0 or start - 1 + size > len(text):
        return text[: start - 1] + new
    return text[: start - 1] + new + text[start - 1 + size :]


def initcap(text: str) -> str:
    """Begin each word with a capital."""
    return re.sub(r"[A-Za-z0-9]+", lambda m: m[0][0].upper() + m[0][1:].lower(), text)


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """Join the texts that are not NULL."""
    if separator is None:
        return None
    return separator.join([text for text in texts if text is not None])


def lpad(text: str, length: int, pad: str) -> str | None:
    """Fill up on the left to a length."""
    if length < 0 or (not pad and length > len(text)):
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    return (pad * (missing // len(pad) + 1))[:missing] + text


def rpad(text: str, length: int, pad: str) -> str | None:
    """Fill up on the right to a length."""
    if length < 0 or (not pad and length > len(text)):
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    return text + (pad * (missing // len(pad) + 1))[:missing]


def from_base64(text: Any) -> str:
    """Decode base 64 into a text."""
    data = text.encode("utf-8") if isinstance(text, str) else text
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise EvaluationError(f"FROM_BASE64: {error}", got=repr(text)) from None


def to_base64(text: Any) -> str:
    """Encode a text or bytes in base 64."""
    data = text.encode("utf-8") if isinstance(text, str) else text
    return base64.b64encode(data).decode("ascii")


def ascii_code(text: str) -> int:
    """Return the first byte as a number; 0 for an empty text."""
    code = text.encode("utf-8")[0] if text else 0
    return code - 256 if code > 127 else code


def chr_of(number: int) -> str:
    """Return the character of a number, modulo 256."""
    if number < 0:
        return ""
    return chr(number & 0xFF)


def _charset(name: str) -> str:
    found = _CHARSETS.get(name.upper(), "utf-16" if name.upper() == "UTF-16" else None)
    if found is None:
        raise EvaluationError(
            f"there is no character set {name}", todo=f"use one of {', '.join(_CHARSETS)}, UTF-16"
        )
    return found


def decode(data: bytes, charset: str) -> str:
    """Decode bytes by a character set."""
    return data.decode(_charset(charset), "replace")


def encode(text: str, charset: str) -> bytes:
    """Encode a text by a character set."""
    name = _charset(charset)
    if name == "utf-16":
        return b"\xfe\xff" + text.encode("utf-16-be")
    return text.encode(name, "replace")


def url_decode(text: str) -> str | None:
    """Decode a form's encoding; NULL for a wrong escape."""
    if _BAD_ESCAPE.search(text):
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def url_encode(text: str) -> str:
    """Encode as forms do."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """Return a part of an address, or a parameter of its query."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url):
        return None
    try:
        pieces = urlsplit(url)
        host = pieces.hostname
    except ValueError:
        return None
    if key is not None:
        if part != "QUERY" or not pieces.query:
            return None
        match = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", pieces.query)
        return None if match is None else match[1]
    user = pieces.netloc.rpartition("@")
    file = pieces.path + (f"?{pieces.query}" if pieces.query else "")
    values = {
        "HOST": host and pieces.netloc.rpartition("@")[2].partition(":")[0],
        "PATH": pieces.path,
        "QUERY": pieces.query or None,
        "REF": pieces.fragment or None,
        "PROTOCOL": pieces.scheme,
        "AUTHORITY": pieces.netloc or None,
        "FILE": file,
        "USERINFO": user[0] if user[1] else None,
    }
    return values.get(part)


def split_index(text: str, separator: str | int, index: int) -> str | None:
    """Return a piece of a text by its number, from 0."""
    mark = chr(separator) if isinstance(separator, int) else separator
    if index < 0 or not mark:
        return None
    # Empty pieces are dropped unless they stand between two separators.
    pieces = text.split(mark) if text else []
    return pieces[index] if index < len(pieces) else None


def split(text: str, delimiter: str) -> list[str]:
    """Return the pieces between delimiters; the characters if it is empty."""
    if text == "":
        return []
    return text.split(delimiter) if delimiter else list(text)


def str_to_map(text: str, pairs: str = ",", values: str = "=") -> dict[str, str | None]:
    """Return a map from texts such as a=1,b=2; the delimiters are regular expressions."""
    result: dict[str, str | None] = {}
    if not text:
        return result
    for pair in re.split(pairs, text):
        parts = re.split(values, pair, maxsplit=1)
        result[parts[0]] = parts[1] if len(parts) > 1 else None
    return result


def elt(index: int, *texts: Any) -> Any:
    """Return the argument of that number, from 1; NULL if there is none. NULLs are seen."""
    if index is None or not 1 <= index <= len(texts):
        return None
    return texts[index - 1]


def translate(text: str | None, source: str | None, target: str | None) -> str | None:
    """Replace characters by others; those without a partner are removed. NULLs are seen."""
    if text is None or not source:
        return text
    target = target or ""
    table: dict[int, str | None] = {}
    for i, character in enumerate(source):
        table.setdefault(ord(character), target[i] if i < len(target) else None)
    return text.translate(table)


def json_quote(text: str) -> str:
    """Write a text as a JSON string, in ASCII."""
    return json.dumps(text).replace("/", "\\/")


def json_unquote(text: str) -> str:
    """Read a JSON string; anything else is left as it is."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        try:
            value = json.loads(text, strict=False)
        except ValueError:
            return text
        return value if isinstance(value, str) else text
    return text


def printf(template: str | None, *values: Any) -> str | None:
    """Write values by a template of Java's Formatter; NULL if it is not valid. NULLs are seen."""
    if template is None:
        return None
    try:
        return formatted(template, values)
    except (ValueError, TypeError, IndexError):
        return None


def is_alpha(text: str | None) -> bool:
    """Return whether there are letters only."""
    return text is not None and text.isalpha()


def is_digit(text: str | None) -> bool:
    """Return whether there are digits only."""
    return text is not None and text.isdigit()
