"""Redis: a sink that runs a command for each record."""

from penstock.connectors.redis.commands import (
    RedisCommand,
    RedisCommandDescription,
    RedisDataType,
    RedisMapper,
)
from penstock.connectors.redis.config import FlinkJedisPoolConfig
from penstock.connectors.redis.sink import RedisSink

__all__ = [
    "FlinkJedisPoolConfig",
    "RedisCommand",
    "RedisCommandDescription",
    "RedisDataType",
    "RedisMapper",
    "RedisSink",
]
