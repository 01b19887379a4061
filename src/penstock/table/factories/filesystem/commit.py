"""Commit of partitions: tell others, by a file, that a partition is complete."""

from __future__ import annotations

import copy
import datetime
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.option_values import parse_duration
from penstock.connectors.file_paths import join, store_of
from penstock.connectors.file_sink import FileSink
from penstock.connectors.file_sink.parts import failing
from penstock.connectors.file_sink.rolling import PartFileInfo, RollingPolicy
from penstock.connectors.file_sink.sink import FileSinkBuilder
from penstock.connectors.journal import Journal
from penstock.core.io import (
    CheckContext,
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.core.sql import date_texts
from penstock.core.time import MIN_WATERMARK
from penstock.errors import ValidationError
from penstock.table.factories.base import TableContext
from penstock.table.factories.filesystem.partitions import PartitionNames

_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)
#: First byte of a committable that is about partitions; those of files begin with a brace.
_NEWS = b"p"


@dataclass(frozen=True)
class CommitSettings:
    """When a partition is complete, and what is done then.

    :param by_watermark: by event time; else by the time since its first row.
    :param hooks: functions of the partition's folder that are called, each once or more.
    """

    names: PartitionNames
    by_watermark: bool
    delay: int
    zone: str
    success_file: str | None
    hooks: tuple[Callable[[str], None], ...] = ()
    pattern: str | None = None
    formatter: str | None = None

    @staticmethod
    def of(context: TableContext, names: PartitionNames) -> CommitSettings | None:
        """Return what a table's options say, None if partitions are not committed."""
        options = context.options
        kinds = options.get("sink.partition-commit.policy.kind")
        if kinds is None or not names.keys:
            return None
        wanted = [kind.strip() for kind in kinds.split(",")]
        unknown = set(wanted) - {"success-file", "custom"}
        if unknown:
            raise _wrong(context, "sink.partition-commit.policy.kind", "use success-file or custom")
        trigger = options.get("sink.partition-commit.trigger", "process-time")
        if trigger not in ("process-time", "partition-time"):
            raise _wrong(
                context, "sink.partition-commit.trigger", "use process-time or partition-time"
            )
        if options.get("partition.time-extractor.kind", "default") != "default":
            raise _wrong(
                context, "partition.time-extractor.kind",
                "use 'default' with 'partition.time-extractor.timestamp-pattern'",
            )  # fmt: skip
        hooks: tuple[Callable[[str], None], ...] = ()
        if "custom" in wanted:
            hooks = (_hook(context),)
        file = options.get("sink.partition-commit.success-file.name", "_SUCCESS")
        return CommitSettings(
            names, trigger == "partition-time",
            parse_duration(options.get("sink.partition-commit.delay", "0 s")).to_millis(),
            options.get("sink.partition-commit.watermark-time-zone", "UTC"),
            file if "success-file" in wanted else None, hooks,
            options.get("partition.time-extractor.timestamp-pattern"),
            options.get("partition.time-extractor.timestamp-formatter"),
        )  # fmt: skip

    def due_at(self, folder: str) -> int:
        """Return the watermark from which on a partition is complete."""
        values = self.names.values(folder)
        texts = {
            name: "" if value is None else str(value)
            for (name, _), value in zip(self.names.keys, values, strict=True)
        }
        text = next(iter(texts.values()))
        if self.pattern is not None:
            text = self.pattern
            for name in sorted(texts, key=len, reverse=True):
                text = text.replace(f"${name}", texts[name])
        if self.formatter is None:
            found = date_texts.read_plain(text.strip())
        else:
            found = date_texts.read(text.strip(), self.formatter)
        if found is None:
            raise ValidationError(
                "the time of a partition cannot be read",
                got=f"{text!r} for {folder}",
                todo="set 'partition.time-extractor.timestamp-pattern' to a pattern of its "
                "columns, such as '$day $hour:00:00'",
            )
        moment = found.replace(tzinfo=ZoneInfo(self.zone))
        return (moment - _UTC_EPOCH) // _MS + self.delay


def _hook(context: TableContext) -> Callable[[str], None]:
    name = context.required("sink.partition-commit.policy.class")
    module, _, attribute = name.rpartition(".")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise _wrong(
            context, "sink.partition-commit.policy.class",
            f"use a Python function of the partition's folder: package.module.name ({error})",
        ) from None  # fmt: skip
    return found().commit if isinstance(found, type) else found


def _wrong(context: TableContext, key: str, todo: str) -> ValidationError:
    return ValidationError(
        f"the option {key!r} has no such value",
        where=f"table {context.name}",
        got=context.options[key],
        todo=todo,
    )


class PartitionRollingPolicy(RollingPolicy[Any]):
    """Another policy, and the end of parts whose partition is complete."""

    def __init__(self, settings: CommitSettings, inner: RollingPolicy[Any]) -> None:
        self._settings = settings
        self._inner = inner
        self._watermark: Callable[[], int] = lambda: MIN_WATERMARK
        self._now: Callable[[], int] = lambda: 0

    def bound(self, context: WriterContext) -> PartitionRollingPolicy:
        """Return the policy of one writer."""
        made = copy.copy(self)
        made._watermark, made._now = context.watermark, context.now
        return made

    def _is_due(self, part: PartFileInfo) -> bool:
        settings = self._settings
        if settings.by_watermark:
            return self._watermark() >= settings.due_at(part.get_bucket_id())
        return self._now() >= part.get_creation_time() + settings.delay

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return self._inner.should_roll_on_checkpoint(part_file_state) or self._is_due(
            part_file_state
        )

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        return self._inner.should_roll_on_event(part_file_state, element)

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return self._inner.should_roll_on_processing_time(part_file_state, current_time) or (
            not self._settings.by_watermark and self._is_due(part_file_state)
        )

    def next_roll_time(self, part_file_state: PartFileInfo) -> int | None:
        times = [self._inner.next_roll_time(part_file_state)]
        if not self._settings.by_watermark:
            times.append(part_file_state.get_creation_time() + self._settings.delay)
        return min((time for time in times if time is not None), default=None)


class PartitionCommitSink(Sink):
    """A file sink that commits partitions when all their files are published."""

    def __init__(
        self, builder: FileSinkBuilder[FileSink], path: str, settings: CommitSettings
    ) -> None:
        self._builder = builder
        self._sink = builder.build()
        self._path = path
        self._settings = settings

    def check(self, context: CheckContext) -> None:
        self._sink.check(context)

    def redistribute(self, states: Any, parallelism: int) -> list[Any]:
        return self._sink.redistribute(states, parallelism)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        builder = copy.copy(self._builder)
        policy = builder._policy
        assert isinstance(policy, PartitionRollingPolicy)
        builder.with_rolling_policy(policy.bound(context))
        return _PartitionWriter(builder.build().create_writer(context), context)

    def create_committer(self, context: CommitterContext) -> Committer:
        inner = self._sink.create_committer(context)
        return _PartitionCommitter(inner, context, self._path, self._settings)


class _PartitionWriter(SinkWriter):
    """Say with each batch which partitions got rows, which have open parts, and what time it is."""

    def __init__(self, writer: Any, context: WriterContext) -> None:
        self._writer = writer
        self._context = context

    def write(self, value: Any, timestamp: int | None) -> None:
        self._writer.write(value, timestamp)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        written = set(self._writer.open_buckets())
        done = self._writer.prepare_commit(end_of_input)
        news = {
            "written": sorted(written),
            "open": sorted(self._writer.open_buckets()),
            "watermark": self._context.watermark(),
            "now": self._context.now(),
            "ended": end_of_input,
        }
        return [*done, _NEWS + json.dumps(news).encode()]

    def snapshot_state(self) -> Any:
        return self._writer.snapshot_state()

    def next_wakeup(self) -> int | None:
        found: int | None = self._writer.next_wakeup()
        return found

    def wake_up(self, time: int) -> None:
        self._writer.wake_up(time)

    def close(self) -> None:
        self._writer.close()


class _PartitionCommitter(Committer):
    """Publish files, then commit the partitions that are complete."""

    def __init__(
        self, inner: Committer, context: CommitterContext, path: str, settings: CommitSettings
    ) -> None:
        self._inner = inner
        self._path = path
        self._settings = settings
        self._parallelism = context.parallelism
        self._journal = Journal(context.directory, "partitions.json")
        noted = self._journal.read() if context.restored else None
        #: Partitions that wait, with the time of their first row.
        self._waiting: dict[str, int] = noted["waiting"] if noted else {}
        #: What each subtask said last.
        self._news: dict[str, dict[str, Any]] = noted["news"] if noted else {}

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        files = [each for each in committables if not each.payload.startswith(_NEWS)]
        self._inner.commit(batch_id, files)
        for each in committables:
            if each.payload.startswith(_NEWS):
                news = json.loads(each.payload[len(_NEWS) :])
                self._news[str(each.subtask)] = news
                for folder in news["written"]:
                    self._waiting.setdefault(folder, news["now"])
        for folder in self._complete():
            self._commit_partition(folder)
            del self._waiting[folder]
        self._journal.write({"waiting": self._waiting, "news": self._news})

    def recovered(self) -> None:
        self._inner.recovered()

    def close(self) -> None:
        self._inner.close()

    def _complete(self) -> list[str]:
        news = list(self._news.values())
        if len(news) < self._parallelism:
            return []
        if all(each["ended"] for each in news):
            return sorted(self._waiting)
        still_open = {folder for each in news for folder in each["open"]}
        candidates = [folder for folder in sorted(self._waiting) if folder not in still_open]
        settings = self._settings
        if settings.by_watermark:
            watermark = min(each["watermark"] for each in news)
            return [folder for folder in candidates if watermark >= settings.due_at(folder)]
        now = max(each["now"] for each in news)
        return [f for f in candidates if now >= self._waiting[f] + settings.delay]

    def _commit_partition(self, folder: str) -> None:
        place = join(self._path, folder)
        if self._settings.success_file is not None:
            target = join(place, self._settings.success_file)
            with failing(target):
                store = store_of(place)
                store.make_folder(place)
                store.open_output(target).close()
        for hook in self._settings.hooks:
            hook(place)
