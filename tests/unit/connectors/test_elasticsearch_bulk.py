"""What is sent again, and after which time, when a server is overloaded."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    ElasticsearchSinkFunction,
    FlushBackoffType,
    HttpHost,
    IndexRequest,
    RequestIndexer,
    Requests,
)
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.errors import ConfigurationError, SerializationError, SinkError


class Overloaded(ThreadingHTTPServer):
    """Answers bulk requests: refuses whole requests first, then some documents, then none."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.refuse_requests = 2
        self.refuse_documents = 1
        self.requests: list[list[str]] = []
        self.status = 429


class _Handler(BaseHTTPRequestHandler):
    server: Overloaded

    def do_POST(self) -> None:
        lines = self.rfile.read(int(self.headers["Content-Length"])).decode().splitlines()
        keys = [json.loads(line)["update"]["_id"] for line in lines[::2]]
        self.server.requests.append(keys)
        if len(self.server.requests) <= self.server.refuse_requests:
            self._answer(self.server.status, {"error": "circuit_breaking_exception"})
            return
        items = []
        for key in keys:
            refused = self.server.refuse_documents > 0
            self.server.refuse_documents -= 1
            error = {"type": "rejected_execution_exception", "reason": "queue is full"}
            result: dict[str, Any] = {"_index": "i", "_id": key, "status": 429 if refused else 200}
            items.append({"update": {**result, **({"error": error} if refused else {})}})
        failed = any("error" in item["update"] for item in items)
        self._answer(200, {"errors": failed, "items": items})

    def _answer(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Overloaded]:
    with Overloaded() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def builder(server: Overloaded, retries: int) -> Elasticsearch7SinkBuilder:
    return (
        Elasticsearch7SinkBuilder()
        .set_hosts(f"127.0.0.1:{server.server_address[1]}")
        .set_emitter(ElasticsearchEmitter.static_index("i", "id"))
        .set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, retries, 1)
    )


def publish(builder: Elasticsearch7SinkBuilder, folder: Path, *records: Any) -> None:
    sink = builder.build()
    writer = sink.create_writer(WriterContext(0, 1, lambda: 0))
    for record in records:
        writer.write(record, None)
    pieces = [Committable(0, payload) for payload in writer.prepare_commit(False)]
    committer = sink.create_committer(CommitterContext("uid", "es", 1, str(folder), False, "job"))
    try:
        committer.commit(0, pieces)
    finally:
        committer.close()


def test_only_what_was_refused_is_sent_again(server: Overloaded, tmp_path: Path) -> None:
    publish(builder(server, 3), tmp_path, {"id": "a"}, {"id": "b"})
    assert server.requests == [["a", "b"], ["a", "b"], ["a", "b"], ["a"]]


def test_patience_has_an_end(server: Overloaded, tmp_path: Path) -> None:
    with pytest.raises(SinkError) as caught:
        publish(builder(server, 1), tmp_path, {"id": "a"})
    assert len(server.requests) == 2
    assert "do not take the documents" in caught.value.what
    assert "429" in str(caught.value.got)


def test_without_backoff_nothing_is_sent_again(server: Overloaded, tmp_path: Path) -> None:
    none = builder(server, 5).set_bulk_flush_backoff_strategy(FlushBackoffType.NONE, 5, 1)
    with pytest.raises(SinkError):
        publish(none, tmp_path, {"id": "a"})
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "todo"), [(401, "correct name and password"), (413, "check the servers")]
)
def test_what_no_patience_helps(server: Overloaded, tmp_path: Path, status: int, todo: str) -> None:
    server.status = status
    account = builder(server, 5).set_connection_username("eve").set_connection_password("s3cret")
    with pytest.raises(SinkError) as caught:
        publish(account, tmp_path, {"id": "a"})
    assert len(server.requests) == 1
    assert str(status) in str(caught.value.got)
    assert str(caught.value.todo).startswith(todo)
    assert "s3cret" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize(("actions", "megabytes"), [(2, -1), (-1, 1)])
def test_requests_are_bounded(
    server: Overloaded, tmp_path: Path, actions: int, megabytes: int
) -> None:
    server.refuse_requests = server.refuse_documents = 0
    bounded = builder(server, 0).set_bulk_flush_max_actions(actions)
    records = [{"id": key, "text": "x" * 400_000} for key in "abcde"]
    publish(bounded.set_bulk_flush_max_size_mb(megabytes), tmp_path, *records)
    assert server.requests == [["a", "b"], ["c", "d"], ["e"]]


def test_a_document_that_is_no_json(server: Overloaded, tmp_path: Path) -> None:
    with pytest.raises(SerializationError) as caught:
        publish(builder(server, 0), tmp_path, {"id": "a", "thing": object})
    assert caught.value.what == "a document cannot be written as JSON"
    assert caught.value.todo == "map the stream to fields of plain types"


class TwoIndexes(ElasticsearchSinkFunction):
    """As programs of Flink 1.x write documents."""

    def process(self, element: dict[str, Any], ctx: WriterContext, indexer: RequestIndexer) -> None:
        if element["id"] != "nobody":
            request = Requests.index_request().index("sensor").type("reading").id(element["id"])
            again = IndexRequest("archive").id(element["id"] + "-old").source(element)
            indexer.add(request.source({"data": str(element)}), again)


def test_a_classic_function_adds_any_number_of_requests(server: Overloaded, tmp_path: Path) -> None:
    server.refuse_requests = server.refuse_documents = 0
    host, port = server.server_address[:2]
    classic = ElasticsearchSink.Builder([HttpHost(str(host), port)], TwoIndexes())
    publish(classic, tmp_path, {"id": "a"}, {"id": "nobody"}, {"id": "b"})
    assert server.requests == [["a", "a-old", "b", "b-old"]]


def test_a_request_without_a_document() -> None:
    with pytest.raises(ConfigurationError) as caught:
        RequestIndexer().add(IndexRequest("sensor"))
    assert str(caught.value) == (
        "a request needs an index and a document\n"
        "  where: RequestIndexer.add()\n"
        "  got:   index 'sensor', document None\n"
        "  to do: write Requests.index_request().index(name).source(dict)"
    )
