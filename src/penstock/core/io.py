"""Contracts of sources and sinks: what a connector implements, and which side runs it.

A source has two halves. Its *enumerator* lives in the user's process and decides how far the
next batch reads; its *reader* lives in a worker and turns split ranges into records. A sink has
two halves as well: a *writer* in the worker, one a subtask, and a *committer* in the user's
process, which publishes what the writers prepared once the batch is durable.

**What may block.** A reader, a writer and a committer may: they hold up their own task or their
own thread. A committer that waits for a server looks at `CommitterContext.stopping` meanwhile,
and gives up when it is set. An enumerator's `initial` and `start` may block, as the job has not
begun; its other methods must not, because the coordinator calls them while it holds its lock.
Whoever has to ask a server there does so in a thread of its own and calls `wake`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from penstock.common.typeinfo import TypeInformation
from penstock.core.checkpoints import CheckpointTimes
from penstock.core.functions.runtime_context import RuntimeContext
from penstock.core.metrics import MetricGroup
from penstock.core.state.stores import SavedOperatorState
from penstock.core.time import MIN_WATERMARK
from penstock.errors import ProgramError, SinkError


class _SplitFacts(TypedDict):
    #: Where it stands, in the source's own terms: plain JSON.
    at: Any
    #: Who reads it.
    subtask: int
    #: It will never give another record.
    done: bool


class SplitEntry(_SplitFacts, total=False):
    """Where one split stands and who reads it. A source may add keys of its own."""

    #: The source itself has declared it idle.
    idle: bool


class Position(TypedDict):
    """Where a source stands, as plain JSON."""

    splits: Mapping[str, SplitEntry]
    #: The source has ended and will never have another split.
    done: bool


@dataclass(frozen=True)
class ReadLimit:
    """How much one batch may read of one source."""

    max_records: int
    max_bytes: int


@dataclass(frozen=True)
class SplitRange:
    """What one subtask reads of one split in one batch.

    `payload` carries the data itself, for sources whose data only the user's process has.
    """

    split: str
    start: Any
    end: Any
    payload: bytes | None = None
    #: The split ends with this range: its watermark no longer holds others back.
    last: bool = False


@dataclass
class SourceBatch:
    """Records as a source hands them over: many at once, so that no call is made per record.

    `marks` are watermarks that the source itself emitted: `(position, watermark)` means that the
    watermark stands in front of `values[position]` (or behind the last one).
    """

    values: list[Any]
    timestamps: list[int | None] | None = None
    marks: Sequence[tuple[int, int]] = ()
    #: Processing time at which these records were received; None: that of the batch.
    time: int | None = None
    #: Bytes that were read for these records, for those who watch the job; 0: nobody knows.
    size: int = 0


@dataclass(frozen=True)
class EnumeratorContext:
    """What an enumerator knows of the job that it works for."""

    uid: str
    operator: str
    parallelism: int
    #: A folder that outlives the process if the job's checkpoints do, reserved for this source.
    directory: str
    #: The position to go on from, after a restart of the user's process.
    restored: Position | None
    #: Call it when there is something new to read: it ends the coordinator's wait at once.
    wake: Callable[[], None]
    #: Call it with the error that ends the job.
    fail: Callable[[BaseException], None]
    #: Current processing time in epoch milliseconds.
    now: Callable[[], int]
    #: For source functions, which may ask their runtime context for these.
    job_id: str = ""
    max_parallelism: int | None = None
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    #: How often the job has been restarted since it was submitted.
    attempt: int = 0
    #: Makes the operator state of a source function: of whom, for errors, and as it was saved.
    operator_state: Callable[[str, bytes | None], SavedOperatorState] | None = None


@dataclass(frozen=True)
class CheckContext:
    """What a source or a sink knows of its job when it is checked."""

    operator: str
    parallelism: int
    #: A job that fails is started again: what is missing now may be there by then.
    restarts: bool = False


@dataclass(frozen=True)
class SourceProgress:
    """How far a source is, for people who wait. None is what it does not know."""

    #: Records read so far.
    records: int | None = None
    #: Which part of all that it will ever read has been read, from 0 to 1.
    share: float | None = None


class SplitEnumerator(ABC):
    """Decide what the next batch reads. Runs in the user's process, called by one thread."""

    @abstractmethod
    def initial(self) -> Position:
        """Return the position in front of the first record. Called once, for a new job."""

    @abstractmethod
    def latest(self, start: Position, limit: ReadLimit) -> Position:
        """Return how far a batch that starts at `start` may read; `start` itself if no further."""

    @abstractmethod
    def plan(self, start: Position, end: Position) -> list[list[SplitRange]]:
        """Return the ranges between two positions, one list for each subtask, in subtask order.

        Must give the same answer for the same positions, also in another process after a restart.
        """

    def start(self) -> None:  # noqa: B027 - optional hook
        """Begin work (connect, start a receiver). Called once before anything is asked."""

    def begin(self) -> None:  # noqa: B027 - optional hook
        """Begin to take records in, of a source that receives: the workers can work now.

        Called once, behind `start`. What came earlier would wait for the workers.
        """

    def committed(self, position: Position) -> None:  # noqa: B027 - optional hook
        """Learn that everything up to `position` is durable and will not be read again."""

    def next_wakeup(self) -> int | None:
        """Return the processing time at which to ask again, or None to be asked at any time."""
        return None

    def progress(self, initial: Position, at: Position) -> SourceProgress:
        """Return how far a source is that began at `initial`. Default: it does not know."""
        return SourceProgress()

    def accumulators(self) -> dict[int, dict[str, Any]]:
        """Return the accumulators of functions that run in the user's process.

        :returns: accumulators by subtask and name; copies, which may be asked for at any time.
        """
        return {}

    def metrics(self) -> dict[str, Any]:
        """Return the readings of the metrics of functions that run in the user's process."""
        return {}

    def close(self) -> None:  # noqa: B027 - optional hook
        """End all activity. Called once, however the job ended."""


@dataclass(frozen=True)
class ReaderContext:
    """What a reader knows of its place."""

    subtask: int
    parallelism: int
    #: The source's uid and the job's id: together they name this source among all jobs.
    uid: str = ""
    job_id: str = ""
    operator: str = ""
    #: Where the reader registers its counters and gauges.
    metrics: MetricGroup | None = None


class SourceReader(ABC):
    """Read the ranges of one subtask. Lives in a worker, for as many batches as it is used.

    `open` once; for each batch `prepare` with all its ranges and `read` for each; then `close`. A
    worker keeps the reader between batches, with whatever connection it has, and closes it when the
    job is done there. The next range of a split may be read by another worker: where a range begins
    is all that counts.
    """

    def open(self) -> None:  # noqa: B027 - optional hook
        """Connect. Called once, before the first range."""

    def prepare(self, ranges: list[SplitRange]) -> None:  # noqa: B027 - optional hook
        """Learn what the batch will read, so that all of it can be asked for at once."""

    @abstractmethod
    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        """Read one range; reading the same range again gives the same records."""

    def close(self) -> None:  # noqa: B027 - optional hook
        """Let go of resources. Not called in a process that is killed."""


class _RangeReader(SourceReader):
    """The reader of a source that opens what it needs for each range."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        return self._source.read(split_range)


class Source(ABC):
    """A place that records come from. Must be picklable: it is shipped to the workers.

    Implement `create_reader` if reading needs something that lives from batch to batch (a
    connection), else just `read`.
    """

    #: True if the source ends by itself.
    bounded: bool = False
    #: True if the source may run in several subtasks.
    parallel: bool = True
    #: True if all splits are known from the start: a subtask ends with the last of its own.
    fixed_splits: bool = False
    #: True if records come by themselves, while batches run. They keep the processing time of
    #: their arrival (`SourceBatch.time`), and are taken in from `SplitEnumerator.begin` on.
    receives: bool = False

    @abstractmethod
    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        """Return the half that lives in the user's process."""

    def check(self, context: CheckContext) -> None:  # noqa: B027 - optional hook
        """Find what is sure to fail the job, before the engine is started.

        Runs in the user's process when the job is submitted, unless it may go on from an earlier
        run, which needs less than a new one. Must be quick (no talk with servers) and change
        nothing: neither files nor the server that the job will talk to. Default: nothing is looked
        at.

        :raises PenstockError: the error that the job would have failed with.
        """

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records if the source knows it. Default: it does not."""
        return None

    def identity(self) -> str:
        """Return what tells this source from others of its class: a path, a topic.

        It is part of the uid that a source without one is given. Default: nothing.
        """
        return ""

    def kept_here(self) -> list[Any]:
        """Return what does not travel with the source, though records are made of it or by it.

        Workers are told of the classes that are found in it. Default: nothing.
        """
        return []

    def create_reader(self, context: ReaderContext) -> SourceReader:
        """Return the half that lives in a worker. Default: one that calls `read`."""
        return _RangeReader(self)

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        """Read one range. Runs in a worker; reading the same range again gives the same records."""
        raise ProgramError(
            "the source says neither how a range is read nor which reader reads it",
            got=type(self).__name__,
            todo="override read(), or create_reader()",
        )


@dataclass(frozen=True)
class WriterContext:
    """What a sink writer knows of its place."""

    subtask: int
    parallelism: int
    #: Current processing time in epoch milliseconds: the time of the batch.
    now: Callable[[], int]
    #: What this writer returned from `snapshot_state` at the end of the last batch, or None.
    restored: Any = None
    #: Current watermark in front of the sink.
    watermark: Callable[[], int] = lambda: MIN_WATERMARK
    #: Which batches are checkpoints.
    checkpoints: CheckpointTimes = field(default_factory=CheckpointTimes)
    #: The sink's uid and the job's id: together they name this sink among all jobs, in every run.
    uid: str = ""
    job_id: str = ""
    #: The folder that the committer has as `CommitterContext.directory`. None if this worker does
    #: not share a file system with the user's process.
    directory: str | None = None
    #: What a function that the writer calls may ask: subtask, metrics, parameters of the job.
    runtime: RuntimeContext | None = None


class SinkWriter(ABC):
    """Take the records of one subtask. Runs in a worker.

    A batch: `wake_up` if its time has come, `write` for each record, `prepare_commit`,
    `snapshot_state`, `next_wakeup`. A writer may serve many batches, or just one: the next batch
    may run in another process, by a writer that is made from the state. A batch may also be run
    again, or twice at the same time; only one of the attempts counts, with its state and its
    committables.
    """

    #: Takes many records at once, in place of `write` for each; None: there is no such way. For
    #: writers to whom timestamps do not matter: the records may be an iterator.
    write_all: Callable[[Iterable[Any]], None] | None = None

    @abstractmethod
    def write(self, value: Any, timestamp: int | None) -> None:
        """Take one record."""

    @abstractmethod
    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        """Return what must be published for this batch. Called at the end of every batch."""

    def snapshot_state(self) -> Any:
        """Return what the next batch's writer needs to know; picklable. Default: nothing."""
        return None

    def next_wakeup(self) -> int | None:
        """Return the processing time at which a batch must run even if there is no data.

        Asked at the end of a batch and, of a writer that was made from the state, at the beginning
        of the next: the answer must follow from the state. None: no need.
        """
        return None

    def wake_up(self, time: int) -> None:  # noqa: B027 - optional hook
        """Do what is due by now; `next_wakeup` must be later then.

        Called before the batch's first record, and between records that were received at
        different times.
        """

    def close(self) -> None:  # noqa: B027 - optional hook
        """Let go of resources."""


@dataclass(frozen=True)
class Committable:
    """One piece of a batch's output, from one subtask of the sink."""

    subtask: int
    payload: bytes


@dataclass(frozen=True)
class CommitterContext:
    """What a committer knows of the job that it publishes for."""

    uid: str
    operator: str
    parallelism: int
    #: A folder that outlives the process if the job's checkpoints do, reserved for this sink.
    directory: str
    #: Set for a job that went on from a checkpoint: output of an earlier run may be there.
    restored: bool = False
    job_id: str = ""
    #: True from when the job is told to end: no call should wait any longer for a server then.
    stopping: Callable[[], bool] = lambda: False


class Committer:
    """Publish a batch's output. Runs in the user's process, after Spark's log holds the batch.

    Called by one thread at a time, in the order of the batches, but not always by the same thread.
    The next batch runs meanwhile; a committer that stays behind holds up the job after a while.
    This class itself publishes nothing: for sinks whose writers do all the work.
    """

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        """Publish. May be called again for a batch that was published already: do nothing then.

        An error fails the job. If it is restarted, the batch is published before all else.
        """

    def recovered(self) -> None:
        """Learn that a job goes on from a checkpoint, and that all it had logged is published.

        Called before its first batch. What else earlier runs have prepared will never be published.
        """

    def close(self) -> None:
        """Let go of resources. Called once when the job ends."""


class Sink(ABC):
    """A place that records go to. Must be picklable: it is shipped to the workers."""

    #: Functions of the user's that the writer calls: they are opened and closed in its task, and
    #: their attributes are part of its state.
    functions: tuple[Any, ...] = ()

    def identity(self) -> str:
        """Return what tells this sink from others of its class: a path, a topic.

        It is part of the uid that a sink without one is given. Default: nothing.
        """
        return ""

    def check(self, context: CheckContext) -> None:  # noqa: B027 - optional hook
        """Find what is sure to fail the job, under the terms of `Source.check`.

        :raises PenstockError: the error that the job would have failed with.
        """

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Return the half that works in a worker, for one subtask."""

    def redistribute(self, states: Sequence[Any], parallelism: int) -> list[Any]:
        """Deal out what the writers left when there are to be more or fewer of them.

        :param states: what `snapshot_state` of each writer returned, None where there is nothing.
        :returns: what each of `parallelism` new writers gets as `WriterContext.restored`.
        :raises SinkError: if it cannot be done. Default: with fewer writers, unless those which
            are no more left nothing.
        """
        if any(state is not None for state in states[parallelism:]):
            raise SinkError(
                "a sink whose writers have state cannot do with fewer of them",
                got=f"parallelism {parallelism} in place of {len(states)}",
                todo="give the sink the parallelism that it had, or define redistribute()",
            )
        return [*states[:parallelism], *[None] * (parallelism - len(states))]

    def create_committer(self, context: CommitterContext) -> Committer:
        """Return the half that lives in the user's process. Default: nothing is left to publish."""
        return Committer()

    def create_global_committer(self, context: CommitterContext) -> Committer | None:
        """Return what comes behind the committer, None if nothing does.

        It gets the same batches after the committer has published them: to enter a batch's files
        in a catalogue, say, once all of them are in their place.
        """
        return None


@dataclass
class BatchRead:
    """A subtask's share of a batch: what the coordinator plans and a level-0 task executes."""

    source_id: int
    subtask: int
    ranges: list[SplitRange] = field(default_factory=list)
    #: Processing time of the batch.
    time: int = 0
    #: This subtask has ended: its channels end with MAX_WATERMARK after these ranges.
    ended: bool = False
    #: Splits of this subtask that may still give records after these ranges. One that is in
    #: `ranges` but not here has been read to its end.
    splits: tuple[str, ...] = ()
    #: The source itself has declared all of these splits idle.
    idle: bool = False
    #: State of this level-0 task at the end of the batch before, as the task wrote it.
    state: bytes | None = None
    #: What this task is to tell all slots: the folder of a savepoint that this batch is to write.
    savepoint: str | None = None
    #: Processing time of the batch before: records that are received arrived behind it.
    time_before: int = 0
