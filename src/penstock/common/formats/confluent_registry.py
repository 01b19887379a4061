"""Avro messages as Confluent's schema registry frames them: the number of the schema in front."""

from __future__ import annotations

import base64
import io
import json
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from penstock.common.formats.avro_rows import (
    BROKEN,
    AvroRows,
    fastavro,
    unreadable,
    unwritable,
)
from penstock.common.message_schemas import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.common.types import Row
from penstock.errors import ConfigurationError, SerializationError, show_value

_MAGIC = 0
_HEAD = struct.Struct(">bI")
_TIMEOUT_SECONDS = 30.0
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


class SchemaRegistryClient:
    """Ask a schema registry by HTTP. What it has answered once is not asked again.

    :param url: `http://host:port`; a user's name and password may stand in it.
    :param configs: `basic.auth.user.info` (`name:password`), if they do not.
    """

    def __init__(self, url: str, configs: Mapping[str, str] | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                "this is no address of a schema registry",
                got=show_value(_without_account(parts)),
                todo="give a URL such as http://localhost:8081",
            )
        self._url, self._configs = url, dict(configs or {})
        self._base = _without_account(parts).rstrip("/")
        self._account = self._configs.get("basic.auth.user.info")
        if self._account is None and parts.username is not None:
            names = (parts.username, parts.password or "")
            self._account = ":".join(map(urllib.parse.unquote, names))
        self._schemas: dict[int, str] = {}
        self._ids: dict[tuple[str, str], int] = {}

    def schema_of(self, schema_id: int) -> str:
        """Return the schema of a number, as JSON.

        :raises SerializationError: if the registry does not answer, or not with a schema.
        """
        if schema_id not in self._schemas:
            answer = self._ask(f"/schemas/ids/{schema_id}", None)
            self._schemas[schema_id] = str(answer["schema"])
        return self._schemas[schema_id]

    def register(self, subject: str, schema: str) -> int:
        """Return the number of a schema, which is entered under the subject if it is new.

        :raises SerializationError: if the registry does not answer, or refuses the schema.
        """
        if (subject, schema) not in self._ids:
            path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
            self._ids[subject, schema] = int(self._ask(path, {"schema": schema})["id"])
        return self._ids[subject, schema]

    def _ask(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Accept": _MEDIA_TYPE})
        if data is not None:
            request.add_header("Content-Type", _MEDIA_TYPE)
        if self._account is not None:
            token = base64.b64encode(self._account.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                answer = json.loads(response.read())
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise self._failed(path, f"HTTP {error.code}: {said[:300]}") from None
        except (OSError, ValueError) as error:
            raise self._failed(path, f"{type(error).__name__}: {error}") from None
        if not isinstance(answer, dict) or not {"schema", "id"} & answer.keys():
            raise self._failed(path, f"an answer without a schema: {show_value(answer, 200)}")
        return answer

    def _failed(self, path: str, got: str) -> SerializationError:
        return SerializationError(
            f"the schema registry at {self._base} does not answer as it should",
            where=path,
            got=got,
            todo="check its address, the account and the schema",
        )

    def __reduce__(self) -> Any:
        # Not with what it knows: a worker may ask for itself, once.
        return type(self), (self._url, self._configs)


class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema[Row]):
    """Read Avro messages that carry the number of their schema. Use `for_generic()`.

    A record is read with the schema that it was written with, which the registry knows, and
    turned into one of this schema by Avro's rules: fields that are gone are passed over, and new
    ones have their defaults. Needs the extra `avro`.

    >>> text = '{"type": "record", "name": "W", "fields": [{"name": "word", "type": "string"}]}'
    >>> schema = ConfluentRegistryAvroDeserializationSchema.for_generic(
    ...     text, "http://localhost:8081"
    ... )
    """

    def __init__(self, schema: str, client: SchemaRegistryClient) -> None:
        self._rows = AvroRows(schema)
        self._client = client
        self._writers: dict[int, Any] = {}
        self._read = fastavro().schemaless_reader

    @staticmethod
    def for_generic(
        schema: Any, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a schema that reads rows.

        :param schema: of the rows: an `AvroSchema`, or its JSON.
        :param url: where the registry is.
        :raises ConfigurationError: if it is no schema of records, or no URL.
        """
        client = SchemaRegistryClient(url, registry_configs)
        return ConfluentRegistryAvroDeserializationSchema(str(schema), client)

    def deserialize(self, message: bytes) -> Row:
        where = type(self).__name__
        if len(message) < _HEAD.size or message[0] != _MAGIC:
            raise SerializationError(
                "a message does not begin with the number of its schema",
                where=where,
                got=show_value(bytes(message), 200),
                todo="use AvroRowDeserializationSchema for messages without it",
            )
        schema_id = _HEAD.unpack_from(message)[1]
        writer = self._writers.get(schema_id)
        if writer is None:
            text = self._client.schema_of(schema_id)
            writer = self._writers[schema_id] = fastavro().parse_schema(json.loads(text))
        try:
            body = io.BytesIO(memoryview(message)[_HEAD.size :])
            return self._rows.to_row(self._read(body, writer, self._rows.parsed))
        except (*BROKEN, fastavro().read.SchemaResolutionError) as error:
            raise unreadable(where, message, error) from None

    def get_produced_type(self) -> TypeInformation:
        return self._rows.type_info

    def __reduce__(self) -> Any:
        return type(self), (self._rows.text, self._client)


class ConfluentRegistryAvroSerializationSchema(SerializationSchema[Any]):
    """Write Avro messages with the number of their schema in front. Use `for_generic()`.

    The schema is entered in the registry with the first record of a worker. Needs the extra `avro`.

    >>> text = '{"type": "record", "name": "W", "fields": [{"name": "word", "type": "string"}]}'
    >>> schema = ConfluentRegistryAvroSerializationSchema.for_generic(
    ...     "words-value", text, "http://localhost:8081"
    ... )
    """

    def __init__(self, subject: str, schema: str, client: SchemaRegistryClient) -> None:
        self._subject = subject
        self._rows = AvroRows(schema)
        self._client = client
        self._head: bytes | None = None
        self._write = fastavro().schemaless_writer

    @staticmethod
    def for_generic(
        subject: str,
        schema: Any,
        schema_registry_url: str,
        registry_configs: Mapping[str, str] | None = None,
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Return a schema that writes rows, tuples, dicts or objects with its fields.

        :param subject: under which the schema is entered: the topic and `-value`, by custom.
        :param schema: of the rows: an `AvroSchema`, or its JSON.
        :param schema_registry_url: where the registry is.
        :raises ConfigurationError: if it is no schema of records, or no URL.
        """
        client = SchemaRegistryClient(schema_registry_url, registry_configs)
        return ConfluentRegistryAvroSerializationSchema(subject, str(schema), client)

    def serialize(self, element: Any) -> bytes:
        if self._head is None:
            schema_id = self._client.register(self._subject, self._rows.text)
            self._head = _HEAD.pack(_MAGIC, schema_id)
        message = io.BytesIO()
        message.write(self._head)
        try:
            self._write(message, self._rows.parsed, self._rows.to_avro(element))
        except BROKEN as error:
            raise unwritable(type(self).__name__, element, error) from None
        return message.getvalue()

    def __reduce__(self) -> Any:
        return type(self), (self._subject, self._rows.text, self._client)


def _without_account(parts: urllib.parse.SplitResult) -> str:
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
