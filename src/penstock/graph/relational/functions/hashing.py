"""Hash functions."""

from __future__ import annotations

from penstock.graph.relational.functions.function import Function, Rewrite, scalar
from penstock.graph.relational.types import CharType, VarCharType


def _sha(bits: int) -> Function:
    return scalar(
        f"SHA{bits}", "string", CharType(bits // 4), f"@hashes.sha2($0, {bits})",
        f"The SHA-{bits} hash.",
    )  # fmt: skip


FUNCTIONS: list[Function | Rewrite] = [
    scalar("MD5", "string", CharType(32), "@hashes.md5($0)", "The MD5 hash."),
    scalar("SHA1", "string", CharType(40), "@hashes.sha1($0)", "The SHA-1 hash."),
    *(_sha(bits) for bits in (224, 256, 384, 512)),
    scalar(
        "SHA2", "string, int", VarCharType(128), "@hashes.sha2($0, $1)", "A SHA-2 hash by length."
    ),
]
