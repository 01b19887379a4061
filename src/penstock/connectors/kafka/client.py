"""The Kafka client library: found when it is needed, given settings in its own words."""

from __future__ import annotations

import importlib
import logging
import re
import threading
from collections.abc import Mapping
from typing import Any

from penstock.errors import ConfigurationError, PenstockError


class NotAgain(logging.Filter):
    """Let a message through once a minute: a broker that is away is reported at every attempt."""

    _SECONDS = 60.0
    _BEGINNING = 60

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether to write a record."""
        beginning = record.getMessage()[: self._BEGINNING]
        if record.created - self._told.get(beginning, -self._SECONDS) < self._SECONDS:
            return False
        self._told[beginning] = record.created
        return True


_logger = logging.getLogger("penstock.kafka.client")
_logger.addFilter(NotAgain())

#: Settings of the Java client that have no meaning here.
_JAVA_ONLY = {
    "key.deserializer",
    "value.deserializer",
    "key.serializer",
    "value.serializer",
    "max.poll.records",
    "default.api.timeout.ms",
    "partitioner.class",
    "interceptor.classes",
    "buffer.memory",
    "max.block.ms",
    "security.providers",
    "metric.reporters",
}
#: Settings that have another name in Java.
_RENAMED = {"max.request.size": "message.max.bytes", "sasl.mechanism": "sasl.mechanisms"}
#: Values that have another name in Java.
_VALUES = {("auto.offset.reset", "none"): "error"}
#: Settings that Flink's connector reads itself.
_FLINK_ONLY = (
    "partition.discovery.interval.ms",
    "flink.partition-discovery.interval-millis",
    "commit.offsets.on.checkpoint",
    "register.consumer.metrics",
    "client.id.prefix",
)
_JAAS = "sasl.jaas.config"


def library() -> Any:
    """Return the client library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        return importlib.import_module("confluent_kafka")
    except ImportError:
        raise ConfigurationError(
            "the Kafka connectors need the package confluent-kafka",
            todo="install it: pip install 'penstock[kafka]'",
        ) from None


def admin_library() -> Any:
    """Return the part of the client library that manages topics."""
    library()
    return importlib.import_module("confluent_kafka.admin")


def translated(properties: Mapping[str, str]) -> dict[str, str]:
    """Return settings of the Java client in the client library's words.

    >>> jaas = 'x.PlainLoginModule required username="eve" password="s3cret";'
    >>> translated({"sasl.jaas.config": jaas, "key.deserializer": "x"})
    {'sasl.username': 'eve', 'sasl.password': 's3cret'}
    """
    result: dict[str, str] = {}
    for key, value in properties.items():
        if key in _JAVA_ONLY or key in _FLINK_ONLY or key.startswith("penstock."):
            continue
        if key == _JAAS:
            for name in ("username", "password"):
                found = re.search(rf'{name}="((?:[^"\\]|\\.)*)"', str(value))
                if found:
                    result[f"sasl.{name}"] = found.group(1)
        else:
            result[_RENAMED.get(key, key)] = _VALUES.get((key, value), str(value))
    return result


class Trouble:
    """What the client library reports from its own threads: the last error, and fatal ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Any = None
        self._denied: Any = None

    def __call__(self, error: Any) -> None:
        """Take note of an error; the library calls this."""
        with self._lock:
            self._last = error
            if _is_denial(error):
                self._denied = error

    @property
    def denied(self) -> str | None:
        """Return why the servers refuse this client, None if they do not."""
        return None if self._denied is None else _text(self._denied)

    @property
    def last(self) -> str | None:
        """Return the last error as text."""
        return None if self._last is None else _text(self._last)


def _is_denial(error: Any) -> bool:
    kinds = library().KafkaError
    return error.code() in (
        kinds._AUTHENTICATION,
        kinds.SASL_AUTHENTICATION_FAILED,
        kinds.TOPIC_AUTHORIZATION_FAILED,
        kinds.GROUP_AUTHORIZATION_FAILED,
        kinds.CLUSTER_AUTHORIZATION_FAILED,
        kinds.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )


def _text(error: Any) -> str:
    return f"{error.name()}: {error.str()}"


def make(kind: str, settings: Mapping[str, Any], trouble: Trouble) -> Any:
    """Return a client of the library: a `Consumer`, a `Producer` or an `AdminClient`.

    :raises ConfigurationError: if it does not know a setting.
    """
    owner = admin_library() if kind == "AdminClient" else library()
    try:
        # Not what is only for information: at the end of a client it goes past the logger.
        quiet = {"log_level": "5", **settings}
        return getattr(owner, kind)({**quiet, "error_cb": trouble}, logger=_logger)
    except library().KafkaException as error:
        # The text names the property, never its value.
        raise ConfigurationError(
            "the Kafka client does not take a setting",
            got=describe(error),
            todo="use names of librdkafka's configuration; those of Java's client are known where "
            "both have them",
        ) from None


def describe(error: BaseException, trouble: Trouble | None = None) -> str:
    """Return an exception of the library as text, with what its threads reported if that helps."""
    inner = error.args[0] if error.args else error
    text = _text(inner) if hasattr(inner, "code") else str(error)
    reported = None if trouble is None else trouble.denied or trouble.last
    return text if reported is None or reported in text else f"{text} ({reported})"


def refused(kind: type[PenstockError], servers: str, why: str) -> PenstockError:
    """Return the error for a client that the servers do not let in."""
    return kind(
        f"Kafka at {servers} refuses the connection",
        got=why,
        todo="check the settings whose names begin with sasl. and ssl., and security.protocol",
    )
