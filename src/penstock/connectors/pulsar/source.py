"""Pulsar as a source: topics read by message id, so that a replay reads the same records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.pulsar.client import PulsarAccess, access_from
from penstock.connectors.pulsar.cursors import PulsarRange, RangeGenerator, StartCursor, StopCursor
from penstock.connectors.pulsar.enumerator import PulsarEnumerator
from penstock.connectors.pulsar.reader import PulsarReader
from penstock.core.io import (
    EnumeratorContext,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from penstock.errors import ConfigurationError

#: Flink's own default: five minutes.
_DISCOVERY_MS = 300_000
_DISCOVERY_KEY = "pulsar.source.partitionDiscoveryIntervalMs"
_ACKNOWLEDGE_KEY = "pulsar.consumer.subscriptionName"
_WHERE = "PulsarSource.builder()"


class PulsarSource(Source):
    """Read topics of Pulsar. Use `PulsarSource.builder()`.

    Exactly once: the place of each partition is in the job's checkpoint, and a replay reads the
    same messages. A record's timestamp is the message's event time, if it has one. A durable
    subscription keeps the messages that the job has not read; it moves on when the output of a
    checkpoint is published. Messages are read in order by one reader for each partition, whatever
    else the subscription could be used for. Needs the extra `pulsar`.

    >>> from penstock.common.serialization import SimpleStringSchema
    >>> source = (
    ...     PulsarSource.builder()
    ...     .set_service_url("pulsar://localhost:6650")
    ...     .set_admin_url("http://localhost:8080")
    ...     .set_subscription_name("word-count")
    ...     .set_topics("words")
    ...     .set_start_cursor(StartCursor.earliest())
    ...     .set_deserialization_schema(SimpleStringSchema())
    ...     .build()
    ... )
    """

    def __init__(
        self,
        access: PulsarAccess,
        wanted: PulsarRange,
        schema: DeserializationSchema[Any],
        keys: RangeGenerator,
        *,
        bounded: bool,
    ) -> None:
        self._access = access
        self._wanted = wanted
        self._schema = schema
        self._keys = keys
        self.bounded = bounded

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        """Return a builder of a source."""
        return PulsarSourceBuilder()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return PulsarEnumerator(context, self._access, self._wanted)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return PulsarReader(context, self._access, self._schema, self._keys)

    def get_produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def identity(self) -> str:
        return self._wanted.pattern or ", ".join(self._wanted.topics)


class PulsarSourceBuilder:
    """Build a `PulsarSource`."""

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}
        self._config: dict[str, Any] = {}
        self._topics: tuple[str, ...] = ()
        self._pattern: str | None = None
        self._starting = StartCursor.default_start_cursor()
        self._stopping = StopCursor.default_stop_cursor()
        self._bounded = False
        self._schema: DeserializationSchema[Any] | None = None
        self._keys = RangeGenerator.full()

    def set_admin_url(self, admin_url: str) -> PulsarSourceBuilder:
        """Set where the brokers' HTTP interface is, as `http://host:8080`."""
        self._settings["admin_url"] = admin_url
        return self

    def set_service_url(self, service_url: str) -> PulsarSourceBuilder:
        """Set where the brokers are, as `pulsar://host:6650`."""
        self._settings["service_url"] = service_url
        return self

    def set_subscription_name(self, subscription_name: str) -> PulsarSourceBuilder:
        """Name the subscription that keeps what the job has not read."""
        self._settings["subscription"] = subscription_name
        return self

    def set_topics(self, topics: str | list[str]) -> PulsarSourceBuilder:
        """Read these topics, with all their partitions."""
        self._topics = (topics,) if isinstance(topics, str) else tuple(topics)
        return self

    def set_topic_pattern(self, topic_pattern: str) -> PulsarSourceBuilder:
        """Read all topics of a namespace whose whole name matches a regular expression."""
        self._pattern = topic_pattern
        return self

    def set_consumer_name(self, consumer_name: str) -> PulsarSourceBuilder:
        """Name the subscription's consumer, for the brokers' statistics."""
        return self.set_config("pulsar.consumer.consumerName", consumer_name)

    def set_range_generator(self, range_generator: RangeGenerator) -> PulsarSourceBuilder:
        """Read the messages of some keys only."""
        self._keys = range_generator
        return self

    def set_start_cursor(self, start_cursor: StartCursor) -> PulsarSourceBuilder:
        """Set where a new job begins. Default: with the earliest message."""
        self._starting = start_cursor
        return self

    def set_unbounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Stop there, in a job that is a stream all the same."""
        self._stopping, self._bounded = stop_cursor, False
        return self

    def set_bounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Read up to there and end."""
        self._stopping, self._bounded = stop_cursor, True
        return self

    def set_deserialization_schema(
        self, deserialization_schema: DeserializationSchema[Any]
    ) -> PulsarSourceBuilder:
        """Set how the messages' contents become records."""
        self._schema = deserialization_schema
        return self

    def set_authentication(
        self, auth_plugin_class_name: str, auth_params_string: str | Mapping[str, str]
    ) -> PulsarSourceBuilder:
        """Set who asks, by the name of Java's class for tokens or for basic authentication."""
        self._settings.update(authentication(auth_plugin_class_name, auth_params_string))
        return self

    def set_config(self, key: Any, value: Any) -> PulsarSourceBuilder:
        """Set an option by its name in Flink's Pulsar connector."""
        self._config[str(getattr(key, "key", key))] = value
        return self

    def set_config_with_dict(self, config: Mapping[str, Any]) -> PulsarSourceBuilder:
        """Set several options."""
        return self.set_properties(config)

    def set_properties(self, config: Mapping[str, Any]) -> PulsarSourceBuilder:
        """Set several options."""
        self._config.update(config)
        return self

    def build(self) -> PulsarSource:
        """Return the source.

        :raises ConfigurationError: if something is missing.
        """
        access = access_from(self._settings, _WHERE)
        if bool(self._topics) == (self._pattern is not None):
            raise ConfigurationError(
                "a Pulsar source reads topics, or a pattern of topics",
                where=_WHERE,
                got="neither" if self._pattern is None else "both",
                todo="call one of set_topics() and set_topic_pattern()",
            )
        if self._schema is None:
            raise ConfigurationError(
                "it is not said how messages become records",
                where=_WHERE,
                todo="call set_deserialization_schema()",
            )
        subscription = self._settings.get("subscription") or self._config.get(_ACKNOWLEDGE_KEY)
        if not subscription:
            raise ConfigurationError(
                "the subscription has no name",
                where=_WHERE,
                todo="call set_subscription_name()",
            )
        interval = int(self._config.get(_DISCOVERY_KEY, _DISCOVERY_MS))
        looks = interval > 0 and self._stopping.kind == "never"
        wanted = PulsarRange(
            self._topics,
            self._pattern,
            str(subscription),
            self._starting,
            self._stopping,
            interval / 1000 if looks else None,
        )
        return PulsarSource(access, wanted, self._schema, self._keys, bounded=self._bounded)


def authentication(plugin: str, parameters: str | Mapping[str, str]) -> dict[str, Any]:
    """Return what a builder notes of the account."""
    text = parameters if isinstance(parameters, str) else json.dumps(dict(parameters))
    return {"plugin": plugin, "parameters": text}
