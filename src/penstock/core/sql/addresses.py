"""IPv4 addresses as numbers."""

from __future__ import annotations


def aton(text: str) -> int | None:
    """Return an address as a number; missing parts are zeros before the last. NULL if wrong."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(part.isdecimal() for part in parts):
        return None
    numbers = [int(part) for part in parts]
    if any(number > 255 for number in numbers):
        return None
    padded = [*numbers[:-1], *[0] * (4 - len(numbers)), numbers[-1]]
    return padded[0] << 24 | padded[1] << 16 | padded[2] << 8 | padded[3]


def ntoa(number: int) -> str | None:
    """Return a number as an address; NULL if it is too large."""
    if not 0 <= number < 1 << 32:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
