"""What a connector of CREATE TABLE gives: a source of rows, a sink for rows, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.io import Sink, Source
from penstock.errors import ValidationError
from penstock.graph.relational.types import LogicalType, RowType


@dataclass(frozen=True)
class TableContext:
    """A table as its connector sees it.

    :param schema: physical columns, in order.
    :param metadata: keys of metadata columns, in order; their values stand behind the columns. For
        a sink only those that it writes.
    :param overwrite: of a sink: whether the rows replace what is there.
    :param static_partition: of a sink: values of columns that are the same in all rows.
    """

    name: str
    schema: RowType
    options: dict[str, str]
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    zone: str = "UTC"
    streaming: bool = True
    parallelism: int = 1
    #: Settings of the environment.
    settings: dict[str, str] = field(default_factory=dict)
    overwrite: bool = False
    static_partition: tuple[tuple[str, Any], ...] = ()

    def required(self, key: str) -> str:
        """Return an option that must be there."""
        value = self.options.get(key)
        if value is None:
            raise ValidationError(
                f"the connector {self.options.get('connector')!r} needs the option {key!r}",
                where=f"table {self.name}",
                got=f"options {', '.join(sorted(self.options))}",
                todo=f"add '{key}' = '...' to the WITH clause",
            )
        return value


class PartitionedSource:
    """A source of rows whose partitions are known before it is read."""

    #: Places of the partition columns among those of the table.
    columns: tuple[int, ...] = ()

    def values(self) -> list[tuple[Any, ...]]:
        """Return the values of the partition columns, a tuple a partition."""
        raise TypeError("abstract")

    def source(self, wanted: Sequence[tuple[Any, ...]]) -> Source:
        """Return a source of some partitions."""
        raise TypeError("abstract")


@dataclass(frozen=True)
class TableSource:
    """Where rows come from: a source of tuples of physical columns, then metadata.

    :param kinds: which changes it has; others than inserts stand behind the columns as numbers.
    """

    source: Source
    kinds: frozenset[str] = frozenset("I")
    update_before: bool = True
    parallelism: int | None = None
    #: How some partitions of it can be read alone; None if they cannot.
    partitions: PartitionedSource | None = None
    #: Whether WATERMARK FOR makes watermarks of each split, rather than of each subtask.
    split_watermarks: bool = False


@dataclass(frozen=True)
class TableSink:
    """Where rows go.

    :param kinds: which changes it takes.
    :param update_before: whether it wants the row before each update.
    :param with_kinds: whether rows come with their kind behind the columns.
    :param key: columns by which changes of one row must stay together.
    """

    sink: Sink
    kinds: frozenset[str] = frozenset("I")
    update_before: bool = True
    with_kinds: bool = False
    key: tuple[str, ...] = ()
    parallelism: int | None = None


class TableFactory:
    """A connector by its identifier."""

    identifier = ""
    #: Options that it knows; those that end with a dot are prefixes.
    options: frozenset[str] = frozenset()
    #: Whether INSERT OVERWRITE replaces what a table holds.
    overwrites = False

    def source(self, context: TableContext) -> TableSource:
        """Return the source of a table."""
        raise ValidationError(
            f"the connector {self.identifier!r} cannot be read from",
            where=f"table {context.name}",
            todo="use it as the target of INSERT INTO",
        )

    def sink(self, context: TableContext) -> TableSink:
        """Return the sink of a table."""
        raise ValidationError(
            f"the connector {self.identifier!r} cannot be written to",
            where=f"table {context.name}",
            todo="use it as the source of a query",
        )

    def readable_metadata(self, context: TableContext) -> dict[str, LogicalType]:
        """Return the types of the metadata columns that rows may have, by key."""
        return {}

    def writable_metadata(self, context: TableContext) -> dict[str, LogicalType]:
        """Return the types of the metadata columns that rows may bring along, by key."""
        return {}

    def partitions(self, context: TableContext) -> list[str]:
        """Return the names of the partitions that a table has."""
        return []

    def lookup(self, context: TableContext) -> Any:
        """Return how single rows are looked up by key, None if they cannot be."""
        return None

    def check(self, context: TableContext) -> None:
        """Refuse options that nobody knows."""
        prefixes = tuple(option for option in self.options if option.endswith("."))
        for key in context.options:
            if key in self.options or key in _COMMON or key.startswith(prefixes or "\0"):
                continue
            raise ValidationError(
                f"the connector {self.identifier!r} does not know the option {key!r}",
                where=f"table {context.name}",
                got=f"'{key}' = '{context.options[key]}'",
                todo=f"it knows: {', '.join(sorted(self.options))}",
            )


_COMMON = frozenset({
    "connector", "property-version", "scan.watermark.emit.strategy", "scan.watermark.idle-timeout",
    "scan.watermark.alignment.group", "scan.watermark.alignment.max-drift",
    "scan.watermark.alignment.update-interval",
})  # fmt: skip


@dataclass
class FactoryRegistry:
    """Connectors by identifier."""

    factories: dict[str, TableFactory] = field(default_factory=dict)

    def add(self, factory: TableFactory) -> None:
        """Add a connector."""
        self.factories[factory.identifier] = factory

    def find(self, context: TableContext) -> TableFactory:
        """Return the connector that a table names.

        :raises ValidationError: if it names none, or one that is not there.
        """
        name = context.options.get("connector")
        if name is None:
            raise ValidationError(
                "the table has no connector",
                where=f"table {context.name}",
                todo="add 'connector' = '...' to the WITH clause: one of "
                + ", ".join(sorted(self.factories)),
            )
        factory = self.factories.get(name)
        if factory is None:
            raise ValidationError(
                f"there is no connector {name!r}",
                where=f"table {context.name}",
                todo=f"use one of: {', '.join(sorted(self.factories))}",
            )
        factory.check(context)
        return factory
