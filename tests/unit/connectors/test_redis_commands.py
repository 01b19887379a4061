"""Which commands of Redis records become, and which settings are refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.core.io import WriterContext
from penstock.datastream.connectors.redis import (
    FlinkJedisPoolConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisMapper,
    RedisSink,
)
from penstock.errors import ConfigurationError, SerializationError

CONFIG = FlinkJedisPoolConfig.Builder().set_host("localhost").set_password("s3cret").build()


class Pairs(RedisMapper[Any]):
    def __init__(self, command: RedisCommand, *more: Any) -> None:
        self.description = RedisCommandDescription(command, *more)

    def get_command_description(self) -> RedisCommandDescription:
        return self.description

    def get_key_from_data(self, data: Any) -> Any:
        return data[0]

    def get_value_from_data(self, data: Any) -> Any:
        return data[1]


def commands(mapper: RedisMapper[Any], *records: Any) -> list[Any]:
    writer = RedisSink(CONFIG, mapper).create_writer(WriterContext(0, 1, lambda: 0))
    for record in records:
        writer.write(record, None)
    return [each for piece in writer.prepare_commit(False) for each in pickle.loads(piece)]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ((RedisCommand.LPUSH,), [("LPUSH", "a", 1)]),
        ((RedisCommand.RPUSH,), [("RPUSH", "a", 1)]),
        ((RedisCommand.SADD,), [("SADD", "a", 1)]),
        ((RedisCommand.SET,), [("SET", "a", 1)]),
        ((RedisCommand.SETEX, None, 60), [("SETEX", "a", 60, 1)]),
        ((RedisCommand.PFADD,), [("PFADD", "a", 1)]),
        ((RedisCommand.PUBLISH,), [("PUBLISH", "a", 1)]),
        ((RedisCommand.XADD,), [("XADD", "a", "*", "value", 1)]),
        ((RedisCommand.ZADD, "z"), [("ZADD", "z", 1, "a")]),
        ((RedisCommand.ZINCRBY, "z"), [("ZINCRBY", "z", 1, "a")]),
        ((RedisCommand.ZREM, "z"), [("ZREM", "z", "a")]),
        ((RedisCommand.HSET, "h"), [("HSET", "h", "a", 1)]),
        ((RedisCommand.HSET, "h", 60), [("HSET", "h", "a", 1), ("EXPIRE", "h", 60)]),
        ((RedisCommand.HINCRBY, "h"), [("HINCRBY", "h", "a", 1)]),
        ((RedisCommand.INCRBY,), [("INCRBY", "a", 1)]),
        ((RedisCommand.INCRBY_EX, None, 60), [("INCRBY", "a", 1), ("EXPIRE", "a", 60)]),
        ((RedisCommand.DECRBY,), [("DECRBY", "a", 1)]),
        ((RedisCommand.DECRBY_EX, None, 60), [("DECRBY", "a", 1), ("EXPIRE", "a", 60)]),
    ],
    ids=lambda each: each[0].name if isinstance(each[0], RedisCommand) else "",
)
def test_commands(description: Any, expected: Any) -> None:
    assert commands(Pairs(*description), ("a", 1)) == expected


def test_a_record_may_choose_the_hash_and_its_life() -> None:
    class Choosing(Pairs):
        def get_additional_key(self, data: Any) -> str | None:
            return f"hash-{data[0]}" if data[0] == "a" else None

        def get_additional_ttl(self, data: Any) -> int | None:
            return 9 if data[0] == "a" else None

    assert commands(Choosing(RedisCommand.HSET, "h"), ("a", "x"), ("b", b"y")) == [
        ("HSET", "hash-a", "a", "x"),
        ("EXPIRE", "hash-a", 9),
        ("HSET", "h", "b", b"y"),
    ]


def test_what_redis_does_not_take() -> None:
    with pytest.raises(SerializationError) as caught:
        commands(Pairs(RedisCommand.SET), ("a", None))
    assert str(caught.value) == (
        "the value is nothing that Redis takes\n"
        "  where: RedisMapper\n"
        "  got:   None of record ('a', None)\n"
        "  to do: return a string, bytes or a number"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            (RedisCommand.HSET,),
            "the name of the hash is missing\n"
            "  where: RedisCommandDescription(HSET)\n"
            "  to do: pass additional_key",
        ),
        (
            (RedisCommand.SETEX,),
            "the time for which the key lives is missing\n"
            "  where: RedisCommandDescription(SETEX)\n"
            "  to do: pass additional_ttl, in seconds",
        ),
        (
            (RedisCommand.LPUSH, None, 5),
            "this time to live cannot work\n"
            "  where: RedisCommandDescription(LPUSH)\n"
            "  got:   additional_ttl=5\n"
            "  to do: give seconds above zero, with SETEX, INCRBY_EX, DECRBY_EX, HSET, HINCRBY",
        ),
    ],
)
def test_descriptions_that_cannot_work(arguments: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RedisCommandDescription(*arguments)
    assert str(caught.value) == text


def test_settings() -> None:
    assert repr(CONFIG) == "FlinkJedisPoolConfig(localhost:6379, database 0)"
    with pytest.raises(ConfigurationError) as caught:
        FlinkJedisPoolConfig.Builder().build()
    assert str(caught.value) == (
        "the server's name is missing\n"
        "  where: FlinkJedisPoolConfig.Builder\n"
        "  to do: call set_host()"
    )
    with pytest.raises(ConfigurationError, match="a RedisMapper is needed"):
        RedisSink(CONFIG, lambda x: x)  # type: ignore[arg-type]


def test_the_fields_of_an_entry() -> None:
    mapper = Pairs(RedisCommand.XADD)
    assert commands(mapper, ("s", {"id": 7, "name": "Eve"})) == [
        ("XADD", "s", "*", "id", 7, "name", "Eve")
    ]
    with pytest.raises(SerializationError, match="an entry of a stream needs a field"):
        commands(mapper, ("s", {}))
    with pytest.raises(SerializationError, match="the field is nothing that Redis takes"):
        commands(mapper, ("s", {"a": None}))
