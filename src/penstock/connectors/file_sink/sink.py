"""`FileSink` and `StreamingFileSink`: records into rolling part files, exactly once."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.connectors.base import StreamTransformer, SupportsPreprocessing
from penstock.connectors.file_paths import (
    absolute,
    check_writable,
    ensure_registered,
    is_local,
    registered_for,
)
from penstock.connectors.file_sink.assigners import BucketAssigner, DateTimeBucketAssigner
from penstock.connectors.file_sink.committer import FileSinkCommitter
from penstock.connectors.file_sink.compaction import (
    ConcatFileCompactor,
    FileCompactor,
    FileCompactStrategy,
)
from penstock.connectors.file_sink.formats import PartFormat, RowFormat, format_of
from penstock.connectors.file_sink.output_file_config import OutputFileConfig
from penstock.connectors.file_sink.rolling import (
    CheckpointRollingPolicy,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from penstock.connectors.file_sink.settings import FileSinkSettings
from penstock.connectors.file_sink.writer import FileSinkWriter, whole
from penstock.core.io import (
    CheckContext,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import ConfigurationError, show_value

AnySink = TypeVar("AnySink", bound="RollingFileSink")


def _joined(own: Any, other: Any) -> Any:
    """Return the state of a writer that takes over the open parts of another one."""
    _, _, checked, span, _, more, owed = whole(other)
    taken = [*other[0], *more]
    if own is None:
        return [], 0, checked, span, False, taken, owed
    parts, own_largest, own_checked, own_span, ended, before, own_owed = whole(own)
    taken, owed = [*before, *taken], max(own_owed, owed)
    return parts, own_largest, max(own_checked, checked), own_span, ended, taken, owed


class RollingFileSink(Sink):
    """What both sinks are: parts in buckets, published by renaming."""

    def __init__(self, settings: FileSinkSettings) -> None:
        self._settings = settings

    def identity(self) -> str:
        return str(self._settings.base_path)

    def redistribute(self, states: Sequence[Any], parallelism: int) -> list[Any]:
        """Let a writer go on with the open parts of those that are no more."""
        dealt: list[Any] = list(states[:parallelism])
        dealt += [None] * (parallelism - len(dealt))
        for number, state in enumerate(states[parallelism:]):
            if state is not None:
                dealt[number % parallelism] = _joined(dealt[number % parallelism], state)
        return dealt

    def check(self, context: CheckContext) -> None:
        base = self._settings.base_path
        if is_local(base):
            check_writable(base, f"sink {context.operator!r}", folder=True)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return FileSinkWriter(self._settings, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        ensure_registered(self._settings.file_systems)
        return FileSinkCommitter(self._settings, context)

    def written_by(self: AnySink, to_text: Callable[[Any], str]) -> AnySink:
        """Return the sink with another way to turn records into text; for text only."""
        part_format = self._settings.part_format
        if not isinstance(part_format, RowFormat):
            return self
        settings = copy.copy(self._settings.__dict__)
        settings["part_format"] = part_format.written_by(to_text)
        sink = copy.copy(self)
        sink._settings = FileSinkSettings(**settings)
        return sink


class FileSinkBuilder(Generic[AnySink]):
    """Put a sink together; `build` makes it.

    :param bulk: parts cannot be gone on with after a checkpoint, so they must end with it.
    """

    def __init__(
        self,
        sink: type[AnySink],
        base_path: str | os.PathLike[str],
        part_format: PartFormat,
        *,
        bulk: bool,
    ) -> None:
        self._sink = sink
        self._path = absolute(base_path).rstrip("/") or "/"
        self._format = part_format
        self._bulk = bulk
        self._assigner: BucketAssigner[Any] = DateTimeBucketAssigner()
        self._policy: RollingPolicy[Any] = (
            OnCheckpointRollingPolicy() if bulk else DefaultRollingPolicy()
        )
        self._config = OutputFileConfig()
        self._interval: int | None = None
        self._strategy: FileCompactStrategy | None = None
        self._compactor: FileCompactor | None = None

    def with_bucket_check_interval(self, interval: int) -> FileSinkBuilder[AnySink]:
        """Ask the rolling policy about time only every so many milliseconds.

        Default: when the policy itself says that it is time; a policy of your own every minute.
        """
        if not isinstance(interval, int) or interval <= 0:
            raise ConfigurationError(
                "the bucket check interval must be a whole number above zero",
                where="with_bucket_check_interval(interval)",
                got=repr(interval),
                todo="pass milliseconds",
            )
        self._interval = interval
        return self

    def with_bucket_assigner(
        self, bucket_assigner: BucketAssigner[Any]
    ) -> FileSinkBuilder[AnySink]:
        """Choose the folders that records go to. Default: one for each hour."""
        _require("with_bucket_assigner", bucket_assigner, BucketAssigner)
        self._assigner = bucket_assigner
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy[Any]) -> FileSinkBuilder[AnySink]:
        """Choose when parts end. Default: by size, age and inactivity; bulk: with checkpoints.

        :raises ConfigurationError: for a bulk format, if parts would outlive a checkpoint.
        """
        _require("with_rolling_policy", rolling_policy, RollingPolicy)
        if self._bulk and not isinstance(rolling_policy, CheckpointRollingPolicy):
            raise ConfigurationError(
                "the parts of a bulk format must end with every checkpoint",
                where="with_rolling_policy(rolling_policy)",
                got=type(rolling_policy).__name__,
                todo="use OnCheckpointRollingPolicy, or a subclass of CheckpointRollingPolicy",
            )
        self._policy = rolling_policy
        return self

    def with_output_file_config(
        self, output_file_config: OutputFileConfig
    ) -> FileSinkBuilder[AnySink]:
        """Choose prefix and suffix of part names."""
        _require("with_output_file_config", output_file_config, OutputFileConfig)
        self._config = output_file_config
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> FileSinkBuilder[AnySink]:
        """Make one file of several finished parts of a bucket before it is published.

        Parts stay hidden until the strategy says that there are enough of them.

        :raises ConfigurationError: if parts of this format cannot be put together so.
        """
        _require("enable_compact", strategy, FileCompactStrategy)
        _require("enable_compact", compactor, FileCompactor)
        if isinstance(compactor, ConcatFileCompactor) and not self._format.concatenates:
            raise ConfigurationError(
                "files of this format are not read any more when one is put behind another",
                where="enable_compact(strategy, compactor)",
                got=type(self._format).__name__,
                todo="write a FileCompactor that merges records, or let parts grow: a longer "
                "checkpoint interval",
            )
        self._strategy, self._compactor = strategy, compactor
        return self

    def disable_compact(self) -> FileSinkBuilder[AnySink]:
        """Publish parts as they are. What waits from an earlier run is published so, too."""
        self._strategy = self._compactor = None
        return self

    def build(self) -> AnySink:
        """Return the sink."""
        return self._sink(
            FileSinkSettings(
                self._path,
                self._format,
                self._assigner,
                self._policy,
                self._config,
                self._interval,
                self._strategy,
                self._compactor,
                registered_for([self._path]),
            )
        )


def _require(method: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise ConfigurationError(
            f"{method}() takes a {kind.__name__}",
            where=f"{method}()",
            got=show_value(value),
            todo=f"pass an object of a subclass of {kind.__name__}",
        )


class FileSink(RollingFileSink, SupportsPreprocessing):
    """Write records to files below a folder, exactly once; for `DataStream.sink_to`.

    A record goes to the bucket, a folder, that the bucket assigner chooses. Each subtask writes
    one part at a time in a bucket, as a hidden file `.part-<subtask>-<count>.inprogress.<uuid>`.
    The rolling policy says when the part ends; with the next checkpoint after that it is renamed
    to `part-<subtask>-<count>`. Readers that leave out hidden files never see anything
    unfinished, and each record once, whatever fails.

    >>> from penstock.common import Encoder
    >>> sink = FileSink.for_row_format("out/words", Encoder.simple_string_encoder()).build()
    """

    BaseBuilder = FileSinkBuilder
    RowFormatBuilder = FileSinkBuilder
    BulkFormatBuilder = FileSinkBuilder

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: Encoder[Any]
    ) -> FileSinkBuilder[FileSink]:
        """Begin a sink that writes records one by one.

        :param base_path: a folder, or a URL of a file system that pyarrow knows.
        """
        return _for_row_format(FileSink, base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory[Any]
    ) -> FileSinkBuilder[FileSink]:
        """Begin a sink for a format that is written many records at a time, such as Parquet."""
        return _for_bulk_format(FileSink, base_path, writer_factory)

    def get_transformer(self) -> StreamTransformer | None:
        """Return None: records are taken as they are."""
        return None


class StreamingFileSink(RollingFileSink):
    """Write records to files below a folder, exactly once; for `DataStream.add_sink`.

    The older name of `FileSink`, which see.

    >>> from penstock.common import Encoder
    >>> sink = StreamingFileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    """

    BaseBuilder = FileSinkBuilder
    DefaultRowFormatBuilder = FileSinkBuilder
    DefaultBulkFormatBuilder = FileSinkBuilder

    @staticmethod
    def for_row_format(
        base_path: str | os.PathLike[str], encoder: Encoder[Any]
    ) -> FileSinkBuilder[StreamingFileSink]:
        """Begin a sink that writes records one by one."""
        return _for_row_format(StreamingFileSink, base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str | os.PathLike[str], writer_factory: BulkWriterFactory[Any]
    ) -> FileSinkBuilder[StreamingFileSink]:
        """Begin a sink for a format that is written many records at a time, such as Parquet."""
        return _for_bulk_format(StreamingFileSink, base_path, writer_factory)


def _for_row_format(
    sink: type[AnySink], base_path: str | os.PathLike[str], encoder: Encoder[Any]
) -> FileSinkBuilder[AnySink]:
    _require("for_row_format", encoder, Encoder)
    return FileSinkBuilder(sink, base_path, RowFormat(encoder), bulk=False)


def _for_bulk_format(
    sink: type[AnySink], base_path: str | os.PathLike[str], factory: BulkWriterFactory[Any]
) -> FileSinkBuilder[AnySink]:
    _require("for_bulk_format", factory, BulkWriterFactory)
    return FileSinkBuilder(sink, base_path, format_of(factory), bulk=True)
