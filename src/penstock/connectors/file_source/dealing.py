"""Cut files into parts and deal the parts to lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.connectors.file_source.discovery import FoundFile
from penstock.connectors.file_source.lanes import KnownFile, PlacedPart

_SMALLEST_PART = 1 << 20
_LARGEST_PART = 64 << 20


def deal(
    files: Sequence[FoundFile],
    loads: list[int],
    *,
    divisible: Callable[[str], bool],
    splittable: bool,
) -> list[tuple[KnownFile, list[PlacedPart]]]:
    """Cut large files, and give each part to the lane that has least to do.

    :param loads: bytes that each lane has before it; kept up to date.
    :param divisible: whether the file of a path may be read in pieces.
    :param splittable: False to leave every file in one lane.
    """
    wanted = -(-sum(found.status.size for found in files) // len(loads))
    length = min(max(wanted, _SMALLEST_PART), _LARGEST_PART)
    dealt = []
    for found in files:
        known = KnownFile(found, divisible(found.status.path))
        stretch = length if splittable and known.divisible else known.size
        parts: list[PlacedPart] = []
        for start in range(0, known.size, stretch):
            lane = loads.index(min(loads))
            end = min(start + stretch, known.size)
            parts.append((lane, start, None if end == known.size else end))
            # A file costs something even if it is small.
            loads[lane] += end - start + 1
        dealt.append((known, parts))
    return dealt
