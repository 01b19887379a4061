"""Which document a record becomes, in which index, under which id."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from penstock.common.types import Row
from penstock.errors import SerializationError, show_value


class Document(NamedTuple):
    """A document; without an id the sink gives it one."""

    index_name: str
    id: str | None
    content: dict[str, Any]


class ElasticsearchEmitter:
    """Turn records into documents. Use `static_index()` or `dynamic_index()`.

    Records are dicts, rows with names, or dataclasses. With a key field the document of that id
    is updated, or made if there is none; without one each record is a document of its own.
    """

    def __init__(self, index: str | None, index_field: str | None, key_field: str | None) -> None:
        self._index = index
        self._index_field = index_field
        self._key_field = key_field

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Return an emitter that writes to one index.

        :param key_field: the field that holds the document's id.
        :param doc_type: accepted; indexes have had no types since Elasticsearch 7.

        >>> ElasticsearchEmitter.static_index("user", "id").document({"id": 7, "name": "Eve"})
        Document(index_name='user', id='7', content={'id': 7, 'name': 'Eve'})
        """
        return ElasticsearchEmitter(index, None, key_field)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Return an emitter that writes to the index which a field of the record names.

        :param key_field: the field that holds the document's id.
        :param doc_type: accepted; indexes have had no types since Elasticsearch 7.
        """
        return ElasticsearchEmitter(None, index_field, key_field)

    def documents(self, record: Any) -> tuple[Document]:
        """Return the one document of a record, as the sink takes them."""
        return (self.document(record),)

    def document(self, record: Any) -> Document:
        """Return the document of a record.

        :raises SerializationError: if the record has no named fields, or not the needed ones.
        """
        if isinstance(record, Row) and record.get_field_names() is not None:
            content = record.as_dict(True)
        elif dataclasses.is_dataclass(record) and not isinstance(record, type):
            content = dataclasses.asdict(record)
        elif isinstance(record, dict):
            content = record
        else:
            raise _misfit("a document needs named fields", record)
        index = self._index or self._field(content, self._index_field)
        key = None if self._key_field is None else self._field(content, self._key_field)
        return Document(index, key, content)

    def _field(self, content: dict[str, Any], name: str | None) -> str:
        value = content.get(str(name))
        if value is None:
            raise _misfit(f"the record has no field {name!r}", content)
        return str(value)


def _misfit(what: str, record: Any) -> SerializationError:
    return SerializationError(
        what,
        where="ElasticsearchEmitter",
        got=show_value(record, 200),
        todo="map the stream to dicts, named rows or dataclasses with this field",
    )
