"""Keep the last temperature of each sensor in a hash of Redis.

    examples/redis/sensor_temperature.py [--host HOST --port PORT]

Without arguments a server is started. Needs the extra `redis`.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.redis import (
    FlinkJedisPoolConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisMapper,
    RedisSink,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.services import address


@dataclass
class SensorReading:
    """What a sensor has measured."""

    id: str
    timestamp: int
    temperature: float


READINGS = [
    SensorReading("sensor_1", 1547718199, 35.8),
    SensorReading("sensor_6", 1547718201, 15.4),
    SensorReading("sensor_7", 1547718202, 6.7),
    SensorReading("sensor_10", 1547718205, 38.1),
    SensorReading("sensor_1", 1547718207, 32.8),
]


class MyRedisMapper(RedisMapper):
    """The sensor is the hash's field."""

    def get_command_description(self):
        return RedisCommandDescription(RedisCommand.HSET, "sensor_temperature")

    def get_key_from_data(self, data):
        return data.id

    def get_value_from_data(self, data):
        return str(data.temperature)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port", type=int, default=6379)
    options, _ = parser.parse_known_args()
    server = {"host": options.host, "port": options.port} if options.host else address("redis")
    host, port = server["host"], server["port"]

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    config = FlinkJedisPoolConfig.Builder().set_host(host).set_port(port).build()
    env.from_collection(READINGS).add_sink(RedisSink(config, MyRedisMapper()))
    env.execute("sensor temperatures")

    with Redis(host, port, decode_responses=True) as redis:
        for sensor, temperature in sorted(redis.hgetall("sensor_temperature").items()):
            print(sensor, temperature)


if __name__ == "__main__":
    main()
