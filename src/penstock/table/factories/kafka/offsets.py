"""Where a table begins and ends to read its topics: `scan.startup.*` and `scan.bounded.*`."""

from __future__ import annotations

import re

from penstock.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from penstock.errors import ValidationError
from penstock.table.factories.base import TableContext

_STARTUP = (
    "earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets",
)  # fmt: skip
_BOUNDED = ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets")


def startup_offsets(context: TableContext, topics: tuple[str, ...]) -> KafkaOffsetsInitializer:
    """Return where a new job begins."""
    mode = _mode(context, "scan.startup.mode", "group-offsets", _STARTUP)
    if mode == "earliest-offset":
        return KafkaOffsetsInitializer.earliest()
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "group-offsets":
        return KafkaOffsetsInitializer.committed_offsets(_reset(context))
    return _given(context, "scan.startup", mode, topics)


def bounded_offsets(
    context: TableContext, topics: tuple[str, ...]
) -> KafkaOffsetsInitializer | None:
    """Return where to stop, None to go on for ever."""
    mode = _mode(context, "scan.bounded.mode", "unbounded", _BOUNDED)
    if mode == "unbounded":
        return None
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "group-offsets":
        return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)
    return _given(context, "scan.bounded", mode, topics)


def _mode(context: TableContext, key: str, default: str, known: tuple[str, ...]) -> str:
    mode = context.options.get(key, default).lower()
    if mode not in known:
        raise ValidationError(
            f"the option {key!r} has no such value",
            where=f"table {context.name}",
            got=mode,
            todo=f"use one of: {', '.join(known)}",
        )
    return mode


def _reset(context: TableContext) -> KafkaOffsetResetStrategy:
    word = context.options.get("properties.auto.offset.reset", "none").upper()
    if word not in KafkaOffsetResetStrategy.__members__:
        raise ValidationError(
            "the option 'properties.auto.offset.reset' has no such value",
            where=f"table {context.name}",
            got=word.lower(),
            todo="use earliest, latest or none",
        )
    return KafkaOffsetResetStrategy[word]


def _given(
    context: TableContext, prefix: str, mode: str, topics: tuple[str, ...]
) -> KafkaOffsetsInitializer:
    if mode == "timestamp":
        text = _needed(context, f"{prefix}.timestamp-millis", mode)
        if not re.fullmatch(r"\d+", text.strip()):
            raise _malformed(context, f"{prefix}.timestamp-millis", "use epoch milliseconds")
        return KafkaOffsetsInitializer.timestamp(int(text))
    key = f"{prefix}.specific-offsets"
    text = _needed(context, key, mode)
    if len(topics) != 1:
        raise ValidationError(
            f"{key!r} is for tables of one topic",
            where=f"table {context.name}",
            got=f"topics {', '.join(topics) or 'of a pattern'}",
            todo="declare a table for each topic",
        )
    found = {}
    for part in filter(None, text.split(";")):
        match = re.fullmatch(r"\s*partition:(\d+),\s*offset:(\d+)\s*", part)
        if match is None:
            raise _malformed(context, key, "use 'partition:0,offset:42;partition:1,offset:300'")
        found[KafkaTopicPartition(topics[0], int(match[1]))] = int(match[2])
    if prefix == "scan.bounded":
        return KafkaOffsetsInitializer.offsets(found, KafkaOffsetResetStrategy.LATEST)
    return KafkaOffsetsInitializer.offsets(found)


def _needed(context: TableContext, key: str, mode: str) -> str:
    text = context.options.get(key)
    if text is None:
        raise ValidationError(
            f"the mode {mode!r} needs the option {key!r}",
            where=f"table {context.name}",
            todo=f"add '{key}' = '...' to the WITH clause",
        )
    return text


def _malformed(context: TableContext, key: str, todo: str) -> ValidationError:
    return ValidationError(
        f"the option {key!r} has no such value",
        where=f"table {context.name}",
        got=context.options[key],
        todo=todo,
    )
