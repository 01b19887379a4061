"""Leave out the comments of a CSV file, which Arrow's parser does not know."""

from __future__ import annotations

import io
from typing import IO, Any

_LINES = 1 << 18


class WithoutComments(io.RawIOBase):
    """Read a stream without the lines that start with `#`, unless they are inside of quotes."""

    def __init__(self, file: IO[bytes], quote_char: str | None) -> None:
        self._file = file
        self._quote = None if quote_char is None else quote_char.encode()
        self._is_quoted = False
        self._data = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._data:
            lines = self._file.readlines(_LINES)
            if not lines:
                return 0
            self._data = b"".join(line for line in lines if self._is_wanted(line))
        taken = self._data[: len(buffer)]
        buffer[: len(taken)] = taken
        self._data = self._data[len(taken) :]
        return len(taken)

    def _is_wanted(self, line: bytes) -> bool:
        if not self._is_quoted and line.startswith(b"#"):
            return False
        # A doubled quote inside of quotes changes it twice, that is not at all.
        if self._quote is not None and line.count(self._quote) % 2:
            self._is_quoted = not self._is_quoted
        return True
