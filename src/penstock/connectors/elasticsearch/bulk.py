"""Documents sent in bulk requests, and sent again where a server could not take them."""

from __future__ import annotations

import importlib
import json
import logging
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from penstock.connectors.elasticsearch.emitter import Document
from penstock.connectors.journal import numbering_of
from penstock.connectors.retrying import PAUSE_SECONDS, Again, Retries
from penstock.core.io import Committable, Committer, CommitterContext, SinkWriter
from penstock.errors import ConfigurationError, SerializationError, SinkError, show_value

_logger = logging.getLogger("penstock.elasticsearch")

#: What writers stage in one piece.
_CHUNK = 1000
_LONGEST_PAUSE_SECONDS = 10.0
#: Too many requests, unavailable, and a gateway that could not pass the request on.
_PASSING = (429, 502, 503, 504)
_DENIED = (401, 403)

#: A document as it is staged: index, id, content as JSON.
Staged = tuple[str, str | None, bytes]
#: Two lines of a request: what to do, and the document.
Action = tuple[bytes, bytes]


def library() -> Any:
    """Return the client library.

    :raises ConfigurationError: if it is not installed.
    """
    try:
        return importlib.import_module("opensearchpy")
    except ImportError:
        raise ConfigurationError(
            "the Elasticsearch connector needs the package opensearch-py",
            todo="install it: pip install 'penstock[opensearch]'",
        ) from None


class FlushBackoffType(Enum):
    """How long to wait before what a server could not take is sent again."""

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


@dataclass(frozen=True)
class BulkSettings:
    """How documents are sent, and to whom."""

    hosts: tuple[str, ...] = ()
    max_actions: int = 1000
    max_bytes: int = 5 << 20
    backoff: FlushBackoffType = FlushBackoffType.CONSTANT
    #: How often a request is sent again; None: for two minutes.
    max_retries: int | None = None
    delay_ms: int = int(PAUSE_SECONDS * 1000)
    username: str | None = None
    password: str | None = None
    path_prefix: str = ""
    timeout_ms: int = 30_000

    def connect(self) -> Any:
        """Return a client, which connects when it is used first."""
        account = None if self.username is None else (self.username, self.password or "")
        hosts = [host if "://" in host else f"http://{host}" for host in self.hosts]
        return library().OpenSearch(
            hosts,
            http_auth=account,
            timeout=self.timeout_ms / 1000,
            url_prefix=self.path_prefix,
            max_retries=0,
        )

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after so many failures.

        >>> [BulkSettings(backoff=FlushBackoffType.EXPONENTIAL).pause(n) for n in (1, 2, 3, 9)]
        [0.5, 1.0, 2.0, 10.0]
        """
        grows = self.backoff is FlushBackoffType.EXPONENTIAL
        factor = 2 ** min(failures - 1, 16) if grows else 1
        return min(self.delay_ms / 1000 * factor, _LONGEST_PAUSE_SECONDS)

    def __repr__(self) -> str:
        # Never with the password: this may stand in a log.
        return f"BulkSettings({', '.join(self.hosts)})"


class DocumentWriter(SinkWriter):
    """Turn records into documents."""

    def __init__(self, documents: Callable[[Any], Iterable[Document]]) -> None:
        self._documents = documents
        self._dumps = library().serializer.JSONSerializer().dumps
        self._staged: list[Staged] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        for index, key, content in self._documents(value):
            try:
                text = self._dumps(content)
            except Exception as error:
                raise SerializationError(
                    "a document cannot be written as JSON",
                    where="ElasticsearchSink",
                    got=f"{show_value(content, 200)}; {type(error).__name__}: {error}",
                    todo="map the stream to fields of plain types",
                ) from None
            self._staged.append((index, key, text.encode()))

    def prepare_commit(self, end_of_input: bool) -> list[bytes]:
        staged, self._staged = self._staged, []
        return [
            pickle.dumps(staged[i : i + _CHUNK], pickle.HIGHEST_PROTOCOL)
            for i in range(0, len(staged), _CHUNK)
        ]


class BulkCommitter(Committer):
    """Send a batch's documents, as many in a request as the settings allow.

    Whatever is sent again has the same ids, so that it replaces what may have arrived. A document
    without a key is given an id that follows from its place in the batch.
    """

    def __init__(self, context: CommitterContext, settings: BulkSettings) -> None:
        self._settings = settings
        numbering = numbering_of(context.directory, fresh=not context.restored)
        self._sink = f"{numbering}-{context.uid}"
        self._client = settings.connect()
        self._retries = Retries(
            _logger,
            settings,
            context.stopping,
            most=settings.max_retries,
            pause=settings.pause,
        )

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        for actions in self._requests(batch_id, committables):
            left = list(actions)
            self._retries.run(partial(self._send, left))

    def close(self) -> None:
        self._client.close()

    def _requests(self, batch_id: int, committables: list[Committable]) -> Iterator[list[Action]]:
        # In the same order whenever the batch is published: ids that are given count on it.
        pieces = sorted(committables, key=lambda each: each.subtask)
        actions: list[Action] = []
        size = 0
        for number, piece in enumerate(pieces):
            for place, staged in enumerate(pickle.loads(piece.payload)):
                action = _action(staged, f"{self._sink}-{batch_id}-{number}-{place}")
                weight = len(action[0]) + len(action[1])
                most = self._settings.max_actions
                if actions and (len(actions) >= most or size + weight > self._settings.max_bytes):
                    yield actions
                    actions, size = [], 0
                actions.append(action)
                size += weight
        if actions:
            yield actions

    def _send(self, left: list[Action]) -> None:
        """Send actions; keep in the list those that have to be sent again."""
        errors = library().exceptions
        try:
            answer = self._client.bulk(body=b"".join(b"%s\n%s\n" % action for action in left))
        except errors.ConnectionError as error:
            # Its status is no number: nobody answered.
            problem = f"{type(error).__name__}: {error.error}"
            raise Again(problem, self._failed(problem)) from None
        except errors.TransportError as error:
            problem = f"{type(error).__name__} {error.status_code}: {error.error}"
            if error.status_code in _PASSING:
                raise Again(problem, self._failed(problem)) from None
            raise self._failed(problem, denied=error.status_code in _DENIED) from None
        except errors.OpenSearchException as error:
            raise self._failed(f"{type(error).__name__}: {error}") from None
        left[:], problem = _left_over(left, answer)
        if left:
            raise Again(problem, self._failed(problem))

    def _failed(self, got: str, *, denied: bool = False) -> SinkError:
        todo = "correct name and password" if denied else "check the servers"
        return SinkError(
            f"the servers at {', '.join(self._settings.hosts)} do not take the documents",
            got=got,
            todo=f"{todo}; what is recorded is written when the job is started again",
        )


def _action(staged: Staged, given_id: str) -> Action:
    """Return a document as lines of a request."""
    index, key, content = staged
    if key is None:
        return _line({"index": {"_index": index, "_id": given_id}}), content
    update = {"update": {"_index": index, "_id": key}}
    return _line(update), b'{"doc":%s,"doc_as_upsert":true}' % content


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _left_over(actions: list[Action], answer: Any) -> tuple[list[Action], str]:
    """Return the actions that have to be sent again, and why.

    :raises SinkError: if a document can never be written.
    """
    if not answer["errors"]:
        return [], ""
    again, problem = [], ""
    for action, item in zip(actions, answer["items"], strict=True):
        [result] = item.values()
        if result["status"] < 300:
            continue
        problem = f"{result['status']}: {_reason(result.get('error'))}"
        if result["status"] not in _PASSING:
            raise SinkError(
                "a document is refused",
                got=f"{show_value(action[1].decode(), 200)} for index {result['_index']!r}, "
                f"{problem}",
                todo="correct the documents or the mapping of the index; "
                "what is recorded is written when the job is started again",
            )
        again.append(action)
    return again, problem


def _reason(error: Any) -> str:
    """Return why a document is refused, with what lies behind it."""
    reasons = []
    while isinstance(error, dict):
        reasons.append(f"{error.get('type')}: {error.get('reason')}")
        error = error.get("caused_by")
    return "; ".join(reasons) or str(error)
