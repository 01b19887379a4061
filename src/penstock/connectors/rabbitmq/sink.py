"""RabbitMQ as a sink: a batch's messages in one transaction."""

from __future__ import annotations

import logging
import pickle
from functools import partial
from typing import Any

from penstock.common.serialization import SerializationSchema
from penstock.connectors.journal import LastBatch, numbering_of
from penstock.connectors.rabbitmq.config import (
    RMQConnectionConfig,
    declare,
    describe,
    library,
    refusal,
)
from penstock.connectors.retrying import Again, Retries
from penstock.core.io import (
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.errors import SerializationError, SinkError, show_value

_logger = logging.getLogger("penstock.rabbitmq")

_CHUNK = 5000
#: A message that survives the broker's restart.
_PERSISTENT = 2


class RMQSink(Sink):
    """Send records to a queue. Needs the extra `rabbitmq`.

    Messages are sent when their batch is durable, those of a batch in one transaction. At least
    once: a process that dies between the transaction and its own note of it sends the batch again,
    with the same correlation ids, which name sink, batch and place.

    :param queue_name: a durable queue of this name is made if there is none.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> config = RMQConnectionConfig.Builder().set_host("localhost").build()
    >>> sink = RMQSink(config, "words", SimpleStringSchema())
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema[Any],
    ) -> None:
        library()
        self._config = connection_config
        self._queue = queue_name
        self._schema = serialization_schema

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _MessageWriter(self._schema, self._queue)

    def create_committer(self, context: CommitterContext) -> Committer:
        return QueueCommitter(context, self._config, self._queue)


class _MessageWriter(SinkWriter):
    """Turn records into messages."""

    def __init__(self, schema: SerializationSchema[Any], queue: str) -> None:
        schema.open()
        self._serialize = schema.serialize
        self._queue = queue
        self._messages: list[bytes] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        message = self._serialize(value)
        if not isinstance(message, bytes):
            raise SerializationError(
                "the schema gives no bytes",
                where=f"RMQSink, queue {self._queue!r}",
                got=f"{show_value(message)} of record {show_value(value, 200)}",
                todo="return bytes from serialize()",
            )
        self._messages.append(message)

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        messages, self._messages = self._messages, []
        return [
            pickle.dumps(messages[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(messages), _CHUNK)
        ]


class QueueCommitter(Committer):
    """Send a batch's messages in a transaction, and note the batch behind it."""

    def __init__(self, context: CommitterContext, config: RMQConnectionConfig, queue: str) -> None:
        self._config = config
        self._queue = queue
        fresh = not context.restored
        self._published = LastBatch(context.directory, fresh=fresh)
        self._sink = f"{numbering_of(context.directory, fresh=fresh)}-{context.uid}"
        self._retries = Retries(_logger, config, context.stopping)
        self._connection: Any = None
        self._channel: Any = None
        self._returned = 0
        self._retries.run(partial(self._attempt, -1, []))

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        if self._published.includes(batch_id):
            return
        if committables:
            # In the same order whenever the batch is published: the ids count on it.
            pieces = sorted(committables, key=lambda each: each.subtask)
            messages = [body for piece in pieces for body in pickle.loads(piece.payload)]
            self._retries.run(partial(self._attempt, batch_id, messages))
        self._published.advance(batch_id)

    def close(self) -> None:
        self._disconnect()

    def _attempt(self, batch_id: int, messages: list[bytes]) -> None:
        errors = library().exceptions
        try:
            self._connect()
            self._send(batch_id, messages)
        except errors.ChannelClosedByBroker as error:
            self._disconnect()
            raise self._failed(error) from None
        except (errors.AMQPError, OSError) as error:
            self._disconnect()
            failed = self._failed(error)
            if refusal(SinkError, self._config, error) is not None:
                raise failed from None
            raise Again(describe(error), failed) from None

    def _send(self, batch_id: int, messages: list[bytes]) -> None:
        self._returned = 0
        for number, body in enumerate(messages):
            properties = library().BasicProperties(
                correlation_id=f"{self._sink}-{batch_id}-{number}", delivery_mode=_PERSISTENT
            )
            self._channel.basic_publish("", self._queue, body, properties, mandatory=True)
        if messages:
            self._channel.tx_commit()
            # What came back is told only now.
            self._connection.process_data_events(0)
        if self._returned:
            # The queue is gone. It is declared again with the next connection.
            self._disconnect()
            reason = f"{self._returned} messages for queue {self._queue!r} came back"
            raise Again(reason, SinkError(reason))

    def _connect(self) -> None:
        if self._connection is not None:
            return
        # No signs of life are promised: between two batches nobody would give them.
        self._connection = self._config.connect(heartbeat=False)
        self._channel = declare(self._connection, self._queue)
        self._channel.add_on_return_callback(self._note_return)
        self._channel.tx_select()

    def _note_return(self, *message: Any) -> None:
        self._returned += 1

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and connection.is_open:
            try:
                connection.close()
            except Exception as error:
                _logger.debug("a connection could not be closed: %s", error)

    def _failed(self, error: BaseException) -> SinkError:
        refused = refusal(SinkError, self._config, error)
        if isinstance(refused, SinkError):
            return refused
        return SinkError(
            f"the queue {self._queue!r} does not take messages, {self._config!r}",
            got=describe(error),
            todo="check the broker and the queue; "
            "what is recorded is sent when the job is started again",
        )
