"""A reader of finished parts that never rests: it writes down whatever should not be."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

LINE = re.compile(r"(\d+)=(\d+)\.\n")


class Reader:
    """Look at the finished parts of a folder again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.complaints: list[str] = []
        #: Content of each part when it was first seen, and the part of each line.
        self._parts: dict[Path, str] = {}
        self._lines: dict[str, Path] = {}

    def look(self) -> None:
        for path in self._folder.rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                self._check(path, path.read_text())

    def _check(self, path: Path, text: str) -> None:
        before = self._parts.setdefault(path, text)
        if before != text:
            self.complaints.append(f"{path} was {before!r}, and is {text!r}")
        if before is not text:
            return
        for line in text.splitlines(keepends=True):
            found = LINE.fullmatch(line)
            if found is None or int(found[1]) ** 2 != int(found[2]):
                self.complaints.append(f"{path} has half a line: {line!r}")
            elif line in self._lines:
                self.complaints.append(f"{path} and {self._lines[line]} both have {line!r}")
            self._lines[line] = path


def main() -> None:
    folder, stop, report = map(Path, sys.argv[1:])
    readers = [Reader(sink) for sink in (folder / "beside", folder / "behind")]
    looks = 0
    while not stop.exists():
        for reader in readers:
            reader.look()
        looks += 1
        time.sleep(0.005)  # a core is for the job
    complaints = [complaint for reader in readers for complaint in reader.complaints]
    report.write_text("\n".join([str(looks), *complaints]))


if __name__ == "__main__":
    main()
