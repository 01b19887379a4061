"""Markers of published batches: messages in a compacted topic, written with what they mark.

`send_offsets_to_transaction` would be the usual place for such a marker; the client library may
hang in it when a broker dies.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from penstock.connectors.journal import Journal
from penstock.connectors.kafka.client import (
    Trouble,
    admin_library,
    describe,
    library,
    make,
    refused,
    translated,
)
from penstock.errors import SinkError

#: Property of a sink: the topic that has its markers.
TOPIC_PROPERTY = "penstock.marker.topic"
DEFAULT_TOPIC = "penstock-published"
_SECONDS = 60.0


class Markers:
    """The markers of one sink.

    What is known at the start of a run is kept in the sink's folder: the last batch, and where the
    next marker will stand at the earliest. Only what is behind that need be read by the next run.
    """

    def __init__(
        self, directory: str, properties: Mapping[str, str], transactional_id: str, numbering: str
    ) -> None:
        self.topic = str(properties.get(TOPIC_PROPERTY, DEFAULT_TOPIC))
        self._key = transactional_id.encode()
        self._numbering = numbering
        self._journal = Journal(directory, "markers.json")
        self._trouble = Trouble()
        common = {
            key: value
            for key, value in translated(properties).items()
            if key.startswith(("bootstrap.", "sasl.", "ssl.", "security.", "client.", "broker."))
        }
        self._servers = str(common.get("bootstrap.servers"))
        self._consumer = make(
            "Consumer",
            {
                **common,
                "group.id": "penstock-markers",
                "isolation.level": "read_committed",
                "enable.auto.commit": "false",
                "enable.partition.eof": "true",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": "10",
            },
            self._trouble,
        )
        self._create_topic(common)

    def last_batch(self) -> int:
        """Return the last batch of this numbering that a marker stands for, -1 if there is none.

        Called once, before anything is published.
        """
        end = self._end()
        known = self._journal.read()
        if known is None or (known["topic"], known["of"]) != (self.topic, self._numbering):
            known = {"from": end, "last": -1}  # there has been no run that could have published
        last = self._read(known["from"], end, known["last"])
        self._journal.write({"topic": self.topic, "of": self._numbering, "from": end, "last": last})
        return last

    def _read(self, begin: int, end: int, last: int) -> int:
        """Return the last batch of the markers in a range, or `last` if there is none."""
        if begin >= end:
            return last
        deadline = time.monotonic() + _SECONDS
        self._consumer.assign([library().TopicPartition(self.topic, 0, begin)])
        at = begin
        while at < end:
            if time.monotonic() > deadline:
                raise self._unreadable(self._trouble.last or "no answer")
            message = self._consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() != library().KafkaError._PARTITION_EOF:
                raise self._unreadable(f"{error.name()}: {error.str()}")
            at = message.offset() + (1 if error is None else 0)
            if error is None and message.key() == self._key:
                marker = json.loads(message.value())
                if marker["of"] == self._numbering:
                    last = max(last, marker["batch"])
        self._consumer.unassign()
        return last

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()

    def _end(self) -> int:
        asked = [library().TopicPartition(self.topic, 0, -1)]
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                return int(self._consumer.offsets_for_times(asked, 10.0)[0].offset)
            except library().KafkaException as error:
                # A topic that was just created has no leader for a moment.
                if time.monotonic() > deadline:
                    raise self._unreadable(describe(error, self._trouble)) from None
                time.sleep(0.2)

    def _create_topic(self, common: dict[str, Any]) -> None:
        known = self._topics()
        if self.topic in known and known[self.topic].error is None:
            return
        administration = make("AdminClient", common, self._trouble)
        new = admin_library().NewTopic(
            self.topic, 1, replication_factor=-1, config={"cleanup.policy": "compact"}
        )
        try:
            administration.create_topics([new], request_timeout=30)[self.topic].result(60)
        except library().KafkaException as error:
            if error.args[0].code() != library().KafkaError.TOPIC_ALREADY_EXISTS:
                raise SinkError(
                    f"the topic {self.topic!r} for markers of published batches cannot be created",
                    got=describe(error, self._trouble),
                    todo="create it with one partition and cleanup.policy=compact, or name "
                    f"another with set_property({TOPIC_PROPERTY!r}, ...)",
                ) from None

    def _topics(self) -> dict[str, Any]:
        try:
            topics: dict[str, Any] = self._consumer.list_topics(self.topic, _SECONDS).topics
        except library().KafkaException as error:
            self._consumer.poll(0)
            if self._trouble.denied is not None:
                raise refused(SinkError, self._servers, self._trouble.denied) from None
            raise self._unreadable(describe(error, self._trouble)) from None
        return topics

    def _unreadable(self, why: str) -> SinkError:
        return SinkError(
            f"the markers of published batches in topic {self.topic!r} cannot be read",
            got=why,
            todo="check that the brokers are running and that this client may read the topic",
        )
