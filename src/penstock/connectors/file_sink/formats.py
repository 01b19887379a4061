"""What a part consists of: records as bytes, and for bulk formats a file that is made of them.

A record becomes bytes when it is written, whatever the format: so an object that the program goes
on changing is taken as it was, and the length of a part is known. In a row format these bytes are
the part's content. A bulk format (Parquet, a compressed file) cannot be interrupted and gone on
with in another process, so its records are *staged* batch by batch and the file is written as a
whole when the part ends.
"""

from __future__ import annotations

import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import IO, Any

from penstock.common.serialization import BulkWriterFactory, Encoder, SimpleStringEncoder

Encode = Callable[[Any], bytes]


class PartFormat(ABC):
    """How records become a part. Picklable."""

    #: Whether a part is just what was packed, one after the other.
    is_plain = False
    #: Whether files of the format, one behind the other, are a file of the format.
    concatenates = False

    @abstractmethod
    def encoder(self) -> Encode:
        """Return the function that is called for each record. Asked once by each writer."""

    def pack(self, records: list[bytes]) -> bytes:
        """Return what is kept of the records of one part and batch."""
        return b"".join(records)

    @abstractmethod
    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        """Write a part's file from all that was packed for it. Not called if `is_plain`."""


class RowFormat(PartFormat):
    """Records one behind the other, as an encoder writes them.

    :param to_text: how a `SimpleStringEncoder` is to write records, in place of `str`.
    """

    is_plain = True
    concatenates = True

    def __init__(self, encoder: Encoder[Any], to_text: Callable[[Any], str] | None = None) -> None:
        self._encoder = encoder
        self._to_text = to_text

    def written_by(self, to_text: Callable[[Any], str]) -> RowFormat:
        """Return the format with another way to turn records into text."""
        return RowFormat(self._encoder, to_text)

    def encoder(self) -> Encode:
        if type(self._encoder) is SimpleStringEncoder:
            return _line_encoder(self._encoder.charset_name, self._to_text)
        return _stream_encoder(self._encoder)

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        raise AssertionError("the parts of a row format are not assembled")


def _line_encoder(charset: str, to_text: Callable[[Any], str] | None) -> Encode:
    # As Java does: a character that the charset lacks becomes a question mark.
    if to_text is None:
        return lambda value: f"{value}\n".encode(charset, "replace")
    return lambda value: f"{to_text(value)}\n".encode(charset, "replace")


def _stream_encoder(encoder: Encoder[Any]) -> Encode:
    def encode(value: Any) -> bytes:
        stream = io.BytesIO()
        encoder.encode(value, stream)
        return stream.getvalue()

    return encode


class BulkFormat(PartFormat):
    """Any bulk writer: records are staged pickled."""

    def __init__(self, factory: BulkWriterFactory[Any]) -> None:
        self._factory = factory

    def encoder(self) -> Encode:
        return lambda value: pickle.dumps(value, pickle.HIGHEST_PROTOCOL)

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        writer = self._factory.create(stream)  # type: ignore[arg-type]
        for pack in packs:
            for record in _pickles(pack):
                writer.add_element(record)
        writer.flush()
        writer.finish()


def _pickles(pack: IO[bytes]) -> Iterator[Any]:
    load = pickle.Unpickler
    while True:
        try:
            # One for each record: the memory of one must not hold the objects of all.
            yield load(pack).load()
        except EOFError:
            return


class StagedFactory(BulkWriterFactory[Any]):
    """Base of factories that stage records in a form of their own."""

    @abstractmethod
    def part_format(self) -> PartFormat:
        """Return how records are staged, and made into a file."""


def format_of(factory: BulkWriterFactory[Any]) -> PartFormat:
    """Return how a bulk writer's parts are made."""
    return factory.part_format() if isinstance(factory, StagedFactory) else BulkFormat(factory)
