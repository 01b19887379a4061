"""The Pulsar client library, and the broker's own HTTP interface for what the library lacks."""

from __future__ import annotations

import importlib
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ConfigurationError

_HTTP_SECONDS = 30.0
_TOKEN_PLUGIN = "AuthenticationToken"
_BASIC_PLUGIN = "AuthenticationBasic"
_MAX_BATCH = (1 << 31) - 1

#: A message's place in a topic: ledger, entry, and index in the entry. Places are compared.
Place = tuple[int, int, int]
#: In front of all messages.
BEGIN: Place = (-1, -1, _MAX_BATCH)


def library() -> Any:
    """Return the client library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        return importlib.import_module("pulsar")
    except ImportError:
        raise ConfigurationError(
            "the Pulsar connectors need the package pulsar-client",
            todo="install it: pip install 'penstock[pulsar]'",
        ) from None


def place_of(message_id: Any) -> Place:
    """Return the place that a message id of the library stands for."""
    return message_id.ledger_id(), message_id.entry_id(), max(message_id.batch_index(), 0)


def behind_entry(ledger: int, entry: int) -> Place:
    """Return the place behind all messages of an entry."""
    return ledger, entry, _MAX_BATCH


def just_before(place: Place) -> Place:
    """Return the place in front of a message."""
    return place[0], place[1], place[2] - 1


def place_from_bytes(message_id: bytes) -> Place:
    """Return the place that a serialized message id stands for."""
    return place_of(library().MessageId.deserialize(message_id))


def entry_id(place: Place) -> Any:
    """Return the id of the entry of a place, for the library."""
    ids = library().MessageId
    return ids.earliest if place[0] < 0 else ids(-1, place[0], place[1], -1)


@dataclass(frozen=True)
class PulsarAccess:
    """Where the brokers are, and who asks. Credentials do not show in its text."""

    service_url: str
    admin_url: str
    #: Name of Java's class, and its parameters.
    plugin: str | None = field(default=None, repr=False)
    parameters: str | None = field(default=None, repr=False)
    #: Seconds for one operation.
    patience: int = 30

    def connect(self) -> Any:
        """Return a client of the library. It connects when it is used."""
        pulsar = library()
        # To standard error: standard output is the program's.
        logger = pulsar.FileLogger(pulsar.LoggerLevel.Error, "/dev/stderr")
        return pulsar.Client(
            self.service_url,
            authentication=self._authentication(),
            operation_timeout_seconds=self.patience,
            logger=logger,
        )

    def _authentication(self) -> Any:
        if self.plugin is None:
            return None
        pulsar, kind = library(), self.plugin.rpartition(".")[2]
        if kind == _TOKEN_PLUGIN:
            return pulsar.AuthenticationToken(self._token())
        if kind == _BASIC_PLUGIN:
            account = json.loads(self.parameters or "{}")
            return pulsar.AuthenticationBasic(account.get("userId"), account.get("password"))
        raise ConfigurationError(
            "there is no such way to authenticate with Pulsar here",
            where="set_authentication()",
            got=self.plugin,
            todo=f"use {_TOKEN_PLUGIN} or {_BASIC_PLUGIN}",
        )

    def _token(self) -> str:
        text = self.parameters or ""
        if text.startswith("{"):
            text = str(json.loads(text).get("token", ""))
        return text.removeprefix("token:")

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Ask the HTTP interface, below `/admin/v2`; return what its JSON says, None for nothing.

        :raises OSError: if it does not answer, or with an error.
        """
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.admin_url.rstrip('/')}/admin/v2/{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        request.method = method
        if self.plugin is not None and self.plugin.endswith(_TOKEN_PLUGIN):
            request.add_header("Authorization", f"Bearer {self._token()}")
        with urllib.request.urlopen(request, timeout=_HTTP_SECONDS) as answer:
            text = answer.read()
        return json.loads(text) if text.strip() else None


def full_name(topic: str) -> str:
    """Return the whole name of a topic.

    >>> full_name("words")
    'persistent://public/default/words'
    """
    if "://" in topic:
        return topic
    parts = topic.split("/")
    return f"persistent://{topic}" if len(parts) == 3 else f"persistent://public/default/{topic}"


def path_of(topic: str) -> str:
    """Return the path of a topic in the HTTP interface.

    >>> path_of("persistent://public/default/words")
    'persistent/public/default/words'
    """
    return topic.replace("://", "/", 1)


def describe(error: BaseException) -> str:
    """Return an error of the library or of the HTTP interface as text."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}: {error.reason}"
    return f"{type(error).__name__}: {error}"


def is_denial(error: BaseException) -> bool:
    """Tell whether the brokers refuse this client."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in (401, 403)
    pulsar = library()
    return isinstance(error, (pulsar.AuthenticationError, pulsar.AuthorizationError))


def access_from(settings: Mapping[str, Any], where: str) -> PulsarAccess:
    """Return where the brokers are, as a builder was told.

    :raises ConfigurationError: if something is missing.
    """
    library()
    for key, method in (("service_url", "set_service_url"), ("admin_url", "set_admin_url")):
        if not settings.get(key):
            raise ConfigurationError(
                f"Pulsar's {key.replace('_', ' ').replace('url', 'URL')} is missing",
                where=where,
                todo=f"call {method}()",
            )
    access = PulsarAccess(
        settings["service_url"],
        settings["admin_url"],
        settings.get("plugin"),
        settings.get("parameters"),
    )
    access._authentication()
    return access
