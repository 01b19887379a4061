"""The input of all workloads, made out of a record's number: the same for every engine.

Two producers send half of the records each, in order of time. A producer has keys of its own, which
take turns: in every second of event time each key has one record. So engines that measure event
time by key and engines that measure it by channel see the same stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

Record = tuple[int, int, int]

#: Session workloads pause after so many turns.
TURNS_IN_A_SESSION = 10
WORDS_IN_A_LINE = 10


def record_maker(records: int, keys: int, pause_ms: int = 0) -> Callable[[int], Record]:
    """Return the function that makes a record (key, value, event time in ms) of its number.

    Numbers below half of `records` are those of the first producer.

    >>> make = record_maker(records=40, keys=10)
    >>> make(0), make(1), make(5), make(20)
    ((0, 1, 0), (2, 2, 200), (0, 6, 1000), (1, 1, 0))
    """
    half, own = records // 2, keys // 2

    def record(number: int) -> Record:
        producer, position = divmod(number, half)
        turn, place = divmod(position, own)
        time = turn * 1000 + turn // TURNS_IN_A_SESSION * pause_ms + place * 1000 // own
        return 2 * place + producer, position % 997 + 1, time

    return record


def word(number: int, words: int) -> str:
    """Return a word of a text that has so many different ones."""
    return f"w{number * number % 99_991 % words}"


def lines(start: int, end: int, words: int) -> Iterator[str]:
    """Return the lines of a text whose words have these numbers."""
    for first in range(start, end, WORDS_IN_A_LINE):
        last = min(first + WORDS_IN_A_LINE, end)
        yield " ".join(word(number, words) for number in range(first, last))


def write_text(folder: Path, records: int, words: int) -> Path:
    """Write a text of `records` words as two files, for two readers; return their folder."""
    target = folder / f"text-{records}-{words}"
    target.mkdir(parents=True, exist_ok=True)
    half = records // 2
    for part, (start, end) in enumerate(((0, half), (half, records))):
        text = "\n".join(lines(start, end, words)) + "\n"
        (target / f"part-{part}.txt").write_text(text)
    return target
