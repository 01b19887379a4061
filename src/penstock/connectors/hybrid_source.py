"""Sources one after another: history from files, say, and then what is written to Kafka."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file_paths import join
from penstock.core.io import (
    CheckContext,
    EnumeratorContext,
    Position,
    ReaderContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceProgress,
    SourceReader,
    SplitEntry,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import ProgramError

#: Between the number of a source and the name of its split.
_BEHIND_NUMBER = ":"


class _HybridPosition(Position):
    """Where the chain stands: splits carry the number of their source in front of their names."""

    #: Number of the source that is read.
    source: int
    #: It has been read to its end.
    ended: bool


class HybridSource(Source):
    """Read several sources, each from where the one in front of it has ended.

    All but the last must end. They are one operator: a job that goes on from a checkpoint or a
    savepoint goes on in the source that it had come to. The next source is asked where it begins
    when its turn comes, not before.

    >>> from penstock.connectors.number_sequence import NumberSequenceSource
    >>> history, present = NumberSequenceSource(1, 10), NumberSequenceSource(11, 20)
    >>> source = HybridSource.builder(history).add_source(present).build()
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self.bounded = sources[-1].bounded
        self.parallel = all(source.parallel for source in sources)
        self.receives = any(source.receives for source in sources)

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Return a builder of a chain that begins with a source."""
        return HybridSourceBuilder(first_source)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _HybridEnumerator(context, self._sources)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _HybridReader(context, self._sources)

    def check(self, context: CheckContext) -> None:
        """Ask the first one: what the others need may come while it is read."""
        self._sources[0].check(context)

    def get_produced_type(self) -> TypeInformation | None:
        return self._sources[0].get_produced_type()

    def identity(self) -> str:
        names = (f"{type(source).__name__} {source.identity()}" for source in self._sources)
        return ", ".join(names)

    def kept_here(self) -> list[Any]:
        return [held for source in self._sources for held in source.kept_here()]


class HybridSourceBuilder:
    """Build a `HybridSource`."""

    def __init__(self, first_source: Source) -> None:
        self._sources = [first_source]

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Read a source when the one before it has ended.

        :raises ProgramError: if the one before it never ends.
        """
        before = self._sources[-1]
        if not before.bounded:
            raise ProgramError(
                "a source that never ends has none behind it",
                where="HybridSource.builder()",
                got=f"source {len(self._sources)}, {type(before).__name__}, is unbounded",
                todo="let it end, as by set_bounded(), or have it as the last one",
            )
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """Return the source."""
        return HybridSource(self._sources)


class _Switch:
    """The way to the next source, which may take long to say where it begins."""

    def __init__(self, number: int, enumerator: SplitEnumerator, context: EnumeratorContext):
        self.number = number
        self.enumerator = enumerator
        self._context = context
        #: Where it begins, once that is known.
        self.begin: Position | None = None
        self._lock = threading.Lock()
        self._given_up = False
        self._closed = False
        threading.Thread(target=self._run, name="next source", daemon=True).start()

    def _run(self) -> None:
        try:
            self.enumerator.start()
            begin = self.enumerator.initial()
        except BaseException as error:
            if not self._given_up:
                self._context.fail(error)
            self._close()
            return
        with self._lock:
            if not self._given_up:
                self.begin = begin
        if self._given_up:
            self._close()
        else:
            self._context.wake()

    def give_up(self) -> None:
        """Close the enumerator; if it is busy, as soon as it is not."""
        with self._lock:
            self._given_up = True
            known = self.begin is not None
        if known:
            self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self.enumerator.close()


class _HybridEnumerator(SplitEnumerator):
    """Ask the enumerator of the source whose turn it is.

    The step from one source to the next is a batch of its own, that reads nothing: the position
    behind it has the splits of the next source, where that one begins. So it is logged like any
    other position, and a replay takes the same step.
    """

    def __init__(self, context: EnumeratorContext, sources: Sequence[Source]) -> None:
        self._context = context
        self._sources = sources
        self._running: dict[int, SplitEnumerator] = {}
        self._switch: _Switch | None = None
        self._has_begun = False
        self._at = 0

    def start(self) -> None:
        if self._context.restored is not None:
            restored = _hybrid(self._context.restored)
            self._at = restored["source"]
            self._enumerator_of(restored)
        else:
            self._running[0] = self._make(0, None)
            self._running[0].start()

    def begin(self) -> None:
        self._has_begun = True
        self._running[self._at].begin()

    def initial(self) -> Position:
        return self._outer(0, self._running[0].initial())

    def latest(self, start: Position, limit: ReadLimit) -> Position:
        at = _hybrid(start)
        if not at["ended"] or at["done"]:
            self._at = at["source"]
            return self._outer(self._at, self._enumerator_of(at).latest(_inner(at), limit))
        begin = self._begin_of(at["source"] + 1)
        return start if begin is None else self._outer(at["source"] + 1, begin)

    def _enumerator_of(self, at: _HybridPosition) -> SplitEnumerator:
        """Return the enumerator for a position, also where a restart took a step once more."""
        number = at["source"]
        if number not in self._running:
            self._running[number] = self._make(number, at)
            self._running[number].start()
            if self._has_begun:
                self._running[number].begin()
        return self._running[number]

    def _begin_of(self, number: int) -> Position | None:
        """Return where the next source begins, None as long as that is not known."""
        if self._switch is None or self._switch.number != number:
            self._switch = _Switch(number, self._make(number, None), self._context)
        if self._switch.begin is not None and number not in self._running:
            self._running[number] = self._switch.enumerator
            if self._has_begun:
                self._switch.enumerator.begin()
        return self._switch.begin

    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        before, after = _hybrid(start), _hybrid(end)
        number = after["source"]
        if number != before["source"]:
            return [[] for _ in range(self._context.parallelism)]
        lists = self._enumerator_of(before).plan(_inner(before), _inner(after))
        return [[_named(part, number) for part in ranges] for ranges in lists]

    def committed(self, position: Position) -> None:
        at = _hybrid(position)
        for number in [each for each in self._running if each < at["source"]]:
            self._running.pop(number).close()
        if at["source"] in self._running:
            self._running[at["source"]].committed(_inner(at))

    def next_wakeup(self) -> int | None:
        return self._running[self._at].next_wakeup()

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        """Tell how far a chain of one source is: others are not known before their turn."""
        number = _hybrid(at)["source"]
        if len(self._sources) > 1 or number not in self._running:
            return SourceProgress()
        return self._running[number].progress(_inner(_hybrid(initial)), _inner(_hybrid(at)))

    def accumulators(self) -> dict[int, dict[str, Any]]:
        return self._running[self._at].accumulators()

    def metrics(self) -> dict[str, Any]:
        return self._running[self._at].metrics()

    def close(self) -> None:
        if self._switch is not None and self._switch.number not in self._running:
            self._switch.give_up()
        for enumerator in self._running.values():
            enumerator.close()

    def _make(self, number: int, restored: _HybridPosition | None) -> SplitEnumerator:
        own = replace(
            self._context,
            directory=join(self._context.directory, f"source-{number}"),
            restored=None if restored is None else _inner(restored),
        )
        return self._sources[number].create_enumerator(own)

    def _outer(self, number: int, position: Position) -> Position:
        splits = {_name(number, split): entry for split, entry in position["splits"].items()}
        ended = position["done"]
        done = ended and number == len(self._sources) - 1
        # A source may have keys of its own in its position.
        outer = {**position, "splits": splits, "done": done, "source": number, "ended": ended}
        return cast("Position", outer)


class _HybridReader(SourceReader):
    """Have the reader of one source at a time."""

    def __init__(self, context: ReaderContext, sources: Sequence[Source]) -> None:
        self._context = context
        self._sources = sources
        self._number = -1
        self._reader: SourceReader | None = None

    def prepare(self, ranges: list[SplitRange]) -> None:
        if ranges:
            self._reader_of(_number_of(ranges[0].split)).prepare([_unnamed(r) for r in ranges])

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        reader = self._reader_of(_number_of(split_range.split))
        return reader.read(_unnamed(split_range))

    def _reader_of(self, number: int) -> SourceReader:
        if self._reader is None or number != self._number:
            self.close()
            reader = self._sources[number].create_reader(self._context)
            reader.open()
            self._reader, self._number = reader, number
        return self._reader

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _hybrid(position: Position) -> _HybridPosition:
    return cast("_HybridPosition", position)


def _inner(position: _HybridPosition) -> Position:
    """Return the position as the source has it that is read."""
    rest = {key: value for key, value in position.items() if key not in ("source", "ended")}
    entries: Mapping[str, SplitEntry] = position["splits"]
    splits = {name.partition(_BEHIND_NUMBER)[2]: entry for name, entry in entries.items()}
    return cast("Position", {**rest, "splits": splits, "done": position["ended"]})


def _name(number: int, split: str) -> str:
    return f"{number}{_BEHIND_NUMBER}{split}"


def _number_of(split: str) -> int:
    return int(split.partition(_BEHIND_NUMBER)[0])


def _named(part: SplitRange, number: int) -> SplitRange:
    return replace(part, split=_name(number, part.split))


def _unnamed(part: SplitRange) -> SplitRange:
    return replace(part, split=part.split.partition(_BEHIND_NUMBER)[2])
