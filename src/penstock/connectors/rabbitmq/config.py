"""Where a RabbitMQ broker is: names of PyFlink's connector."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import ConfigurationError, PenstockError

_REFUSED = 403
_NOT_ALLOWED = 530


def library() -> Any:
    """Return the client library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        importlib.import_module("pika.exceptions")
        pika = importlib.import_module("pika")
    except ImportError:
        raise ConfigurationError(
            "the RabbitMQ connector needs the package pika",
            todo="install it: pip install 'penstock[rabbitmq]'",
        ) from None
    # What it has to say is told by our own errors, unless the program has set up logging.
    logger = logging.getLogger("pika")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return pika


@dataclass(frozen=True)
class _Settings:
    host: str | None = None
    port: int = 5672
    virtual_host: str = "/"
    user_name: str = "guest"
    password: str = "guest"
    uri: str | None = None
    network_recovery_interval: int = 5000
    automatic_recovery: bool = True
    topology_recovery: bool = True
    connection_timeout: int = 30_000
    requested_channel_max: int = 0
    requested_frame_max: int = 0
    requested_heartbeat: int = 60
    prefetch_count: int | None = None


class RMQConnectionConfig:
    """A broker, and who asks. Use `RMQConnectionConfig.Builder()`.

    >>> RMQConnectionConfig.Builder().set_host("localhost").set_user_name("eve").build()
    RMQConnectionConfig(localhost:5672/)
    """

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def get_host(self) -> str | None:
        """Return the broker's name."""
        return self._settings.host

    def get_port(self) -> int:
        """Return the broker's port."""
        return self._settings.port

    def get_virtual_host(self) -> str:
        """Return the virtual host."""
        return self._settings.virtual_host

    def get_user_name(self) -> str:
        """Return the user's name."""
        return self._settings.user_name

    def get_password(self) -> str:
        """Return the password."""
        return self._settings.password

    def get_uri(self) -> str | None:
        """Return the URI, if one is set."""
        return self._settings.uri

    def get_network_recovery_interval(self) -> int:
        """Return the milliseconds between attempts to connect again."""
        return self._settings.network_recovery_interval

    def is_automatic_recovery(self) -> bool:
        """Tell whether a source connects again when its connection is lost."""
        return self._settings.automatic_recovery

    def is_topology_recovery(self) -> bool:
        """Tell whether queues are declared again: they always are."""
        return self._settings.topology_recovery

    def get_connection_timeout(self) -> int:
        """Return how long connecting may take, in milliseconds."""
        return self._settings.connection_timeout

    def get_requested_channel_max(self) -> int:
        """Return the greatest number of channels; 0: as the broker likes."""
        return self._settings.requested_channel_max

    def get_requested_frame_max(self) -> int:
        """Return the largest frame in bytes; 0: as the broker likes."""
        return self._settings.requested_frame_max

    def get_requested_heartbeat(self) -> int:
        """Return the seconds between signs of life."""
        return self._settings.requested_heartbeat

    def get_prefetch_count(self) -> int | None:
        """Return how many messages a source takes without an acknowledgement, if it is set."""
        return self._settings.prefetch_count

    def connect(self, *, heartbeat: bool = True) -> Any:
        """Return a new connection.

        :param heartbeat: give signs of life; who has no thread to give them must not promise any.
        """
        settings, pika = self._settings, library()
        if settings.uri is not None:
            parameters = pika.URLParameters(settings.uri)
        else:
            credentials = pika.PlainCredentials(settings.user_name, settings.password)
            parameters = pika.ConnectionParameters(
                settings.host, settings.port, settings.virtual_host, credentials
            )
        timeout = settings.connection_timeout / 1000
        parameters.socket_timeout = timeout
        parameters.stack_timeout = max(timeout, 1)
        parameters.heartbeat = settings.requested_heartbeat if heartbeat else 0
        if settings.requested_channel_max:
            parameters.channel_max = settings.requested_channel_max
        if settings.requested_frame_max:
            parameters.frame_max = settings.requested_frame_max
        return pika.BlockingConnection(parameters)

    def __repr__(self) -> str:
        # Never with the password: this may stand in a log.
        settings = self._settings
        if settings.uri is not None:
            parameters = library().URLParameters(settings.uri)
            place = f"{parameters.host}:{parameters.port}{parameters.virtual_host}"
        else:
            place = f"{settings.host}:{settings.port}{settings.virtual_host}"
        return f"RMQConnectionConfig({place})"

    class Builder:
        """Build an `RMQConnectionConfig`."""

        def __init__(self) -> None:
            self._settings = _Settings()

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """Set the broker's name."""
            return self._set(host=host)

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """Set the broker's port. Default: 5672."""
            return self._set(port=port)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """Set the virtual host. Default: `/`."""
            return self._set(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """Set the user's name. Default: guest."""
            return self._set(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """Set the password. Default: guest."""
            return self._set(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """Set host, port, account and virtual host at once: `amqp://user:password@host/`."""
            return self._set(uri=uri)

        def set_topology_recovery_enabled(
            self, topology_recovery_enabled: bool
        ) -> RMQConnectionConfig.Builder:
            """Accept a setting: a queue is declared with every connection."""
            return self._set(topology_recovery=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Set the seconds between signs of life. Default: 60."""
            return self._set(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """Set the largest frame in bytes."""
            return self._set(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(
            self, requested_channel_max: int
        ) -> RMQConnectionConfig.Builder:
            """Set the greatest number of channels."""
            return self._set(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(
            self, network_recovery_interval: int
        ) -> RMQConnectionConfig.Builder:
            """Set the milliseconds between attempts to connect again. Default: 5000."""
            return self._set(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """Set how long connecting may take, in milliseconds. Default: 30000."""
            return self._set(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Set whether a source connects again when its connection is lost. Default: yes."""
            return self._set(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """Set how many messages a source takes without an acknowledgement. Default: 5000."""
            return self._set(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """Return the settings.

            :raises ConfigurationError: if neither host nor URI is given.
            """
            if self._settings.host is None and self._settings.uri is None:
                raise ConfigurationError(
                    "the broker's name is missing",
                    where="RMQConnectionConfig.Builder",
                    todo="call set_host() or set_uri()",
                )
            return RMQConnectionConfig(self._settings)

        def _set(self, **changes: Any) -> RMQConnectionConfig.Builder:
            self._settings = replace(self._settings, **changes)
            return self


def declare(connection: Any, queue: str) -> Any:
    """Return a channel of a connection on which a queue is known to exist.

    A queue that is there stays as it is; else it is made, durable.
    """
    channel = connection.channel()
    try:
        channel.queue_declare(queue, passive=True)
    except library().exceptions.ChannelClosedByBroker as error:
        if error.reply_code != 404:
            raise
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
    return channel


def refusal(
    kind: type[PenstockError], config: RMQConnectionConfig, error: BaseException
) -> PenstockError | None:
    """Return the error for a broker that does not let one in; None if it is none of that kind."""
    errors = library().exceptions
    denials = (
        errors.AuthenticationError,
        errors.ProbableAuthenticationError,
        errors.ProbableAccessDeniedError,
    )
    code = getattr(error, "reply_code", None)
    if not isinstance(error, denials) and code not in (_REFUSED, _NOT_ALLOWED):
        return None
    return kind(
        f"RabbitMQ refuses the connection, {config!r}",
        got=describe(error),
        todo="correct user, password and virtual host, or what the user may do",
    )


def describe(error: BaseException) -> str:
    """Return an error of the client library as text: many have none of their own."""
    return f"{type(error).__name__}: {error}" if str(error) else repr(error)
