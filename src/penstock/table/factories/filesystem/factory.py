"""The connector `filesystem`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from penstock.common import Duration
from penstock.common.option_values import parse_duration, parse_memory
from penstock.connectors.file_paths import absolute
from penstock.connectors.file_sink import BucketAssigner, DefaultRollingPolicy, FileSink
from penstock.connectors.file_sink.rolling import OnCheckpointRollingPolicy, RollingPolicy
from penstock.connectors.file_sink.sink import FileSinkBuilder
from penstock.connectors.file_source.source import FileSource
from penstock.core.io import Sink
from penstock.errors import ValidationError
from penstock.graph.relational import types as t
from penstock.table.factories.base import (
    PartitionedSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from penstock.table.factories.filesystem.commit import (
    CommitSettings,
    PartitionCommitSink,
    PartitionRollingPolicy,
)
from penstock.table.factories.filesystem.files import (
    METADATA,
    PickedRows,
    RowFiles,
    TableFiles,
    find_files,
)
from penstock.table.factories.filesystem.overwrite import STAGING, OverwriteSink
from penstock.table.factories.filesystem.partitions import (
    DEFAULT_NAME,
    PartitionAssigner,
    PartitionNames,
)
from penstock.table.factories.formats.registry import FORMAT_PREFIXES

_MINUTES = 60_000


class FilesystemFactory(TableFactory):
    """Files in a folder, by partition if the table is PARTITIONED BY columns."""

    identifier = "filesystem"
    options = FORMAT_PREFIXES | {
        "path", "format", "source.monitor-interval", "source.path.regex-pattern",
        "partition.default-name", "partition.time-extractor.kind",
        "partition.time-extractor.class", "partition.time-extractor.timestamp-pattern",
        "partition.time-extractor.timestamp-formatter", "sink.rolling-policy.file-size",
        "sink.rolling-policy.rollover-interval", "sink.rolling-policy.inactivity-interval",
        "sink.rolling-policy.check-interval", "sink.partition-commit.trigger",
        "sink.partition-commit.delay", "sink.partition-commit.watermark-time-zone",
        "sink.partition-commit.policy.kind", "sink.partition-commit.policy.class",
        "sink.partition-commit.success-file.name", "sink.parallelism", "auto-compaction",
    }  # fmt: skip
    overwrites = True

    def readable_metadata(self, context: TableContext) -> dict[str, t.LogicalType]:
        """Return what is known of a row's file."""
        return METADATA

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table."""
        shape = _Shape(context)
        changes = shape.files.kinds != frozenset("I")
        reading = TableFiles(
            shape.files.reading, shape.names, shape.reading_places(), context.metadata,
            changes=changes,
        )  # fmt: skip
        interval = context.options.get("source.monitor-interval")
        length = None if interval is None else parse_duration(interval).to_millis()
        only = context.options.get("source.path.regex-pattern")
        partitions = None
        if shape.partition_places and length is None:
            partitions = FolderPartitions(shape, reading, only)
        return TableSource(
            # Changes of a file keep their order: it is read by one subtask.
            FileSource(
                reading, [shape.path], interval=length, only=only, splittable=not changes
            ),
            shape.files.kinds, partitions=partitions,
        )  # fmt: skip

    def partitions(self, context: TableContext) -> list[str]:
        """Return the folders of the partitions that there are."""
        shape = _Shape(context)
        return shape.names.found(absolute(shape.path)) if shape.partition_places else []

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        shape = _Shape(context)
        if context.options.get("auto-compaction", "false").lower() == "true":
            raise ValidationError(
                "finished files are not compacted",
                where=f"table {context.name}",
                got="'auto-compaction' = 'true'",
                todo="let files grow: larger 'sink.rolling-policy.*', or a longer checkpoint "
                "interval for parquet and avro",
            )
        changes = shape.files.kinds != frozenset("I")
        parallelism = context.options.get("sink.parallelism")
        return TableSink(
            self._sink(context, shape), shape.files.kinds, with_kinds=changes,
            parallelism=int(parallelism) if parallelism else None,
        )  # fmt: skip

    def _sink(self, context: TableContext, shape: _Shape) -> Sink:
        path = absolute(shape.path)
        commits = CommitSettings.of(context, shape.names)
        if context.overwrite:
            if context.streaming:
                raise ValidationError(
                    "INSERT OVERWRITE replaces what a table holds once, at the query's end",
                    where=f"INSERT OVERWRITE {context.name}",
                    got="a streaming query",
                    todo="use EnvironmentSettings.in_batch_mode()",
                )
            inner = self._builder(shape, f"{path}/{STAGING}", OnCheckpointRollingPolicy()).build()
            return OverwriteSink(inner, path, shape.static_folder(context))
        policy = _rolling_policy(context, shape.files.bulk)
        check = context.options.get("sink.rolling-policy.check-interval")
        if commits is not None:
            policy, check = PartitionRollingPolicy(commits, policy), check or "1 s"
        builder = self._builder(shape, path, policy)
        if check is not None:
            builder.with_bucket_check_interval(parse_duration(check).to_millis())
        return builder.build() if commits is None else PartitionCommitSink(builder, path, commits)

    def _builder(
        self, shape: _Shape, path: str, policy: RollingPolicy[Any]
    ) -> FileSinkBuilder[FileSink]:
        writing = PickedRows(shape.files.writing, shape.writing_places())
        builder = FileSinkBuilder(FileSink, path, writing, bulk=False)
        builder.with_rolling_policy(policy)
        if shape.partition_places:
            return builder.with_bucket_assigner(
                PartitionAssigner(shape.names, shape.partition_places)
            )
        return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())


class _Shape:
    """Which columns of a table stand in its files, and which in the names of folders."""

    def __init__(self, context: TableContext) -> None:
        names = context.schema.names()
        for key in context.partition_keys:
            if key not in names:
                raise ValidationError(
                    f"PARTITIONED BY names {key!r}, which is no physical column",
                    where=f"table {context.name}",
                    todo=f"use some of: {', '.join(names)}",
                )
        self.path = local(context.required("path"))
        self.partition_places = tuple(names.index(key) for key in context.partition_keys)
        self._content_places = tuple(i for i in range(len(names)) if i not in self.partition_places)
        fields = context.schema.fields
        content = t.RowType(tuple(fields[i] for i in self._content_places), is_nullable=False)
        self.files: RowFiles = find_files(context, content)
        keys = [(fields[i].name, fields[i].type) for i in self.partition_places]
        self.names = PartitionNames(
            keys, context.options.get("partition.default-name", DEFAULT_NAME)
        )

    def reading_places(self) -> tuple[int, ...]:
        """Return where each column stands in content and partition values together."""
        order = [*self._content_places, *self.partition_places]
        return tuple(order.index(i) for i in range(len(order)))

    def writing_places(self) -> tuple[int, ...]:
        """Return which columns of a row are written, the kind of a change among them."""
        if self.files.kinds == frozenset("I"):
            return self._content_places
        return (*self._content_places, len(self._content_places) + len(self.partition_places))

    def static_folder(self, context: TableContext) -> str | None:
        """Return the folder that a statement's PARTITION names, None for those with rows."""
        if not self.partition_places:
            return ""
        values = dict(context.static_partition)
        parts = []
        for name, kind in self.names.keys:
            if name not in values:
                break
            one = PartitionNames([(name, kind)], self.names.default)
            parts.append(one.folder([values[name]]))
        return "/".join(parts) or None


class FolderPartitions(PartitionedSource):
    """The partitions of a table that is read once: those that a query does not ask for are left."""

    def __init__(self, shape: _Shape, reading: TableFiles, only: str | None) -> None:
        self.columns = shape.partition_places
        self._shape = shape
        self._reading = reading
        self._only = only

    def values(self) -> list[tuple[Any, ...]]:
        """Return the values of the partition columns, a tuple a partition."""
        names = self._shape.names
        return [names.values(folder) for folder in names.found(absolute(self._shape.path))]

    def source(self, wanted: Sequence[tuple[Any, ...]]) -> FileSource:
        """Return a source of some partitions."""
        base = absolute(self._shape.path)
        paths = [f"{base}/{self._shape.names.folder(values)}" for values in wanted]
        return FileSource(
            self._reading, paths, only=self._only, splittable=not self._reading.changes
        )


def local(path: str) -> str:
    """Return a path without the scheme of local files."""
    return path.removeprefix("file://") if path.startswith("file://") else os.fspath(path)


def _rolling_policy(context: TableContext, bulk: bool) -> RollingPolicy[Any]:
    if bulk:
        return OnCheckpointRollingPolicy()
    size = context.options.get("sink.rolling-policy.file-size", "128 mb")

    def interval(name: str) -> Duration:
        text = context.options.get(f"sink.rolling-policy.{name}-interval")
        return Duration.of_millis(30 * _MINUTES) if text is None else parse_duration(text)

    return (
        DefaultRollingPolicy.builder()
        .with_max_part_size(parse_memory(size))
        .with_rollover_interval(interval("rollover"))
        .with_inactivity_interval(interval("inactivity"))
        .build()
    )
