"""Elasticsearch's sink against a real OpenSearch: every record one document, whatever happens."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from penstock.common import Row
from penstock.core.io import Committable, CommitterContext, WriterContext
from penstock.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    FlushBackoffType,
)
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError, SerializationError, SinkError
from penstock.testing.local_executor import LocalJob
from tests.unit.process.jobs import environment
from tools.services import Server

pytestmark = pytest.mark.timeout(600)


@dataclass
class Reading:
    id: str
    temperature: float


@pytest.fixture
def client(opensearch: Server) -> Iterator[OpenSearch]:
    client = OpenSearch([opensearch.address["url"]], timeout=60)
    yield client
    client.close()


@pytest.fixture
def index() -> str:
    return f"index-{uuid.uuid4().hex}"


def sink_of(server: Server, emitter: ElasticsearchEmitter, **settings: Any) -> ElasticsearchSink:
    builder = Elasticsearch7SinkBuilder().set_hosts(server.address["url"]).set_emitter(emitter)
    builder.set_bulk_flush_max_actions(settings.get("actions", 100))
    if "backoff" in settings:
        builder.set_bulk_flush_backoff_strategy(*settings["backoff"])
    return builder.build()


def documents(client: OpenSearch, index: str) -> list[Any]:
    client.indices.refresh(index=index)
    found = client.search(index=index, body={"size": 10_000, "query": {"match_all": {}}})
    return [(hit["_id"], hit["_source"]) for hit in found["hits"]["hits"]]


def stage(sink: ElasticsearchSink, *records: Any) -> list[Committable]:
    writer = sink.create_writer(WriterContext(0, 1, lambda: 0))
    for record in records:
        writer.write(record, None)
    return [Committable(0, payload) for payload in writer.prepare_commit(False)]


def committer_of(sink: ElasticsearchSink, folder: Path, *, restored: bool = False) -> Any:
    return sink.create_committer(CommitterContext("uid", "es", 1, str(folder), restored, "job"))


def test_a_job_keeps_the_last_reading_of_each_sensor(
    opensearch: Server, client: OpenSearch, index: str, tmp_path: Path
) -> None:
    env = environment()
    readings = env.from_collection([Reading(f"s{n % 5}", n / 2) for n in range(300)])
    readings.sink_to(sink_of(opensearch, ElasticsearchEmitter.static_index(index, "id")))
    LocalJob(build_plan(env), tmp_path, cuts=130).run()
    assert sorted(documents(client, index)) == [
        (f"s{n}", {"id": f"s{n}", "temperature": (295 + n) / 2}) for n in range(5)
    ]


def test_documents_without_a_key_come_once(
    opensearch: Server, client: OpenSearch, index: str, tmp_path: Path
) -> None:
    sink = sink_of(opensearch, ElasticsearchEmitter.dynamic_index("where"))
    batch = stage(sink, *[Row(where=index, n=n) for n in range(2500)])
    assert len(batch) == 3
    first = committer_of(sink, tmp_path)
    first.commit(0, batch[:2])
    first.close()
    again = committer_of(sink, tmp_path, restored=True)
    again.commit(0, batch)
    again.commit(1, stage(sink, {"where": index, "n": 2500}))
    assert sorted(content["n"] for _, content in documents(client, index)) == list(range(2501))


def test_a_document_that_does_not_fit_the_index(
    opensearch: Server, client: OpenSearch, index: str, tmp_path: Path
) -> None:
    client.indices.create(index=index, body={"mappings": {"properties": {"n": {"type": "long"}}}})
    sink = sink_of(opensearch, ElasticsearchEmitter.static_index(index))
    with pytest.raises(SinkError) as caught:
        committer_of(sink, tmp_path).commit(0, stage(sink, {"n": 1}, {"n": "x"}))
    text = str(caught.value)
    assert text.startswith(
        f"a document is refused\n  got:   '{{\"n\":\"x\"}}' for index '{index}', 400: "
        "mapper_parsing_exception: failed to parse field [n] of type [long]"
    )
    assert "number_format_exception" in text or 'For input string: "x"' in text
    assert text.endswith(
        "to do: correct the documents or the mapping of the index; "
        "what is recorded is written when the job is started again"
    )


def test_nobody_answers(tmp_path: Path) -> None:
    sink = (
        Elasticsearch7SinkBuilder()
        .set_hosts(["127.0.0.1:1"])
        .set_emitter(ElasticsearchEmitter.static_index("x"))
        .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 2, 1)
        .build()
    )
    with pytest.raises(SinkError) as caught:
        committer_of(sink, tmp_path).commit(0, stage(sink, {"n": 1}))
    assert "the servers at 127.0.0.1:1 do not take the documents" in str(caught.value)
    assert "ConnectionError" in str(caught.value)


def test_records_and_settings_that_cannot_work() -> None:
    emitter = ElasticsearchEmitter.static_index("x", "id")
    with pytest.raises(SerializationError) as caught:
        emitter.document({"n": 1})
    assert str(caught.value) == (
        "the record has no field 'id'\n"
        "  where: ElasticsearchEmitter\n"
        "  got:   {'n': 1}\n"
        "  to do: map the stream to dicts, named rows or dataclasses with this field"
    )
    with pytest.raises(SerializationError, match="a document needs named fields"):
        emitter.document((1, 2))
    with pytest.raises(ConfigurationError) as missing:
        Elasticsearch7SinkBuilder().set_emitter(emitter).build()
    assert str(missing.value) == (
        "the sink needs servers and an emitter\n"
        "  where: Elasticsearch7SinkBuilder()\n"
        "  to do: call set_hosts()"
    )
    with pytest.raises(ConfigurationError, match="a request needs at least one document"):
        Elasticsearch7SinkBuilder().set_bulk_flush_max_actions(0)
