"""Pulsar as a sink: workers turn records into messages, the user's process publishes them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.common.serialization import SerializationSchema
from penstock.common.time import Duration
from penstock.connectors.base import DeliveryGuarantee
from penstock.connectors.pulsar.client import PulsarAccess, access_from, full_name
from penstock.connectors.pulsar.publishing import PulsarCommitter, Route
from penstock.connectors.pulsar.source import authentication
from penstock.core.io import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from penstock.errors import ConfigurationError, SerializationError, show_value

#: Messages of one committable.
_CHUNK = 20_000
_WHERE = "PulsarSink.builder()"
#: Chooses the topic of a message from its content and the partitions that there are.
TopicRouter = Callable[[bytes, Sequence[str]], str]


class TopicRoutingMode(Enum):
    """How the partition of a message is chosen."""

    #: One after another.
    ROUND_ROBIN = 0
    #: By the message's content, as messages of this sink have no key.
    MESSAGE_KEY_HASH = 1
    #: By a function of the user's.
    CUSTOM = 2


@dataclass(frozen=True)
class MessageDelayer:
    """How long the brokers hold a message back from shared subscriptions."""

    #: Milliseconds.
    delay: int = 0

    @staticmethod
    def never() -> MessageDelayer:
        """Hold nothing back."""
        return MessageDelayer()

    @staticmethod
    def fixed(duration: Duration) -> MessageDelayer:
        """Hold each message back for so long."""
        return MessageDelayer(duration.to_millis())


class PulsarSink(Sink):
    """Write records to topics of Pulsar. Use `PulsarSink.builder()`.

    Messages are sent when their batch is durable. EXACTLY_ONCE: each has a sequence number that is
    the same whenever the batch is sent, by a producer whose name is the same in every run, and the
    brokers drop what they have got already. That is their *deduplication*, which the sink switches
    on for its topics; they remember a producer for six hours after its last message unless they are
    told otherwise. AT_LEAST_ONCE and NONE: after a failure some messages may be written again.
    Needs the extra `pulsar`.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> sink = (
    ...     PulsarSink.builder()
    ...     .set_service_url("pulsar://localhost:6650")
    ...     .set_admin_url("http://localhost:8080")
    ...     .set_topics("counts")
    ...     .set_serialization_schema(SimpleStringSchema())
    ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    ...     .build()
    ... )
    """

    def __init__(
        self,
        access: PulsarAccess,
        route: Route,
        schema: SerializationSchema[Any],
        guarantee: DeliveryGuarantee,
        producer_name: str | None,
        delay: int,
    ) -> None:
        self._access = access
        self._route = route
        self._schema = schema
        self._guarantee = guarantee
        self._producer_name = producer_name
        self._delay = delay

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        """Return a builder of a sink."""
        return PulsarSinkBuilder()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _MessageWriter(self._schema)

    def create_committer(self, context: CommitterContext) -> Committer:
        exactly_once = self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        name = f"{self._producer_name or context.job_id}-{context.uid}" if exactly_once else None
        return PulsarCommitter(context, self._access, self._route, name, self._delay)


class _MessageWriter(SinkWriter):
    """Turn records into messages, and keep them until the batch ends."""

    def __init__(self, schema: SerializationSchema[Any]) -> None:
        schema.open()
        self._serialize = schema.serialize
        self._messages: list[tuple[bytes, int | None]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        message = self._serialize(value)
        if not isinstance(message, bytes):
            raise SerializationError(
                "the schema gives no bytes",
                where="PulsarSink",
                got=f"{show_value(message)} of record {show_value(value, 200)}",
                todo="return bytes from serialize()",
            )
        # Pulsar has no time before 1970, and none for the watermark of the end.
        timed = timestamp is not None and 0 < timestamp < 1 << 62
        self._messages.append((message, timestamp if timed else None))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        messages, self._messages = self._messages, []
        return [
            pickle.dumps(messages[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(messages), _CHUNK)
        ]


class PulsarSinkBuilder:
    """Build a `PulsarSink`."""

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}
        self._config: dict[str, Any] = {}
        self._topics: tuple[str, ...] = ()
        self._guarantee = DeliveryGuarantee.NONE
        self._mode = TopicRoutingMode.ROUND_ROBIN
        self._router: TopicRouter | None = None
        self._schema: SerializationSchema[Any] | None = None
        self._delayer = MessageDelayer.never()
        self._producer_name: str | None = None

    def set_admin_url(self, admin_url: str) -> PulsarSinkBuilder:
        """Set where the brokers' HTTP interface is, as `http://host:8080`."""
        self._settings["admin_url"] = admin_url
        return self

    def set_service_url(self, service_url: str) -> PulsarSinkBuilder:
        """Set where the brokers are, as `pulsar://host:6650`."""
        self._settings["service_url"] = service_url
        return self

    def set_producer_name(self, producer_name: str) -> PulsarSinkBuilder:
        """Name the producers; no two jobs that run at a time may share the name.

        Default: the job's id.
        """
        self._producer_name = producer_name
        return self

    def set_topics(self, topics: str | list[str]) -> PulsarSinkBuilder:
        """Write to these topics, with all their partitions."""
        self._topics = (topics,) if isinstance(topics, str) else tuple(topics)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> PulsarSinkBuilder:
        """Set how often a record reaches the topic, failures included. Default: NONE."""
        self._guarantee = delivery_guarantee
        return self

    def set_topic_routing_mode(self, topic_routing_mode: TopicRoutingMode) -> PulsarSinkBuilder:
        """Set how the partition of a message is chosen. Default: one after another."""
        self._mode = topic_routing_mode
        return self

    def set_topic_router(self, topic_router_class_name: TopicRouter) -> PulsarSinkBuilder:
        """Choose the topic of each message by a function of its bytes and the partitions.

        PyFlink takes the name of a Java class here.

        :raises ConfigurationError: if it cannot be called.
        """
        if not callable(topic_router_class_name):
            raise ConfigurationError(
                "a topic router is a function here",
                where=_WHERE,
                got=show_value(topic_router_class_name),
                todo="pass a function of the message's bytes and a list of topics, which returns "
                "one of them",
            )
        self._router, self._mode = topic_router_class_name, TopicRoutingMode.CUSTOM
        return self

    def set_serialization_schema(
        self, serialization_schema: SerializationSchema[Any]
    ) -> PulsarSinkBuilder:
        """Set how records become the messages' contents."""
        self._schema = serialization_schema
        return self

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | Mapping[str, str]
    ) -> PulsarSinkBuilder:
        """Set who asks, by the name of Java's class for tokens or for basic authentication."""
        self._settings.update(authentication(auth_plugin_class_name, auth_params_string))
        return self

    def delay_sending_message(self, message_delayer: MessageDelayer) -> PulsarSinkBuilder:
        """Have the brokers hold messages back."""
        self._delayer = message_delayer
        return self

    def set_config(self, key: str, value: Any) -> PulsarSinkBuilder:
        """Set an option by its name in Flink's Pulsar connector."""
        self._config[key] = value
        return self

    def set_properties(self, config: Mapping[str, Any]) -> PulsarSinkBuilder:
        """Set several options."""
        self._config.update(config)
        return self

    def build(self) -> PulsarSink:
        """Return the sink.

        :raises ConfigurationError: if something is missing.
        """
        access = access_from(self._settings, _WHERE)
        missing = None
        if not self._topics:
            missing = ("it is not said which topics are written", "call set_topics()")
        elif self._schema is None:
            missing = ("it is not said how records become messages", "set_serialization_schema()")
        elif (self._mode is TopicRoutingMode.CUSTOM) != (self._router is not None):
            missing = ("there is no function that chooses topics", "call set_topic_router()")
        if missing is not None:
            raise ConfigurationError(missing[0], where=_WHERE, todo=missing[1])
        assert self._schema is not None
        topics = tuple(full_name(topic) for topic in self._topics)
        by_content = self._mode is TopicRoutingMode.MESSAGE_KEY_HASH
        route = Route(topics, by_content, self._router)
        return PulsarSink(
            access, route, self._schema, self._guarantee, self._producer_name, self._delayer.delay
        )
