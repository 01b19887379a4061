"""`'connector' = 'kafka'` and `'upsert-kafka'` against a real broker."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.errors import ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.services.topics import Topic
from tests.sql_cases import show
from tools.services import Server

BOUNDED = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.target", "in-process").set("parallelism.default", "2")
    return t_env


def _create(
    t_env: TableEnvironment, topic: Topic, columns: str, options: str, name: str = "t",
    connector: str = "kafka",
) -> None:  # fmt: skip
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH ('connector' = '{connector}', "
        f"'topic' = '{topic.name}', 'properties.bootstrap.servers' = '{topic.servers}', {options})"
    )


def _rows(t_env: TableEnvironment, query: str) -> list[str]:
    with t_env.execute_sql(query).collect() as found:
        return sorted(show(row) for row in found)


def _messages(topic: Topic) -> list[tuple[Any, ...]]:
    return [(m.key() and m.key().decode(), m.value() and m.value().decode()) for m in topic.read()]


def test_rows_are_written_and_read_with_keys_and_metadata(
    kafka: Server, t_env: TableEnvironment
) -> None:
    topic = Topic(kafka, "table", partitions=2)
    _create(
        t_env, topic,
        "id INT, name STRING, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', "
        "headers MAP<STRING, BYTES> METADATA, `partition` BIGINT METADATA VIRTUAL, "
        "`offset` BIGINT METADATA VIRTUAL, topic STRING METADATA VIRTUAL, "
        "kind STRING METADATA FROM 'timestamp-type' VIRTUAL",
        "'format' = 'json', 'key.format' = 'raw', 'key.fields' = 'name', "
        f"'value.fields-include' = 'EXCEPT_KEY', {BOUNDED}",
    )  # fmt: skip
    t_env.execute_sql(
        "INSERT INTO t SELECT 1, 'tea', TO_TIMESTAMP_LTZ(1700000000123, 3), MAP['h', x'01']"
    ).wait()
    [message] = topic.read()
    assert (message.key(), message.value()) == (b"tea", b'{"id":1}')
    assert message.headers() == [("h", b"\x01")]
    assert message.timestamp() == (1, 1700000000123)
    query = (
        "SELECT id, name, at, headers['h'], `partition`, `offset`, topic, kind, "
        "CARDINALITY(headers) FROM t"
    )
    with t_env.execute_sql(query).collect() as found:
        [row] = list(found)
    moment = datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=datetime.timezone.utc)
    assert tuple(row) == (
        1, "tea", moment, b"\x01", message.partition(), 0, topic.name, "CreateTime", 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ("'scan.startup.mode' = 'earliest-offset'", "0123"),
        ("'scan.startup.mode' = 'latest-offset'", ""),
        ("'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '3000'", "23"),
        (
            "'scan.startup.mode' = 'specific-offsets', "
            "'scan.startup.specific-offsets' = 'partition:0,offset:1'",
            "123",
        ),
        ("'properties.auto.offset.reset' = 'earliest'", "0123"),
        ("'properties.auto.offset.reset' = 'latest'", ""),
    ],
)
def test_modes_of_the_beginning(
    kafka: Server, t_env: TableEnvironment, options: str, rows: str
) -> None:
    topic = Topic(kafka, "startup")
    for number in range(4):
        topic.write(str(number), timestamp=(number + 1) * 1000)
    more = f"'format' = 'csv', 'scan.bounded.mode' = 'latest-offset', {options}"
    _create(t_env, topic, "v INT", f"'properties.group.id' = 'g-{topic.name}', {more}")
    assert _rows(t_env, "SELECT v FROM t") == [f"+I[{number}]" for number in rows]


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ("'scan.bounded.mode' = 'timestamp', 'scan.bounded.timestamp-millis' = '3000'", "01"),
        (
            "'scan.bounded.mode' = 'specific-offsets', "
            "'scan.bounded.specific-offsets' = 'partition:0,offset:3'",
            "012",
        ),
        ("'scan.bounded.mode' = 'group-offsets'", "0123"),
    ],
)
def test_modes_of_the_end(kafka: Server, t_env: TableEnvironment, options: str, rows: str) -> None:
    topic = Topic(kafka, "bounded")
    for number in range(4):
        topic.write(str(number), timestamp=(number + 1) * 1000)
    more = f"'format' = 'csv', 'scan.startup.mode' = 'earliest-offset', {options}"
    _create(t_env, topic, "v INT", f"'properties.group.id' = 'g-{topic.name}', {more}")
    assert _rows(t_env, "SELECT v FROM t") == [f"+I[{number}]" for number in rows]


def test_each_partition_has_a_watermark_of_its_own(kafka: Server, t_env: TableEnvironment) -> None:
    topic = Topic(kafka, "marks", partitions=2)
    # One partition is far ahead of the other: with one watermark for both its rows would be late.
    for minute in range(30):
        topic.write(f"a,2024-01-01 00:{minute:02d}:00", partition=0)
        topic.write(f"b,2024-01-01 00:{minute:02d}:30", partition=1)
    t_env.get_config().set("parallelism.default", "1")
    _create(
        t_env, topic, "k STRING, at TIMESTAMP(3), WATERMARK FOR at AS at",
        f"'format' = 'csv', {BOUNDED}",
    )  # fmt: skip
    query = (
        "SELECT k, COUNT(*) FROM (SELECT k, window_start FROM TUMBLE(TABLE t, DESCRIPTOR(at), "
        "INTERVAL '1' MINUTE) GROUP BY k, window_start, window_end) GROUP BY k"
    )
    assert {"+U[a, 30]", "+U[b, 30]"} <= set(_rows(t_env, query))
    plan = t_env.explain_sql("SELECT * FROM t")
    execution = plan[plan.index("Optimized Execution Plan") :]
    assert "WatermarkAssigner" not in execution  # the source makes them


def test_upserts_and_deletes_by_key(kafka: Server, t_env: TableEnvironment, tmp_path: Path) -> None:
    topic = Topic(kafka, "upsert", partitions=2)
    _create(
        t_env, topic, "word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED",
        "'key.format' = 'json', 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset'",
        connector="upsert-kafka",
    )  # fmt: skip
    (tmp_path / "in.csv").write_text("tea\njam\ntea\nrum\n", encoding="utf-8")
    t_env.execute_sql(
        "CREATE TABLE words (word STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/in.csv', 'format' = 'csv')"
    )
    t_env.execute_sql(
        "INSERT INTO t SELECT word, COUNT(*) FROM words GROUP BY word HAVING COUNT(*) < 2"
    ).wait()
    last = dict(_messages(topic))
    assert last == {
        '{"word":"tea"}': None,
        '{"word":"jam"}': '{"word":"jam","n":1}',
        '{"word":"rum"}': '{"word":"rum","n":1}',
    }
    topic.write('{"word":"jam","n":7}', key='{"word":"jam"}')
    topic.write(None, key='{"word":"rum"}')  # type: ignore[arg-type]
    topic.write(None, key='{"word":"never"}')  # type: ignore[arg-type]
    assert [row for row in _rows(t_env, "SELECT word, n FROM t") if "tea" not in row] == [
        "+I[jam, 1]", "+I[rum, 1]", "+U[jam, 7]", "-D[rum, 1]", "-U[jam, 1]",
    ]  # fmt: skip
    assert _rows(t_env, "SELECT SUM(n) FROM t")[-1].startswith("-")


def test_only_the_newest_row_of_a_key_goes_out_of_a_buffer(
    kafka: Server, t_env: TableEnvironment, tmp_path: Path
) -> None:
    topic = Topic(kafka, "buffer")
    _create(
        t_env, topic, "word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED",
        "'key.format' = 'raw', 'value.format' = 'csv', 'value.fields-include' = 'EXCEPT_KEY', "
        "'sink.buffer-flush.max-rows' = '100', 'sink.buffer-flush.interval' = '1 s'",
        connector="upsert-kafka",
    )  # fmt: skip
    (tmp_path / "in.csv").write_text("a\na\nb\na\n", encoding="utf-8")
    t_env.execute_sql(
        "CREATE TABLE words (word STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/in.csv', 'format' = 'csv')"
    )
    t_env.execute_sql("INSERT INTO t SELECT word, COUNT(*) FROM words GROUP BY word").wait()
    assert sorted(_messages(topic)) == [("a", "3"), ("b", "1")]


def test_changes_of_a_database_go_through_a_topic(kafka: Server, t_env: TableEnvironment) -> None:
    source, target = Topic(kafka, "cdc"), Topic(kafka, "canal")
    row = {"id": 1, "v": 5}
    for message in (
        {"before": None, "after": row, "op": "c", "source": {"table": "items"}, "ts_ms": 1000},
        {"before": row, "after": {"id": 1, "v": 9}, "op": "u", "source": {"table": "items"}},
        {"before": {"id": 1, "v": 9}, "after": None, "op": "d", "source": {"table": "items"}},
    ):
        source.write(json.dumps(message))
    source.write(None)  # type: ignore[arg-type]
    _create(
        t_env, source, "id INT, v INT, origin STRING METADATA FROM 'value.source.table' VIRTUAL",
        f"'format' = 'debezium-json', {BOUNDED}",
    )  # fmt: skip
    with t_env.execute_sql("SELECT * FROM t").collect() as found:
        assert [show(change) for change in found] == [
            "+I[1, 5, items]", "-U[1, 5, items]", "+U[1, 9, items]", "-D[1, 9, items]",
        ]  # fmt: skip
    _create(t_env, target, "id INT, v INT", "'format' = 'canal-json'", name="u")
    t_env.execute_sql("INSERT INTO u SELECT id, v FROM t").wait()
    assert target.values() == [
        '{"data":[{"id":1,"v":5}],"type":"INSERT"}',
        '{"data":[{"id":1,"v":5}],"type":"DELETE"}',
        '{"data":[{"id":1,"v":9}],"type":"INSERT"}',
        '{"data":[{"id":1,"v":9}],"type":"DELETE"}',
    ]


def test_a_subtask_keeps_to_a_partition_and_a_function_chooses_one(
    kafka: Server, t_env: TableEnvironment
) -> None:
    fixed, own = Topic(kafka, "fixed", partitions=3), Topic(kafka, "own", partitions=3)
    _create(t_env, fixed, "v INT", "'format' = 'csv', 'sink.partitioner' = 'fixed'")
    name = f"{__name__}.last_partition"
    _create(t_env, own, "v INT", f"'format' = 'csv', 'sink.partitioner' = '{name}'", name="u")
    t_env.execute_sql("INSERT INTO t VALUES (1), (2), (3), (4)").wait()
    t_env.execute_sql("INSERT INTO u VALUES (1), (2)").wait()
    assert len({message.partition() for message in fixed.read()}) == 1
    assert {message.partition() for message in own.read()} == {2}


def last_partition(row: Any, key: Any, value: Any, topic: str, partitions: list[int]) -> int:
    return partitions[-1]


def test_exactly_once_writes_a_transaction(kafka: Server, t_env: TableEnvironment) -> None:
    topic = Topic(kafka, "exact")
    _create(
        t_env, topic, "v INT", "'format' = 'csv', 'sink.delivery-guarantee' = 'exactly-once', "
        f"'sink.transactional-id-prefix' = '{topic.name}'",
    )  # fmt: skip
    t_env.execute_sql("INSERT INTO t VALUES (1), (2)").wait()
    assert sorted(topic.values()) == ["1", "2"]
    consumer = Consumer({"bootstrap.servers": topic.servers, "group.id": topic.name})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic.name, 0), 60)
    consumer.close()
    assert end == 3  # the end of a transaction takes an offset


def test_rows_name_their_topics(kafka: Server, t_env: TableEnvironment) -> None:
    first, second = Topic(kafka, "one"), Topic(kafka, "two")
    t_env.execute_sql(
        "CREATE TABLE t (v INT, topic STRING METADATA) WITH ('connector' = 'kafka', "
        f"'topic' = '{first.name};{second.name}', 'format' = 'csv', {BOUNDED}, "
        f"'properties.bootstrap.servers' = '{first.servers}')"
    )
    t_env.execute_sql(f"INSERT INTO t VALUES (1, '{first.name}'), (2, '{second.name}')").wait()
    assert (first.values(), second.values()) == (["1"], ["2"])
    assert _rows(t_env, "SELECT v FROM t") == ["+I[1]", "+I[2]"]


@pytest.mark.parametrize(
    ("connector", "columns", "options", "text"),
    [
        (
            "kafka", "v INT", "'format' = 'json'",
            "the connector 'kafka' needs either 'topic' or 'topic-pattern'\n"
            "  where: table t\n  got:   neither\n"
            "  to do: add 'topic' = '...' to the WITH clause",
        ),
        (
            "kafka", "v INT", "'topic' = 'x', 'format' = 'json'",
            "the connector 'kafka' needs the option 'properties.bootstrap.servers'\n"
            "  where: table t\n  got:   options connector, format, topic\n"
            "  to do: add 'properties.bootstrap.servers' = '...' to the WITH clause",
        ),
        (
            "kafka", "v INT, PRIMARY KEY (v) NOT ENFORCED", "'topic' = 'x', 'format' = 'json'",
            "with the format 'json' a table of the connector 'kafka' has no primary key\n"
            "  where: table t\n  got:   PRIMARY KEY (v)\n"
            "  to do: use 'connector' = 'upsert-kafka', or a format that has changes: "
            "debezium-json, canal-json",
        ),
        (
            "upsert-kafka", "v INT", "'topic' = 'x', 'key.format' = 'json'",
            "a table of the connector 'upsert-kafka' needs a primary key\n"
            "  where: table t\n"
            "  to do: declare PRIMARY KEY (...) NOT ENFORCED: it becomes the messages' key",
        ),
        (
            "kafka", "v INT", "'topic' = 'x', 'format' = 'json', 'scan.startup.mode' = 'first'",
            "the option 'scan.startup.mode' has no such value\n"
            "  where: table t\n  got:   first\n"
            "  to do: use one of: earliest-offset, latest-offset, group-offsets, timestamp, "
            "specific-offsets",
        ),
        (
            "kafka", "v INT", "'topic' = 'x', 'format' = 'json', 'key.format' = 'json'",
            "'key.format' and 'key.fields' come together\n"
            "  where: table t\n  got:   only 'key.format'\n"
            "  to do: add the other: 'key.fields' = 'a;b' names columns of the table",
        ),
    ],
)  # fmt: skip
def test_what_a_table_lacks_is_told(
    t_env: TableEnvironment, connector: str, columns: str, options: str, text: str
) -> None:
    t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ('connector' = '{connector}', {options})")
    with pytest.raises(ValidationError) as caught:
        t_env.execute_sql("SELECT * FROM t")
    assert str(caught.value) == text
