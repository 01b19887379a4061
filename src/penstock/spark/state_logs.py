"""Read the slots' logs out of Spark's state store, without the query that wrote them.

The logs of a large state fit into the memory of neither the JVM nor this process. So Spark writes
what it reads to text files, a line for each block, and blocks are read from there one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from penstock.connectors.file_paths import store_of


def slot_logs(frame: DataFrame, slots: int, folder: str) -> Iterator[tuple[int, BlockFiles]]:
    """Return the logs of the slots of a level that have any.

    :param frame: the level's state store as Spark's reader gives it; see `spark.slots`.
    :param slots: number of slots.
    :param folder: for the files; it is gone when the last log has been read.
    """
    store = store_of(folder)
    store.delete_folder(folder)
    key = frame.schema["key"].dataType.names[0]  # type: ignore[attr-defined]
    line = f.concat_ws(
        " ",
        frame["partition_id"].cast("string"),
        frame["key"][key].cast("string"),
        f.hex(frame["value"]["value"]),
    )
    frame.select(line).write.text(folder)
    try:
        places = _places(folder)
        for slot in range(slots):
            if slot in places:
                yield slot, BlockFiles(places[slot])
    finally:
        store.delete_folder(folder)


#: Where a line is: file, first byte of the value, and length.
_Place = tuple[str, int, int]


def _places(folder: str) -> dict[int, dict[int, _Place]]:
    """Return where each value is, by slot and key."""
    found: dict[int, dict[int, _Place]] = {}
    store = store_of(folder)
    for path in (status.path for status in store.list_files(folder, recursive=False)):
        with store.open_input(path) as file:
            offset = 0
            for line in file:
                slot, key, value = line.rstrip(b"\n").split(b" ")
                begin = offset + len(slot) + len(key) + 2
                found.setdefault(int(slot), {})[int(key)] = (path, begin, len(value))
                offset += len(line)
    return found


class BlockFiles:
    """A slot's log in files."""

    def __init__(self, places: dict[int, _Place]) -> None:
        self._places = places

    def read_meta(self) -> bytes | None:
        return next((self._value(at) for key, at in self._places.items() if key >= 0), None)

    def read(self, number: int) -> bytes | None:
        at = self._places.get(-1 - number)
        return None if at is None else self._value(at)

    def _value(self, at: _Place) -> bytes:
        path, offset, length = at
        with store_of(path).open_input(path) as file:
            file.seek(offset)
            return bytes.fromhex(file.read(length).decode("ascii"))

    def write_meta(self, data: bytes) -> None:
        raise TypeError("what has been read is not written")

    def write(self, number: int, data: bytes) -> None:
        raise TypeError("what has been read is not written")

    def remove(self, number: int) -> None:
        raise TypeError("what has been read is not written")
