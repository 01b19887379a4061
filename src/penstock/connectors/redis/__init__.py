"""Redis: a sink that runs a command for each record, and streams as a source."""

from penstock.connectors.redis.commands import (
    RedisCommand,
    RedisCommandDescription,
    RedisDataType,
    RedisMapper,
)
from penstock.connectors.redis.config import FlinkJedisPoolConfig
from penstock.connectors.redis.sink import RedisSink
from penstock.connectors.redis.stream_source import RedisStreamEntry, RedisStreamSource

__all__ = [
    "FlinkJedisPoolConfig",
    "RedisCommand",
    "RedisCommandDescription",
    "RedisDataType",
    "RedisMapper",
    "RedisSink",
    "RedisStreamEntry",
    "RedisStreamSource",
]
