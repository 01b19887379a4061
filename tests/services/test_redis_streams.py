"""Streams of Redis: read and written on a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from penstock.common import WatermarkStrategy
from penstock.datastream.connectors.redis import (
    FlinkJedisPoolConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisMapper,
    RedisSink,
    RedisStreamEntry,
    RedisStreamSource,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, PenstockError, SourceError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment, plan_of, run
from tools.services import Server

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def client(redis: Server) -> Iterator[Redis]:
    with Redis(redis.address["host"], redis.address["port"], decode_responses=True) as client:
        yield client


@pytest.fixture
def stream() -> str:
    return f"stream-{uuid.uuid4().hex}"


def config_of(redis: Server) -> FlinkJedisPoolConfig:
    address = redis.address
    builder = FlinkJedisPoolConfig.Builder().set_host(address["host"]).set_port(address["port"])
    return builder.build()


def number(entry: RedisStreamEntry) -> int | None:
    return int(entry.fields["n"]) if "n" in entry.fields else None


def fill(client: Redis, stream: str, numbers: range) -> None:
    with client.pipeline() as pipe:
        for n in numbers:
            pipe.xadd(stream, {"n": n})
        pipe.execute()


def read(source: RedisStreamSource, **options: Any) -> list[Any]:
    strategy = WatermarkStrategy.no_watermarks()
    return run(lambda env: env.from_source(source, strategy, "stream"), **options)


@pytest.mark.parametrize("cuts", [None, 700])
def test_all_entries_in_order(redis: Server, client: Redis, stream: str, cuts: int | None) -> None:
    fill(client, stream, range(12_000))
    client.xadd(stream, {"other": "left out"})
    source = RedisStreamSource(config_of(redis), stream, bounded=True, decode=number)
    assert read(source, cuts=cuts) == list(range(12_000))


def test_an_entry_has_its_id_as_its_time(redis: Server, client: Redis, stream: str) -> None:
    client.xadd(stream, {"a": "x", "b": "y"}, id="1700000000123-5")
    source = RedisStreamSource(config_of(redis), stream, bounded=True)
    assert read(source) == [RedisStreamEntry(stream, "1700000000123-5", {"a": "x", "b": "y"})]


def test_where_reading_begins(redis: Server, client: Redis, stream: str) -> None:
    for n in range(4):
        client.xadd(stream, {"n": n}, id=f"{n + 1}-0")
    config = config_of(redis)
    source = RedisStreamSource(config, stream, "2-0", bounded=True, decode=number)
    assert read(source) == [2, 3]
    assert read(RedisStreamSource(config, stream, "$", bounded=True, decode=number)) == []
    assert read(RedisStreamSource(config, "no-such-stream", bounded=True)) == []


def test_several_streams_and_a_restart(
    redis: Server, client: Redis, stream: str, tmp_path: Path
) -> None:
    streams = [stream, f"{stream}-2"]
    source = RedisStreamSource(config_of(redis), streams, decode=number)
    fill(client, streams[0], range(100))
    fill(client, streams[1], range(100, 200))
    strategy = WatermarkStrategy.no_watermarks()
    plan, sink = plan_of(lambda env: env.from_source(source, strategy, "streams"), 2)
    job = LocalJob(plan, tmp_path, cuts=30)
    while len(sink.values()) < 150:
        job.step()
    job.coordinator.cancel()
    job.close()
    fill(client, streams[1], range(200, 220))
    again = LocalJob(plan, tmp_path)
    while len(sink.values()) < 220:
        again.step()
    again.coordinator.cancel()
    again.close()
    values = sink.values()
    assert [n for n in values if n < 100] == list(range(100))
    assert [n for n in values if n >= 100] == list(range(100, 220))


class ToStream(RedisMapper[int]):
    def __init__(self, stream: str) -> None:
        self._stream = stream

    def get_command_description(self) -> RedisCommandDescription:
        return RedisCommandDescription(RedisCommand.XADD)

    def get_key_from_data(self, data: int) -> str:
        return self._stream

    def get_value_from_data(self, data: int) -> Any:
        return {"n": data, "square": data * data}


def test_records_become_entries(redis: Server, client: Redis, stream: str, tmp_path: Path) -> None:
    env = environment()
    sink = RedisSink(config_of(redis), ToStream(stream))
    env.from_collection(list(range(2500))).sink_to(sink)
    LocalJob(build_plan(env), tmp_path, cuts=900).run()
    entries = [fields for _, fields in client.xrange(stream)]
    assert entries == [{"n": str(n), "square": str(n * n)} for n in range(2500)]


def test_a_key_that_holds_something_else(redis: Server, client: Redis, stream: str) -> None:
    client.set(stream, "text")
    with pytest.raises(PenstockError) as caught:
        read(RedisStreamSource(config_of(redis), stream, bounded=True))
    assert "cannot be read" in str(caught.value)
    assert "WRONGTYPE" in str(caught.value)


def test_what_cannot_be_decoded(redis: Server, client: Redis, stream: str) -> None:
    client.xadd(stream, {"n": "seven"}, id="1-0")
    with pytest.raises(SourceError) as caught:
        read(RedisStreamSource(config_of(redis), stream, bounded=True, decode=number))
    assert "an entry cannot be turned into a record" in str(caught.value)
    assert "ValueError: invalid literal for int() with base 10: 'seven'" in str(caught.value)


def test_a_start_that_is_no_id(redis: Server) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RedisStreamSource(config_of(redis), "s", "yesterday")
    assert str(caught.value) == (
        "this is no id of an entry\n"
        "  where: RedisStreamSource()\n"
        "  got:   start='yesterday'\n"
        "  to do: pass '0-0', '$', or an id like '1700000000000-0'"
    )
