"""RabbitMQ as a source: a queue whose messages are acknowledged when they are durable."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.rabbitmq.config import (
    RMQConnectionConfig,
    declare,
    describe,
    library,
    refusal,
)
from penstock.connectors.receiver import (
    Receiver,
    ReceiverEnumerator,
    ReceiverLog,
    ReceiverSource,
)
from penstock.connectors.segments import read_range
from penstock.core.io import (
    EnumeratorContext,
    Position,
    ReaderContext,
    SourceBatch,
    SourceReader,
    SplitEnumerator,
    SplitRange,
)
from penstock.errors import PenstockError, SourceError, show_value

_logger = logging.getLogger("penstock.rabbitmq")

#: Messages that a source takes without an acknowledgement.
_PREFETCH = 5000
_WAIT_SECONDS = 0.05

#: What tells a message from others: its correlation id, or its whole body.
Identity = str | bytes


class RMQSource(ReceiverSource):
    """Read a queue, in one subtask. Needs the extra `rabbitmq`.

    A message is acknowledged when the batch that has read it is durable, so none is lost. What the
    broker delivers again, after a crash or a lost connection, is recognised by its correlation id,
    without ids by its content and the broker's word that it comes again. So each message counts
    once, if the job is the only reader of its queue; with several readers only if producers set a
    correlation id that is unique.

    :param queue_name: a durable queue of this name is made if there is none.
    :param use_correlation_id: tell messages apart by their correlation ids.
    :param deserialization_schema: turns bodies into records; the source ends at a record of which
        its `is_end_of_stream` says so.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> config = RMQConnectionConfig.Builder().set_host("localhost").build()
    >>> source = RMQSource(config, "words", True, SimpleStringSchema())
    """

    fixed_splits = True
    bounded = False
    parallel = False

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema[Any],
    ) -> None:
        library()
        self._config = connection_config
        self._queue = queue_name
        self._by_id = use_correlation_id
        self._schema = deserialization_schema

    def identity(self) -> str:
        return self._queue

    def get_produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _QueueEnumerator(context, self._receiver)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _MessageReader(self, self._schema, self._queue)

    def _receiver(self, subtask: int, log: ReceiverLog, state: bytes | None) -> Receiver:
        return QueueReceiver(self._config, self._queue, self._by_id, self._schema, log)


class _MessageReader(SourceReader):
    """Turn the logged messages into records."""

    def __init__(self, source: RMQSource, schema: DeserializationSchema[Any], queue: str) -> None:
        self._source = source
        self._schema = schema
        self._queue = queue

    def open(self) -> None:
        self._schema.open()

    def read(self, split_range: SplitRange) -> Iterator[SourceBatch]:
        for batch in self._source.read(split_range):
            records = (self._record(body) for _, body in batch.values)
            values = [record for record in records if record is not None]
            yield SourceBatch(values, time=batch.time, size=batch.size)

    def _record(self, body: bytes) -> Any:
        try:
            return self._schema.deserialize(body)
        except Exception as error:
            raise SourceError(
                "a message cannot be turned into a record",
                got=f"queue {self._queue!r}: {show_value(body, 200)}; "
                f"{type(error).__name__}: {error}",
                todo="use a schema that fits the queue, or one that returns None for what it "
                "cannot read",
            ) from error


class _QueueEnumerator(ReceiverEnumerator):
    """Tells the receiver what is durable."""

    def committed(self, position: Position) -> None:
        for name, entry in position["splits"].items():
            hosted = self._hosted.get(name)
            if hosted is not None and isinstance(hosted.receiver, QueueReceiver):
                hosted.receiver.durable = entry["at"]
        super().committed(position)


class _Taken(NamedTuple):
    """A message in the log that has not been acknowledged."""

    #: Where the log ends behind it.
    entry: int
    tag: int
    identity: Identity


class QueueReceiver(Receiver):
    """Take messages from a queue, and acknowledge them when they are durable."""

    def __init__(
        self,
        config: RMQConnectionConfig,
        queue: str,
        by_id: bool,
        schema: DeserializationSchema[Any],
        log: ReceiverLog,
    ) -> None:
        self._config = config
        self._queue = queue
        self._by_id = by_id
        self._schema = schema
        self._ends = type(schema).is_end_of_stream is not DeserializationSchema.is_end_of_stream
        self._log = log
        self._entry = log.log.end
        #: Up to where the log's entries are durable.
        self.durable = 0
        self._taken: collections.deque[_Taken] = collections.deque()
        #: Messages in the log that the broker delivers again.
        self._again = collections.Counter(self._logged())
        self._arrived: list[tuple[str | None, bytes]] = []
        self._cancelled = threading.Event()
        self._ended = False
        self._connected_once = False

    def _logged(self) -> Iterator[Identity]:
        """Return what an earlier run has logged and may not have acknowledged."""
        log = self._log.log
        for place in log.byte_ranges(self._log.read_to, log.end):
            for batch in read_range(place):
                for key, body in batch.values:
                    yield body if key is None else key

    def run(self) -> None:
        if self._ends:
            self._schema.open()
        while not self._cancelled.is_set():
            try:
                self._consume()
            except PenstockError:
                raise
            except (library().exceptions.AMQPError, OSError) as error:
                if not self._recovers(error):
                    raise self._failed(error) from None
                _logger.warning("%r: connection lost: %s", self._config, describe(error))
                # What has not been acknowledged comes again.
                self._again.update(each.identity for each in self._taken)
                self._taken.clear()
                self._cancelled.wait(self._config.get_network_recovery_interval() / 1000)

    def cancel(self) -> None:
        self._cancelled.set()

    def _recovers(self, error: BaseException) -> bool:
        """Tell whether it makes sense to connect again; who never got in is told at once."""
        passing = not isinstance(error, library().exceptions.ChannelClosedByBroker)
        known = refusal(SourceError, self._config, error) is None
        return self._connected_once and self._config.is_automatic_recovery() and passing and known

    def _consume(self) -> None:
        connection = self._config.connect()
        try:
            channel = declare(connection, self._queue)
            self._connected_once = True
            prefetch = self._config.get_prefetch_count() or _PREFETCH
            channel.basic_qos(prefetch_count=min(prefetch, _PREFETCH * 10))
            channel.basic_consume(self._queue, self._take)
            while not self._cancelled.is_set():
                connection.process_data_events(_WAIT_SECONDS)
                self._log_arrived()
                self._acknowledge(channel)
            self._acknowledge(channel)
        finally:
            self._arrived.clear()
            if connection.is_open:
                connection.close()

    def _take(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        if self._ended:
            return  # left for the next reader: it is not acknowledged
        key = self._key(properties, body)
        identity = body if key is None else key
        comes_again = self._by_id or method.redelivered
        if comes_again and self._again[identity] > 0:
            self._again[identity] -= 1
            channel.basic_ack(method.delivery_tag)
            return
        if self._ends and self._schema.is_end_of_stream(self._schema.deserialize(body)):
            channel.basic_ack(method.delivery_tag)
            self._ended = True
            return
        self._arrived.append((key, body))
        self._entry += 1
        self._taken.append(_Taken(self._entry, method.delivery_tag, identity))

    def _key(self, properties: Any, body: bytes) -> str | None:
        if not self._by_id:
            return None
        if properties.correlation_id is None:
            raise SourceError(
                "a message has no correlation id",
                got=f"queue {self._queue!r}: {show_value(body, 200)}",
                todo="let the producer set a unique one, or pass use_correlation_id=False",
            )
        return str(properties.correlation_id)

    def _log_arrived(self) -> None:
        if self._arrived:
            self._log.extend(self._arrived)
            self._arrived = []
        if self._ended and not self._cancelled.is_set():
            # Nothing follows; the connection stays until the last message is acknowledged.
            self._log.end()
            if not self._taken:
                self._cancelled.set()

    def _acknowledge(self, channel: Any) -> None:
        last = None
        while self._taken and self._taken[0].entry <= self.durable:
            last = self._taken.popleft().tag
        if last is not None:
            channel.basic_ack(last, multiple=True)

    def _failed(self, error: BaseException) -> PenstockError:
        return refusal(SourceError, self._config, error) or SourceError(
            f"the queue {self._queue!r} cannot be read, {self._config!r}",
            got=describe(error),
            todo="check that the broker is running, and the queue's name",
        )
