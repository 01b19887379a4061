"""Parts of compressed lines: gzip and others."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO, cast

import pyarrow as pa

from penstock.common.serialization import BulkWriter, Encoder
from penstock.connectors.file_sink.formats import PartFormat, RowFormat, StagedFactory
from penstock.errors import ConfigurationError

_Open = Callable[[IO[bytes]], Any]
_CODECS: dict[str, _Open] = {
    # Without a time in its head, so that the same records give the same file.
    "gzip": lambda stream: gzip.GzipFile(fileobj=stream, mode="wb", mtime=0),
    "bzip2": lambda stream: bz2.BZ2File(stream, "wb"),
    "xz": lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115 - the caller closes it
    "zstd": lambda stream: pa.CompressedOutputStream(_kept_open(stream), "zstd"),
    "lz4": lambda stream: pa.CompressedOutputStream(_kept_open(stream), "lz4"),
}
_OTHER_NAMES = {"gz": "gzip", "bz2": "bzip2", "zstandard": "zstd", "lzma": "xz"}


class CompressWriters:
    """Write lines to compressed files.

    >>> factory = CompressWriters.for_extractor().with_hadoop_compression("gzip")
    """

    @staticmethod
    def for_extractor(
        extractor: Encoder[Any] | Callable[[Any], bytes] | None = None,
    ) -> CompressWriterFactory:
        """Return a factory that does not compress yet.

        :param extractor: turns a record into bytes, or an encoder. Default: `str` and a line feed.
        """
        return CompressWriterFactory(extractor or Encoder.simple_string_encoder())


class CompressWriterFactory(StagedFactory):
    """Make writers of compressed files."""

    def __init__(
        self, extractor: Encoder[Any] | Callable[[Any], bytes], codec: str | None = None
    ) -> None:
        self._extractor = extractor
        self._codec = codec

    def with_hadoop_compression(self, codec_name: str) -> CompressWriterFactory:
        """Choose how to compress: gzip, bzip2, xz, zstd or lz4.

        Also under the names of Hadoop's classes, such as `GzipCodec`.

        :raises ConfigurationError: for any other name.
        """
        name = codec_name.rpartition(".")[2].lower().removesuffix("codec")
        name = _OTHER_NAMES.get(name, name)
        if name not in _CODECS:
            raise ConfigurationError(
                "there is no such compression",
                where="with_hadoop_compression(codec_name)",
                got=repr(codec_name),
                todo=f"use one of: {', '.join(_CODECS)}",
            )
        return CompressWriterFactory(self._extractor, name)

    with_compression = with_hadoop_compression

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        return _CompressWriter(self._make_format(), stream)

    def part_format(self) -> PartFormat:
        return self._make_format()

    def _make_format(self) -> CompressedFormat:
        return CompressedFormat(self._extractor, self._codec)


class CompressedFormat(PartFormat):
    """Records as they are while a part is open; compressed as a whole when it ends."""

    concatenates = True

    def __init__(self, extractor: Encoder[Any] | Callable[[Any], bytes], codec: str | None) -> None:
        self._extractor = extractor
        self._codec = codec
        self.is_plain = codec is None

    def encoder(self) -> Callable[[Any], bytes]:
        if isinstance(self._extractor, Encoder):
            return RowFormat(self._extractor).encoder()
        return self._extractor

    def assemble(self, packs: Iterator[IO[bytes]], stream: IO[bytes]) -> None:
        with self.compressed(stream) as file:
            for pack in packs:
                shutil.copyfileobj(pack, file, 1 << 20)

    def compressed(self, stream: IO[bytes]) -> Any:
        """Return a file whose content goes to the stream compressed."""
        return stream if self._codec is None else _CODECS[self._codec](stream)


class _CompressWriter(BulkWriter[Any]):
    """For whoever writes a file by hand."""

    def __init__(self, part_format: CompressedFormat, stream: BinaryIO) -> None:
        self._format = part_format
        self._encode = part_format.encoder()
        self._stream = stream
        self._records: list[bytes] = []

    def add_element(self, element: Any) -> None:
        self._records.append(self._encode(element))

    def flush(self) -> None:
        """Wait: what is compressed together is smaller."""

    def finish(self) -> None:
        content = b"".join(self._records)
        if self._format.is_plain:
            self._stream.write(content)
        else:
            self._format.assemble(iter([io.BytesIO(content)]), self._stream)


class _KeptOpen(io.RawIOBase):
    """A stream that its user cannot close."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)


def _kept_open(stream: IO[bytes]) -> pa.NativeFile:
    return pa.PythonFile(cast("Any", _KeptOpen(stream)), mode="w")
