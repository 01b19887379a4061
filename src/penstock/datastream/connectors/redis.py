"""Redis; PyFlink has no module for it, the names are those of the connector in Java."""

from penstock.connectors.redis import (
    FlinkJedisPoolConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisDataType,
    RedisMapper,
    RedisSink,
    RedisStreamEntry,
    RedisStreamSource,
)

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
