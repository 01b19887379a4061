"""Topics for tests: made, written and read with the plain client."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from tools.services import Server

_numbers = itertools.count()

#: Settings of clients that a test leaves behind: they say nothing when their broker ends.
QUIET = {"log_level": 0}


class Topic:
    """A topic of its own for one test."""

    def __init__(self, server: Server, name: str, partitions: int = 1, **settings: str) -> None:
        self.servers = server.address["bootstrap_servers"]
        self.name = f"{name}-{os.getpid()}-{next(_numbers)}"
        self.partitions = partitions
        self._settings = settings
        self.admin = AdminClient({"bootstrap.servers": self.servers, **QUIET})
        self.create()

    def create(self) -> None:
        new = NewTopic(self.name, self.partitions, config=self._settings)
        self.admin.create_topics([new])[self.name].result(60)

    def delete(self) -> None:
        self.admin.delete_topics([self.name])[self.name].result(60)

    def grow(self, partitions: int) -> None:
        request = [NewPartitions(self.name, partitions)]
        self.admin.create_partitions(request)[self.name].result(60)
        self.partitions = partitions

    def allow_large_messages(self, size: int) -> None:
        entry = ConfigEntry(
            "max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET
        )
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.name, incremental_configs=[entry])
        for changed in self.admin.incremental_alter_configs([resource]).values():
            changed.result(60)

    def write(self, *values: str | bytes, **options: Any) -> None:
        """Write messages; options are those of the client's `produce`."""
        producer = Producer({"bootstrap.servers": self.servers, **QUIET})
        for value in values:
            producer.produce(self.name, value, **options)
        assert producer.flush(60) == 0

    def read(self, isolation: str = "read_committed") -> list[Message]:
        """Return all messages there are, partition by partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "test-reader",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        places = [TopicPartition(self.name, n, 0) for n in range(self.partitions)]
        consumer.assign(places)
        found: list[Message] = []
        ended: set[int] = set()
        deadline = time.monotonic() + 60
        while len(ended) < self.partitions:
            assert time.monotonic() < deadline
            for message in consumer.consume(1000, 0.5):
                if message.error() is None:
                    found.append(message)
                else:
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    ended.add(message.partition())
        consumer.close()
        return sorted(found, key=lambda m: (m.partition(), m.offset()))

    def values(self, isolation: str = "read_committed") -> list[str]:
        return [message.value().decode() for message in self.read(isolation)]
