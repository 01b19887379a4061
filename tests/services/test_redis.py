"""Redis as a sink: every command once, whatever happens in between."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.datastream.connectors.redis import (
    FlinkJedisPoolConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisMapper,
    RedisSink,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import SinkError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment
from tools.services import Server


class Pairs(RedisMapper[Any]):
    def __init__(self, command: RedisCommand, name: str | None = None) -> None:
        self._description = RedisCommandDescription(command, name)

    def get_command_description(self) -> RedisCommandDescription:
        return self._description

    def get_key_from_data(self, data: Any) -> Any:
        return data[0]

    def get_value_from_data(self, data: Any) -> Any:
        return data[1]


@pytest.fixture
def client(redis: Server) -> Iterator[Redis]:
    with Redis(redis.address["host"], redis.address["port"], decode_responses=True) as client:
        yield client


@pytest.fixture
def key() -> str:
    return f"key-{uuid.uuid4().hex}"


def config_of(redis: Server) -> Any:
    builder = FlinkJedisPoolConfig.Builder()
    return builder.set_host(redis.address["host"]).set_port(redis.address["port"])


def sink_of(redis: Server, command: RedisCommand, name: str | None = None) -> RedisSink:
    return RedisSink(config_of(redis).build(), Pairs(command, name))


def committer_of(sink: RedisSink, folder: Path, *, restored: bool = False, **more: Any) -> Any:
    context = CommitterContext("uid", "redis", 2, str(folder), restored, "job", **more)
    return sink.create_committer(context)


def stage(sink: RedisSink, subtask: int, *records: Any) -> list[Committable]:
    writer = sink.create_writer(WriterContext(subtask, 2, lambda: 0))
    for record in records:
        writer.write(record, None)
    return [Committable(subtask, payload) for payload in writer.prepare_commit(False)]


def test_a_job_writes_each_record_once(
    redis: Server, client: Redis, key: str, tmp_path: Path
) -> None:
    env = environment()
    records = [(key, n) for n in range(2500)]
    env.from_collection(records).sink_to(sink_of(redis, RedisCommand.RPUSH)).uid("list")
    scores = env.from_collection([("a", 1.5), ("b", -2), ("a", 3)])
    scores.sink_to(sink_of(redis, RedisCommand.ZADD, f"{key}-z")).uid("scores")
    LocalJob(build_plan(env), tmp_path, cuts=300).run()
    assert client.lrange(key, 0, -1) == [str(n) for n in range(2500)]
    assert client.zrange(f"{key}-z", 0, -1, withscores=True) == [("b", -2.0), ("a", 3.0)]


def test_a_batch_that_is_published_again_changes_nothing(
    redis: Server, client: Redis, key: str, tmp_path: Path
) -> None:
    sink = sink_of(redis, RedisCommand.INCRBY)
    first = [*stage(sink, 0, *[(key, 1)] * 1500), *stage(sink, 1, (key, 10))]
    committer = committer_of(sink, tmp_path)
    committer.commit(0, first)
    committer.commit(0, first)
    committer.close()
    # The next run is told the batch again, its pieces in whatever order, and goes on.
    restarted = committer_of(sink, tmp_path, restored=True)
    restarted.commit(0, [first[2], *first[:2]])
    assert client.get(key) == "1510"
    restarted.commit(1, stage(sink, 0, (key, 100)))
    assert client.get(key) == "1610"
    # A job that begins anew counts its batches from zero.
    committer_of(sink, tmp_path).commit(0, stage(sink, 0, (key, 1000)))
    assert client.get(key) == "2610"


def test_a_batch_goes_on_where_it_was_cut_off(
    redis: Server, client: Redis, key: str, tmp_path: Path
) -> None:
    sink = sink_of(redis, RedisCommand.INCRBY)
    pieces = stage(sink, 0, *[(key, 1)] * 2500)
    committer_of(sink, tmp_path).commit(0, pieces[:2])
    assert client.get(key) == "2000"
    committer_of(sink, tmp_path, restored=True).commit(0, pieces)
    assert client.get(key) == "2500"


def test_a_refused_command_is_told_and_not_lost(
    redis: Server, client: Redis, key: str, tmp_path: Path
) -> None:
    client.set(key, "no list")
    sink = sink_of(redis, RedisCommand.RPUSH)
    batch = stage(sink, 0, (key, "x"))
    committer = committer_of(sink, tmp_path)
    with pytest.raises(SinkError) as caught:
        committer.commit(0, batch)
    assert str(caught.value) == (
        "Redis refuses a command\n"
        f"  got:   ('RPUSH', '{key}', 'x'): WRONGTYPE Operation against a key holding the wrong "
        "kind of value\n"
        "  to do: correct the mapper, or remove what stands in the way; the command and those "
        "beside it run when the job is started again"
    )
    client.delete(key)
    committer_of(sink, tmp_path, restored=True).commit(0, batch)
    assert client.lrange(key, 0, -1) == ["x"]


def test_a_server_that_was_away_is_waited_for(redis: Server, key: str, tmp_path: Path) -> None:
    sink = sink_of(redis, RedisCommand.INCRBY)
    committer = committer_of(sink, tmp_path)
    committer.commit(0, stage(sink, 0, (key, 1)))
    redis.kill()
    stopped = committer_of_stopping(sink, tmp_path)
    assert "the job has ended" in stopped
    redis.start(die_with_parent=True)
    committer.commit(1, stage(sink, 0, (key, 1)))
    with Redis(redis.address["host"], redis.address["port"], decode_responses=True) as client:
        assert client.get(key) == "2"


def committer_of_stopping(sink: RedisSink, folder: Path) -> str:
    with pytest.raises(SinkError) as caught:
        committer_of(sink, folder, restored=True, stopping=lambda: True)
    return str(caught.value)


def test_a_wrong_password_is_told_at_once(redis: Server, client: Redis, tmp_path: Path) -> None:
    client.config_set("requirepass", "right")
    try:
        config = config_of(redis).set_password("s3cret").build()
        with pytest.raises(SinkError) as caught:
            committer_of(RedisSink(config, Pairs(RedisCommand.SET)), tmp_path)
    finally:
        client.execute_command("AUTH", "right")
        client.config_set("requirepass", "")
    text = str(caught.value)
    assert text.startswith(
        f"Redis at 127.0.0.1:{redis.address['port']} does not take commands\n"
        "  got:   AuthenticationError: "
    )
    assert text.endswith(
        "  to do: correct the password; what is recorded is written when the job is started again"
    )
    assert "s3cret" not in text
