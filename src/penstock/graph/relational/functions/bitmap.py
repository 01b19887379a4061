"""Bitmap functions."""

from __future__ import annotations

from penstock.graph.relational.functions.function import Function, Rewrite, scalar
from penstock.graph.relational.types import BIGINT, BYTES, INT, STRING, ArrayType, BitmapType

_BITMAP = BitmapType()


def _pair(name: str, word: str, doc: str) -> Function:
    return scalar(name, "bitmap, bitmap", _BITMAP, f"@bitmaps.{word}($0, $1)", doc)


FUNCTIONS: list[Function | Rewrite] = [
    scalar("BITMAP_BUILD", "array", _BITMAP, "@bitmaps.build($0)", "The bitmap of an array."),
    scalar("BITMAP_CARDINALITY", "bitmap", BIGINT, "len($0)", "How many numbers there are."),
    scalar("BITMAP_FROM_BYTES", "binary", _BITMAP, "@bitmaps.from_bytes($0)", "Read from bytes."),
    scalar("BITMAP_TO_BYTES", "bitmap", BYTES, "@bitmaps.to_bytes($0)", "Written as bytes."),
    scalar(
        "BITMAP_TO_ARRAY",
        "bitmap",
        ArrayType(INT),
        "@bitmaps.to_array($0)",
        "The numbers in order.",
    ),
    scalar("BITMAP_TO_STRING", "bitmap", STRING, "@bitmaps.text($0)", "Shown as {1,2}."),
    _pair("BITMAP_AND", "and_", "What is in both."),
    _pair("BITMAP_OR", "or_", "What is in either."),
    _pair("BITMAP_XOR", "xor", "What is in one of them."),
    _pair("BITMAP_ANDNOT", "andnot", "What is in the first only."),
]
