"""The older names, as programs of Flink 1.x use them: a function that adds requests.

class Readings(ElasticsearchSinkFunction):
    def process(self, element, ctx, indexer):
        request = Requests.index_request().index("sensor").source({"data": str(element)})
        indexer.add(request)

stream.add_sink(ElasticsearchSink.Builder([HttpHost("localhost", 9200)], Readings()).build())
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.connectors.elasticsearch.emitter import Document
from penstock.core.io import WriterContext
from penstock.errors import ConfigurationError, show_value


class HttpHost(NamedTuple):
    """A server."""

    host: str
    port: int = 9200
    scheme: str = "http"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


class IndexRequest:
    """Write one document.

    >>> IndexRequest("sensor").id("s1").source({"temperature": 35.8}).document()
    Document(index_name='sensor', id='s1', content={'temperature': 35.8})
    """

    def __init__(self, index: str | None = None) -> None:
        self._index = index
        self._id: str | None = None
        self._content: dict[str, Any] | None = None

    def index(self, index: str) -> IndexRequest:
        """Set the index."""
        self._index = index
        return self

    def type(self, type: str) -> IndexRequest:
        """Accept a type: indexes have had none since Elasticsearch 7."""
        return self

    def id(self, id: str) -> IndexRequest:
        """Set the document's id; without one the sink gives it one."""
        self._id = str(id)
        return self

    def source(self, source: Mapping[str, Any]) -> IndexRequest:
        """Set the document."""
        self._content = dict(source)
        return self

    def document(self) -> Document:
        """Return the document.

        :raises ConfigurationError: if index or document are missing.
        """
        if self._index is None or self._content is None:
            raise ConfigurationError(
                "a request needs an index and a document",
                where="RequestIndexer.add()",
                got=f"index {show_value(self._index)}, document {show_value(self._content)}",
                todo="write Requests.index_request().index(name).source(dict)",
            )
        return Document(self._index, self._id, self._content)


class Requests:
    """Make requests."""

    @staticmethod
    def index_request(index: str | None = None) -> IndexRequest:
        """Return a request that writes a document."""
        return IndexRequest(index)


class RequestIndexer:
    """Take the requests of a record."""

    def __init__(self) -> None:
        self.documents: list[Document] = []

    def add(self, *requests: IndexRequest) -> None:
        """Have requests sent."""
        self.documents.extend(request.document() for request in requests)


class ElasticsearchSinkFunction(ABC):
    """Turn a record into any number of requests."""

    @abstractmethod
    def process(self, element: Any, ctx: WriterContext, indexer: RequestIndexer) -> None:
        """Add the requests of a record.

        :param ctx: knows the subtask that the record is in.
        """
