"""Tables on Kafka without a broker: what is written for changes of a key, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.io import SinkWriter
from penstock.errors import ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.factories.kafka.sink import UpsertWriter


class _Kept(SinkWriter):
    def __init__(self) -> None:
        self.rows: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self.rows.append(value)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        return []


@pytest.mark.parametrize(
    ("rows", "written"),
    [
        ([("a", 1, 0), ("a", 1, 1), ("a", 2, 2)], [("a", 1, 0), ("a", 2, 2)]),
        ([("a", 1, 1), ("b", 1, 2)], [("a", 1, 1), ("b", 1, 2)]),
        ([("a", 1, 1), ("a", 1, 1), ("a", 2, 2)], [("a", 1, 1), ("a", 2, 2)]),
        ([("a", 1, 1)], [("a", 1, 1)]),
        ([("a", 1, 3), ("a", 2, 0)], [("a", 1, 3), ("a", 2, 0)]),
    ],
    ids=["an update", "another key", "twice", "alone", "a delete and an insert"],
)
def test_a_key_is_deleted_only_if_no_row_takes_its_place(
    rows: list[Any], written: list[Any]
) -> None:
    kept = _Kept()
    writer = UpsertWriter(kept, (0,))
    for row in rows:
        writer.write(row, None)
    writer.prepare_commit(False)
    assert kept.rows == written


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            "'sink.delivery-guarantee' = 'twice'",
            "the option 'sink.delivery-guarantee' has no such value\n"
            "  where: table t\n  got:   twice\n"
            "  to do: use one of: none, at-least-once, exactly-once",
        ),
        (
            "'sink.delivery-guarantee' = 'exactly-once'",
            "the connector 'kafka' needs the option 'sink.transactional-id-prefix'\n"
            "  where: table t\n"
            "  got:   options connector, format, properties.bootstrap.servers, "
            "sink.delivery-guarantee, topic\n"
            "  to do: add 'sink.transactional-id-prefix' = '...' to the WITH clause",
        ),
        (
            "'sink.partitioner' = 'no.such.thing'",
            "the option 'sink.partitioner' has no such value\n"
            "  where: table t\n  got:   no.such.thing (No module named 'no')\n"
            "  to do: use default, fixed, round-robin, or the name of a Python function or class: "
            "package.module.name",
        ),
        (
            "'value.fields-include' = 'SOME'",
            "the option 'value.fields-include' has no such value\n"
            "  where: table t\n  got:   SOME\n  to do: use ALL or EXCEPT_KEY",
        ),
        (
            "'json.compress' = 'true'",
            "the format 'json' does not know the option 'json.compress'\n"
            "  where: table t\n  got:   'json.compress' = 'true'\n"
            "  to do: it knows: decode.json-parser.enabled, encode.decimal-as-plain-number, "
            "encode.ignore-null-fields, fail-on-missing-field, ignore-parse-errors, "
            "map-null-key.literal, map-null-key.mode, timestamp-format.standard",
        ),
    ],
)
def test_options_of_a_sink_are_checked(options: str, text: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process")
    t_env.execute_sql(
        "CREATE TABLE t (v INT) WITH ('connector' = 'kafka', 'topic' = 'x', 'format' = 'json', "
        f"'properties.bootstrap.servers' = 'localhost:1', {options})"
    )
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("INSERT INTO t VALUES (1)")
    assert str(caught.value) == text
