"""Rows as Avro in messages, alone and with a schema registry."""

from __future__ import annotations

import base64
import datetime as dt
import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.serialization import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
)
from penstock.datastream.formats.avro import (
    AvroSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from penstock.errors import ConfigurationError, SerializationError

WORDS = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])


USER = json.dumps(
    {
        "type": "record",
        "name": "User",
        "fields": [
            {"name": "name", "type": "string"},
            {"name": "age", "type": ["null", "int"], "default": None},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {
                "name": "homes",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Home",
                        "fields": [{"name": "town", "type": "string"}],
                    },
                },
            },
            {"name": "tags", "type": {"type": "map", "values": ["null", "Home"]}},
        ],
    }
)
ALICE = Row(
    name="Alice",
    age=None,
    at=dt.datetime(2024, 2, 29, 12, 0, 0, 5000),
    homes=[Row(town="Bern")],
    tags={"a": Row(town="Basel"), "b": None},
)


def test_avro_there_and_back() -> None:
    message = AvroRowSerializationSchema(avro_schema_string=USER).serialize(ALICE)
    # In Avro's encoding: the length and the text, the branch of the union, then the moment.
    assert message.startswith(b"\x0aAlice\x00")
    schema = AvroRowDeserializationSchema(avro_schema_string=USER)
    assert schema.deserialize(message) == ALICE
    home = Types.ROW_NAMED(["town"], [Types.STRING()])
    assert schema.get_produced_type() == Types.ROW_NAMED(
        ["name", "age", "at", "homes", "tags"],
        [
            Types.STRING(),
            Types.INT(),
            Types.SQL_TIMESTAMP(),
            Types.LIST(home),
            Types.MAP(Types.STRING(), home),
        ],
    )


def test_avro_needs_a_schema_of_records() -> None:
    with pytest.raises(ConfigurationError) as caught:
        AvroRowDeserializationSchema(record_class="org.example.User")
    assert str(caught.value) == (
        "an Avro schema is needed\n"
        "  where: AvroRowDeserializationSchema\n"
        "  got:   record_class='org.example.User'\n"
        "  to do: pass avro_schema_string, the schema as JSON"
    )
    unknown = '{"type": "record", "name": "x", "fields": [{"name": "a", "type": "nope"}]}'
    for text in ('"string"', "no json", unknown):
        with pytest.raises(ConfigurationError, match="this is no Avro schema of records"):
            AvroRowSerializationSchema(avro_schema_string=text)


def test_avro_errors() -> None:
    with pytest.raises(SerializationError, match="a message is no record of the Avro schema"):
        AvroRowDeserializationSchema(avro_schema_string=USER).deserialize(b"\x0aAl")
    with pytest.raises(SerializationError, match="does not have the fields of the Avro schema"):
        AvroRowSerializationSchema(avro_schema_string=USER).serialize(
            ALICE.as_dict() | {"age": "x"}
        )


OLD = '{"type":"record","name":"P","fields":[{"name":"x","type":"int"},{"name":"y","type":"int"}]}'
NEW = (
    '{"type":"record","name":"P","fields":[{"name":"y","type":"long"},'
    '{"name":"z","type":"string","default":"none"}]}'
)


class Registry(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.schemas: dict[int, str] = {}
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        schema = self.server.schemas.get(int(self.path.rpartition("/")[2]))
        self._say(404, {"message": "Schema not found"}) if schema is None else self._say(
            200, {"schema": schema}
        )

    def do_POST(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = 300 + len(self.server.schemas)
        self.server.schemas[number] = body["schema"]
        self._say(200, {"id": number})

    def _say(self, status: int, answer: dict[str, Any]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_number_of_the_schema_stands_in_front(registry: Registry) -> None:
    writer = ConfluentRegistryAvroSerializationSchema.for_generic("points-value", OLD, registry.url)
    writer = pickle.loads(pickle.dumps(writer))
    assert writer.serialize((1, 2)) == b"\x00\x00\x00\x01\x2c\x02\x04"
    assert writer.serialize({"x": 1, "y": -2}) == b"\x00\x00\x00\x01\x2c\x02\x03"
    assert registry.asked == [("/subjects/points-value/versions", None)]
    assert registry.schemas == {300: OLD}


def test_records_are_read_by_their_own_schema_and_made_into_the_wanted_one(
    registry: Registry,
) -> None:
    registry.schemas[7] = OLD
    wanted = AvroSchema.parse_string(NEW)
    url = registry.url.replace("://", "://eve:s3cret@")
    reader = ConfluentRegistryAvroDeserializationSchema.for_generic(wanted, url)
    assert reader.deserialize(b"\x00\x00\x00\x00\x07\x02\x04") == Row(y=2, z="none")
    assert reader.deserialize(b"\x00\x00\x00\x00\x07\x02\x06") == Row(y=3, z="none")
    account = "Basic " + base64.b64encode(b"eve:s3cret").decode()
    assert registry.asked == [("/schemas/ids/7", account)]


def test_a_schema_that_the_registry_does_not_know(registry: Registry) -> None:
    url = registry.url.replace("://", "://eve:s3cret@")
    reader = ConfluentRegistryAvroDeserializationSchema.for_generic(NEW, url)
    with pytest.raises(SerializationError) as caught:
        reader.deserialize(b"\x00\x00\x00\x00\x09\x02\x04")
    assert str(caught.value) == (
        f"the schema registry at {registry.url} does not answer as it should\n"
        "  where: /schemas/ids/9\n"
        '  got:   HTTP 404: {"message": "Schema not found"}\n'
        "  to do: check its address, the account and the schema"
    )


def test_messages_without_the_frame_and_bad_addresses() -> None:
    reader = ConfluentRegistryAvroDeserializationSchema.for_generic(NEW, "http://localhost:1")
    with pytest.raises(SerializationError) as caught:
        reader.deserialize(b"\x02\x04")
    assert str(caught.value) == (
        "a message does not begin with the number of its schema\n"
        "  where: ConfluentRegistryAvroDeserializationSchema\n"
        "  got:   b'\\x02\\x04'\n"
        "  to do: use AvroRowDeserializationSchema for messages without it"
    )
    with pytest.raises(ConfigurationError) as refused:
        ConfluentRegistryAvroDeserializationSchema.for_generic(NEW, "ftp://eve:s3cret@host")
    assert "this is no address of a schema registry" in str(refused.value)
    assert "s3cret" not in str(refused.value)
