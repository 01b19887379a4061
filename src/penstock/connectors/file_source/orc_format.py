"""ORC files as batches of columns, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import orc

from penstock.connectors.file_paths import store_of
from penstock.connectors.file_source.file_format import FilePiece
from penstock.connectors.file_source.opening import reading


def read_stripes(piece: FilePiece, batch_size: int, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the stripes of a piece of a file, with those of the columns that it has.

    pyarrow does not tell where a stripe begins. They are dealt out as if all were equally long:
    each belongs to one piece, and a piece has about as many as it should.
    """
    with reading(piece, unpack=False) as stream:
        file = orc.ORCFile(stream)
        wanted = [name for name in names if name in file.schema.names]
        for number in range(file.nstripes):
            if piece.start <= number * piece.size // file.nstripes < piece.end:
                stripe = pa.Table.from_batches([file.read_stripe(number, columns=wanted)])
                yield from stripe.to_batches(batch_size)


def row_bytes(path: str, size: int) -> float:
    """Return how many bytes of a file make a row.

    :raises OSError: if it is no ORC file.
    """
    try:
        with store_of(path).open_input(path) as stream:
            return max(size / max(orc.ORCFile(stream).nrows, 1), 0.01)
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
