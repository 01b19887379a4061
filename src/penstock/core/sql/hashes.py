"""Hashes of texts, as hexadecimal digits."""

from __future__ import annotations

import hashlib

from penstock.errors import EvaluationError


def md5(text: str) -> str:
    """Return the MD5 hash."""
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()


def sha1(text: str) -> str:
    """Return the SHA-1 hash."""
    return hashlib.sha1(text.encode("utf-8"), usedforsecurity=False).hexdigest()


def sha2(text: str, bits: int) -> str:
    """Return the SHA-2 hash of a length: 224, 256, 384 or 512."""
    if bits not in (224, 256, 384, 512):
        raise EvaluationError("SHA2 takes a length of 224, 256, 384 or 512", got=str(bits))
    return hashlib.new(f"sha{bits}", text.encode("utf-8"), usedforsecurity=False).hexdigest()
